"""Plays the cases in tests/golden and writes their logs, states and views. Once a release has them, only new cases."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # `python tools/golden.py` only knows its own folder


def main() -> int:
    from tests.golden.logs import LOG, cases, made_of, played

    for case in cases():
        log = played(case)
        (case / LOG).write_text(log, "utf-8")
        views = case / "views"
        views.mkdir(exist_ok=True)
        for name, text in made_of(case, log).items():
            (views / name).write_text(text, "utf-8")
        print(f"{case.name}: {len(log.splitlines())} events")
    return 0


if __name__ == "__main__":
    sys.exit(main())
