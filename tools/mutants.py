"""Plants bugs in the core, one at a time, and sees that the named test fails for each (core.md 9).

    python tools/mutants.py
    python tools/mutants.py --only money
    python tools/mutants.py --count 30 --seed 7     (a sample, as in CI)
    python tools/mutants.py --draws 4               (each bug with four other sets of examples)

The examples are the same each time. A bug that no test notices says that a property has become blind, most often
because the generator of random workflows has changed. With `--draws` the examples differ, and those that a test names
are left out: a bug that only some draws catch is caught by luck.
"""

# ruff: noqa: E402 (the lists must be found before they are imported)

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT)]  # `python tools/mutants.py` only knows its own folder

from tools import (
    mutants_claims,
    mutants_context,
    mutants_core,
    mutants_joins,
    mutants_limits,
    mutants_teams,
    mutants_work,
)
from tools.mutants_core import Bug

BUGS: Final = (
    *mutants_core.BUGS,
    *mutants_limits.BUGS,
    *mutants_work.BUGS,
    *mutants_claims.BUGS,
    *mutants_joins.BUGS,
    *mutants_context.BUGS,
    *mutants_teams.BUGS,
)
LINKED: Final = ("tests", "tools", "pyproject.toml")
SECONDS: Final = 120
AT_ONCE: Final = 2


class Verdict(NamedTuple):
    bug: Bug
    caught: bool
    text: str
    seconds: float = 0


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--only", default="", metavar="SUBSTRING", help="bugs whose name or file contains this"
    )
    parser.add_argument("--count", type=int, default=len(BUGS), help="how many bugs, chosen by the seed")
    parser.add_argument("--seed", default="1", help="chooses the bugs of a sample")
    parser.add_argument(
        "--draws", type=int, default=0, help="how many other sets of examples must catch each bug"
    )
    options = parser.parse_args()
    only = options.only
    bugs = [bug for bug in BUGS if only in bug.name or only in bug.file]
    if options.count < len(bugs):
        print(f"{options.count} of {len(bugs)} bugs, chosen by seed {options.seed}")
        bugs = random.Random(options.seed).sample(bugs, options.count)
    if not bugs:
        print(f"no bug has {only!r} in its name")
        return 1
    fault = _fault_without_bugs(bugs)
    if fault:
        print(f"the tests fail without any bug, so they say nothing:\n{fault}")
        return 1
    seeds = tuple(range(1, options.draws + 1)) or (None,)
    verdicts = _plant_all(bugs, seeds)
    caught = sum(verdict.caught for verdict in verdicts)
    print(f"{caught} caught, {len(verdicts) - caught} survived")
    return 0 if caught == len(verdicts) else 1


def _fault_without_bugs(bugs: Sequence[Bug]) -> str:
    """The same copy and the same call as for the bugs, so that a broken set-up does not count as a catch."""
    tests = sorted({test for bug in bugs for test in bug.tests})
    halves = [half for half in (tests[::2], tests[1::2]) if half]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        outputs = list(pool.map(lambda half: _run(half, None, SECONDS * len(half)), halves))
    return "\n".join(output for output in outputs if output)


def _plant_all(bugs: Sequence[Bug], seeds: Sequence[int | None]) -> list[Verdict]:
    verdicts = []
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for verdict in pool.map(lambda bug: _plant(bug, seeds), bugs):
            verdicts.append(verdict)
            print(f"{verdict.bug.name}: {verdict.text} ({verdict.seconds:.0f} s)", flush=True)
    return verdicts


def occurrences(bug: Bug) -> int:
    """How often the text that the bug replaces is in its file; with anything but one, the bug cannot be planted."""
    return (ROOT / "src/podium/core" / bug.file).read_text().count(bug.old)


def _plant(bug: Bug, seeds: Sequence[int | None]) -> Verdict:
    count = occurrences(bug)
    if count != 1:
        return Verdict(
            bug, caught=False, text=f"text not found once but {count} times in {bug.file}: {bug.old!r}"
        )
    undefined = _undefined_names(bug)
    if undefined:
        return Verdict(bug, caught=False, text=f"the change only crashes: {undefined}")
    begun = time.monotonic()
    caught = sum(bool(_run(bug.tests, bug, SECONDS, seed)) for seed in seeds)
    names = ", ".join(test.rpartition("::")[2] for test in bug.tests)
    is_caught = caught == len(seeds)
    share = f" with {caught} of {len(seeds)} draws" if len(seeds) > 1 else ""
    text = f"caught by {names}" if is_caught else f"SURVIVED {names}{share}"
    return Verdict(bug, is_caught, text, time.monotonic() - begun)


def _undefined_names(bug: Bug) -> str:
    """What the changed file uses but does not define; a bug that fails with NameError would prove nothing."""
    text = (ROOT / "src/podium/core" / bug.file).read_text().replace(bug.old, bug.new)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--select", "F821", "-"]
    check = subprocess.run(
        [*command, "--output-format", "concise"], input=text, capture_output=True, text=True, check=False
    )
    return "" if check.returncode == 0 else check.stdout + check.stderr


def _run(tests: Sequence[str], bug: Bug | None, seconds: float, seed: int | None = None) -> str:
    """What went wrong in a copy with this bug; nothing if the tests passed. A seed draws other examples."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as name:
        folder = Path(name)
        shutil.copytree(ROOT / "src", folder / "src")
        for linked in LINKED:
            (folder / linked).symlink_to(ROOT / linked)
        if bug is not None:
            place = folder / "src/podium/core" / bug.file
            place.write_text(place.read_text().replace(bug.old, bug.new))
        drawn = [] if seed is None else [f"--hypothesis-seed={seed}"]
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *drawn, *tests]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=_environment(folder, "mutants" if seed is None else "mutants_drawn"),
                capture_output=True,
                text=True,
                check=False,
                timeout=seconds,
            )
        except subprocess.TimeoutExpired:
            return f"no end after {seconds:.0f} seconds"
        # A test that is not found is a mistake in the list, not a catch.
        if done.returncode in (4, 5) and not _is_crash(done.stdout + done.stderr):
            raise SystemExit(done.stdout + done.stderr)
        return (done.stdout[-2000:] + done.stderr[-2000:]) if done.returncode else ""


def _is_crash(output: str) -> bool:
    return "Error" in output and "not found" not in output


def _environment(folder: Path, profile: str) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": f"{folder / 'src'}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PODIUM_HYPOTHESIS": profile,
    }


if __name__ == "__main__":
    sys.exit(main())
