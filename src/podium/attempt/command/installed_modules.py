"""Whether a Python module is installed where a command looks for modules.

A runner imports its plugins and libraries by name, and a new module of that name in the project comes first. Only folders
of the machine and of the lent toolchain are looked at, never one that the judged work could write to.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Final

_FOLDERS: Final = (
    "lib/python3*/site-packages",
    "lib64/python3*/site-packages",
    "lib/python3*/dist-packages",
    "local/lib/python3*/dist-packages",
)
_ENDINGS: Final = ("", ".py")


def installed_modules(
    words: Iterable[str], env: Mapping[str, str], project: Path, toolchain: Iterable[str]
) -> Callable[[str], bool]:
    """A function that says so for the name of a module; it looks when it is asked first."""

    @cache
    def folders() -> tuple[Path, ...]:
        places = dict.fromkeys(_installations(words, env, project, toolchain))
        return tuple(folder for place in places for pattern in _FOLDERS for folder in place.glob(pattern))

    @cache
    def is_installed(name: str) -> bool:
        return name.isidentifier() and any(
            (folder / f"{name}{ending}").exists() or next(folder.glob(f"{name}.*.so"), None) is not None
            for folder in folders()
            for ending in _ENDINGS
        )

    return is_installed


def _installations(
    words: Iterable[str], env: Mapping[str, str], project: Path, toolchain: Iterable[str]
) -> Iterator[Path]:
    """The folders above `bin`: of the programs that the command names, of PATH and of the toolchain."""
    yield from (Path(word).parent.parent for word in words if word.startswith("/"))
    for folder in env.get("PATH", os.defpath).split(os.pathsep):
        if folder.startswith("/"):
            yield Path(folder).parent
    yield from (project / name for name in toolchain)
