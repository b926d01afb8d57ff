"""Tries every property on new random examples, round after round, until the time is over.

    python tools/thorough.py --seconds 300
    python tools/thorough.py --seed 4711 --rounds 1     (a round again, as it was)

Each round has a seed of its own, which is printed before it starts.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PROPERTIES: Final = "hypothesis and not slow and not live and not security"
SEEDS: Final = 2**31


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=None, help="of the first round; default: a random one")
    parser.add_argument("--rounds", type=int, default=1000, help="at most so many")
    options = parser.parse_args()
    seed = random.randrange(SEEDS) if options.seed is None else options.seed
    deadline = time.monotonic() + options.seconds
    finished = 0
    while finished < options.rounds and (left_s := deadline - time.monotonic()) > 0:
        print(f"round {finished + 1}: seed {seed + finished}", flush=True)
        passed = run_round(seed + finished, left_s)
        if passed is None:
            break
        if not passed:
            print(f"again: python tools/thorough.py --rounds 1 --seed {seed + finished}")
            return 1
        finished += 1
    print(f"{finished} whole rounds, from seed {seed}")
    return 0


def run_round(seed: int, timeout_s: float) -> bool | None:
    """Whether every property held, or None if the time was over before they were all tried."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "2", "--dist", "worksteal", "-m", PROPERTIES]
    child = subprocess.Popen(
        [*command, f"--hypothesis-seed={seed}"], cwd=ROOT, env={**os.environ, "PODIUM_HYPOTHESIS": "drawn"}
    )
    try:
        return child.wait(timeout_s) == 0
    except subprocess.TimeoutExpired:
        return None
    finally:
        child.terminate()
        child.wait()


if __name__ == "__main__":
    sys.exit(main())
