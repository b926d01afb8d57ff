"""Finds the host files that a program needs in a sandbox: itself, its interpreter, and their installations.

Rule: nothing is mounted only because it is next to something that is needed. Of an installation below a home, only the
folders with programs and libraries are mounted: `~/.local/bin` must not include the key ring in `~/.local/share`.

Paths are strings here, because this runs for every launch and path objects take ten times as long.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from os.path import basename, dirname
from typing import Final

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that every sandbox has."""
VIRTUAL: Final = ("/proc", "/dev", "/sys")
"""Folders that a sandbox creates anew or leaves out, and never mounts from the host."""

_SYSTEM: Final = tuple(f"{top}/" for top in (*SYSTEM, *VIRTUAL))
_PARTS: Final = ("bin", "sbin", "lib", "lib64", "libexec", "include")
# An environment contains only packages; those of pyenv, asdf and mise are started through shims.
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_SHIMS: Final = "shims"
_MODULES: Final = "node_modules"
_MOST_LINKS: Final = 20
_LONGEST_LINE: Final = 256

HostPath = Callable[[str], str]
"""Maps a path in the sandbox to its path on the host."""


def find(name: str, *, cwd: str, path: str, host: HostPath) -> str:
    """The program that a process in the sandbox would start; raises FileNotFoundError or PermissionError."""
    if "/" in name:
        places = [os.path.normpath(f"{cwd}/{name}" if not name.startswith("/") else name)]
    else:
        places = [
            f"{folder.rstrip('/')}/{name}" for folder in path.split(os.pathsep) if folder.startswith("/")
        ]
    exists = False
    for place in places:
        on_host = host(place)
        # os.path and not pathlib, which raises for a folder on PATH that this user may not read.
        if os.path.isfile(on_host):
            exists = True
            if os.access(on_host, os.X_OK):
                return place
    if exists:
        raise PermissionError(f'program "{name}" is not executable')
    raise FileNotFoundError(f'program "{name}" was not found')


def required_paths(program: str, *, path: str, home: str, host: HostPath) -> Iterator[str]:
    """Host files and folders to mount read-only at their own path, so that this program and those on PATH can start."""
    for folder in dict.fromkeys(path.split(os.pathsep)):
        place = os.path.normpath(folder)
        if folder.startswith("/") and not is_system(place) and os.path.isdir(host(place)):
            yield from installation(place, home)
    yield from _paths_of_program(program, path=path, home=home, host=host, depth=0)


def installation(folder: str, home: str) -> Iterator[str]:
    """The parts of the installation that a folder of programs belongs to."""
    name, prefix = basename(folder), dirname(folder)
    if name == _SHIMS and not is_below(home, prefix):
        yield prefix
        return
    if _MODULES in (parts := folder.split("/")):
        yield "/".join(parts[: parts.index(_MODULES) + 1])
        return
    yield folder
    if name not in ("bin", "sbin") or is_below(home, prefix):
        return
    if any(os.path.exists(f"{prefix}/{name}") for name in _ENVIRONMENTS):
        yield prefix
        return
    names = _PARTS if prefix == f"{home}/.local" else (*_PARTS, "share")
    yield from (f"{prefix}/{name}" for name in names if os.path.isdir(f"{prefix}/{name}"))


def is_system(path: str) -> bool:
    return f"{path}/".startswith(_SYSTEM)


def is_below(path: str, folder: str) -> bool:
    """Whether a path is a folder or something in it; both are absolute and without `..`."""
    return path == folder or path.startswith(folder if folder.endswith("/") else f"{folder}/")


def _paths_of_program(program: str, *, path: str, home: str, host: HostPath, depth: int) -> Iterator[str]:
    hops = tuple(_hops(host(program)))
    for hop in hops:
        if is_system(hop):
            continue
        # A program outside a folder of programs is mounted alone.
        folder = dirname(hop)
        if basename(folder) in ("bin", "sbin", ".bin", _SHIMS) or _MODULES in hop.split("/"):
            yield from installation(folder, home)
        else:
            yield hop
    interpreter = _interpreter(hops[-1], path, host)
    if interpreter is not None and depth < _MOST_LINKS:
        yield from _paths_of_program(interpreter, path=path, home=home, host=host, depth=depth + 1)


def _hops(path: str) -> Iterator[str]:
    """A path and the targets of its links in order; the last one contains no links."""
    for _ in range(_MOST_LINKS):
        yield path
        if not os.path.islink(path):
            break
        target = os.readlink(path)
        path = os.path.normpath(target if target.startswith("/") else f"{dirname(path)}/{target}")
    yield os.path.realpath(path)


def _interpreter(program: str, path: str, host: HostPath) -> str | None:
    """The interpreter in the first line of a script, with `env` resolved."""
    try:
        with open(program, "rb", buffering=0) as file:
            line = file.read(_LONGEST_LINE).partition(b"\n")[0]
    except OSError:
        return None
    if not line.startswith(b"#!"):
        return None
    try:
        words = shlex.split(os.fsdecode(line[2:]))
    except ValueError:
        return None
    if words and basename(words[0]) == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    if not words:
        return None
    try:
        return find(words[0], cwd="/", path=path, host=host)
    except OSError:
        return None


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without those below another one and without system folders."""
    outer: list[str] = []
    # A folder comes directly before the paths below it.
    for path in sorted(set(paths), key=lambda path: path.split("/")):
        if not is_system(path) and not (outer and is_below(path, outer[-1])):
            outer.append(path)
    return tuple(outer)
