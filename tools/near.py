"""Runs the tests of what a change touches: the test files that import a changed module, or that are changed themselves.

python tools/near.py                 (what differs from HEAD)
python tools/near.py --base main~3   (all that has come since)
"""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
FAST: Final = "not slow and not live and not security"
EVERYTHING: Final = ("pyproject.toml", "requirements/dev.txt", "tests/conftest.py")
"""A change of these may change the result of any test."""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--base", default="HEAD", metavar="REV")
    changed = read_changed(parser.parse_args().base)
    tests = choose(ROOT, changed)
    if not tests:
        print("no test imports what has changed")
        return 0
    print(f"{len(changed)} changed files, {len(tests)} test files", flush=True)
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "--dist", "worksteal", "-m", FAST, *tests]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    return 0 if code == 5 else code  # 5: none of them is a fast one


def read_changed(base: str) -> list[str]:
    listed = (("git", "diff", "--name-only", base), ("git", "ls-files", "--others", "--exclude-standard"))
    outputs = (
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True) for command in listed
    )
    return [name for output in outputs for name in output.stdout.splitlines()]


def choose(root: Path, changed: Iterable[str]) -> list[str]:
    """The test files to run, relative to the root."""
    names = set(changed)
    if names & set(EVERYTHING):
        return ["tests"]
    imports = {path: imported(root / path) for path in python_files(root, "tests")}
    modules = {dotted(name) for name in names if name.endswith(".py")}
    # Kits import the code under test for the files beside them, so what imports a touched kit is touched as well.
    while new := {dotted(p) for p in imports if is_kit(p) and imports[p] & modules} - modules:
        modules |= new
    return sorted(p for p in imports if not is_kit(p) and (p in names or imports[p] & modules))


def is_kit(path: str) -> bool:
    return not Path(path).name.startswith("test_")


def python_files(root: Path, folder: str) -> list[str]:
    return [str(path.relative_to(root)) for path in sorted((root / folder).rglob("*.py"))]


def dotted(path: str) -> str:
    return path.removeprefix("src/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(path: Path) -> set[str]:
    """Each `from a.b import c` counts as a.b and as a.b.c, since c may be a module."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import(names=aliases):
                names.update(alias.name for alias in aliases)
            case ast.ImportFrom(module=str(module), names=aliases):
                names.update((module, *(f"{module}.{alias.name}" for alias in aliases)))
            case _:
                pass
    return names


if __name__ == "__main__":
    sys.exit(main())
