"""The agent: `python -m tests.security.trees.attack NAME EVIL` does its work and leaves one plant behind."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.git.kit import put
from tests.security.trees.more_plants import ALL


def main(name: str, evil: str) -> None:
    sys.stdin.read()
    folder = Path.cwd()
    put(folder, {"src/app.py": "work\n"})
    ALL[name][0](folder, Path(evil))
    sys.stdout.write("done")


if __name__ == "__main__":
    main(*sys.argv[1:])
