"""Finds the workflow files of a project by their names and first lines, without reading them whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

MOST_ENTRIES: Final = 5_000
"""So many names are looked at."""
DEPTH: Final = 3
"""Folders below the first one."""
HEAD: Final = 4_096
SKIPPED: Final = frozenset({"node_modules", "venv", "target", "dist", "build"})


def workflow_files(folder: Path) -> Iterator[str]:
    """The native workflow files in a folder and not far below, as paths relative to it; no test files."""
    for path in yaml_files(f"{folder}/"):
        if is_workflow(path) and not path.endswith((".test.yaml", ".test.yml")):
            yield os.path.relpath(path, folder)


def yaml_files(incomplete: str) -> Iterator[str]:
    """The YAML files whose path begins with what was typed, in folders that are not far below."""
    top, _, name = incomplete.rpartition("/")
    base = f"{top}/" if "/" in incomplete else ""
    left = MOST_ENTRIES
    for folder, folders, names in os.walk(base or "."):
        below = Path(folder).relative_to(base or ".").parts
        left -= len(folders) + len(names)
        if left < 0:
            return
        # Only directly in the folder that was typed does a name have to continue what was typed.
        start = "" if below else name
        is_deep = len(below) >= DEPTH
        folders[:] = (
            []
            if is_deep
            else sorted(entry for entry in folders if entry.startswith(start) and _is_entered(entry))
        )
        for entry in sorted(names):
            if entry.startswith(start) and entry.endswith((".yaml", ".yml")):
                yield base + "/".join((*below, entry))


def _is_entered(folder: str) -> bool:
    return not folder.startswith(".") and folder not in SKIPPED


def is_workflow(path: str) -> bool:
    with suppress(OSError), Path(path).open("rb") as file:
        head = file.read(HEAD)
        return head.startswith(b"podium:") or b"\npodium:" in head
    return False
