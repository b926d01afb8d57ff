"""Finds the host files that a program needs in a sandbox: itself, its interpreter, and their installations.

Rule: nothing is mounted only because it is next to something that is needed. Of an installation below a home, only the
folders with programs and libraries are mounted: `~/.local/bin` must not include the key ring in `~/.local/share`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
"""Folders that every sandbox has."""
VIRTUAL: Final = tuple(map(Path, ("/proc", "/dev", "/sys")))
"""Folders that a sandbox creates anew or leaves out, and never mounts from the host."""

_SYSTEM: Final = tuple(f"{top}/" for top in (*SYSTEM, *VIRTUAL))
_PARTS: Final = ("bin", "sbin", "lib", "lib64", "libexec", "include")
# An environment contains only packages; those of pyenv, asdf and mise are started through shims.
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_SHIMS: Final = "shims"
_MODULES: Final = "node_modules"
_MOST_LINKS: Final = 20
_LONGEST_LINE: Final = 256

HostPath = Callable[[Path], Path]
"""Maps a path in the sandbox to its path on the host."""


def find(name: str, *, cwd: Path, path: str, host: HostPath) -> Path:
    """The program that a process in the sandbox would start; raises FileNotFoundError or PermissionError."""
    if "/" in name:
        places = [Path(os.path.normpath(cwd / name))]
    else:
        places = [Path(folder) / name for folder in path.split(os.pathsep) if folder.startswith("/")]
    # os.path and not pathlib, which raises for a folder on PATH that this user may not read.
    existing = [place for place in places if os.path.isfile(host(place))]  # noqa: PTH113
    if not existing:
        raise FileNotFoundError(f'program "{name}" was not found')
    program = next((place for place in existing if os.access(host(place), os.X_OK)), None)
    if program is None:
        raise PermissionError(f'program "{name}" is not executable')
    return program


def required_paths(program: Path, *, path: str, home: Path, host: HostPath) -> Iterator[Path]:
    """Host files and folders to mount read-only at their own path, so that this program and those on PATH can start."""
    for folder in dict.fromkeys(path.split(os.pathsep)):
        place = Path(os.path.normpath(folder))
        if folder.startswith("/") and not is_system(place) and os.path.isdir(host(place)):  # noqa: PTH112
            yield from installation(place, home)
    yield from _paths_of_program(program, path=path, home=home, host=host, depth=0)


def installation(folder: Path, home: Path) -> Iterator[Path]:
    """The parts of the installation that a folder of programs belongs to."""
    if folder.name == _SHIMS and folder.parent not in (home, *home.parents):
        yield folder.parent
        return
    if _MODULES in folder.parts:
        yield Path(*folder.parts[: folder.parts.index(_MODULES) + 1])
        return
    yield folder
    prefix = folder.parent
    if folder.name not in ("bin", "sbin") or prefix in (home, *home.parents):
        return
    if any(os.path.exists(prefix / name) for name in _ENVIRONMENTS):  # noqa: PTH110
        yield prefix
        return
    parts = _PARTS if prefix == home / ".local" else (*_PARTS, "share")
    yield from (prefix / part for part in parts if os.path.isdir(prefix / part))  # noqa: PTH112


def is_system(path: Path) -> bool:
    # As a string, because this is called for every part of every launch and a path object is slow.
    return f"{path}/".startswith(_SYSTEM)


def _paths_of_program(program: Path, *, path: str, home: Path, host: HostPath, depth: int) -> Iterator[Path]:
    hops = tuple(_hops(host(program)))
    for hop in hops:
        if is_system(hop):
            continue
        # A program outside a folder of programs is mounted alone.
        if hop.parent.name in ("bin", "sbin", ".bin", _SHIMS) or _MODULES in hop.parts:
            yield from installation(hop.parent, home)
        else:
            yield hop
    interpreter = _interpreter(hops[-1], path, host)
    if interpreter is not None and depth < _MOST_LINKS:
        yield from _paths_of_program(interpreter, path=path, home=home, host=host, depth=depth + 1)


def _hops(path: Path) -> Iterator[Path]:
    """A path and the targets of its links in order; the last one contains no links."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    yield Path(os.path.realpath(path))


def _interpreter(program: Path, path: str, host: HostPath) -> Path | None:
    """The interpreter in the first line of a script, with `env` resolved."""
    try:
        with program.open("rb") as file:
            line = file.readline(_LONGEST_LINE)
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    try:
        words = shlex.split(os.fsdecode(line[2:]))
    except ValueError:
        return None
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    try:
        return find(words[0], cwd=Path("/"), path=path, host=host)
    except OSError:
        return None


def outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths without those below another one and without system folders."""
    outer: list[Path] = []
    for path in sorted(set(paths)):
        # In sorted order, a folder comes directly before the paths below it.
        if not is_system(path) and not (outer and path.is_relative_to(outer[-1])):
            outer.append(path)
    return tuple(outer)
