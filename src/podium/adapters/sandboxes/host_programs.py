"""Finds the host files that a program needs in a sandbox: itself, its interpreter, and their installations.

Rule: nothing is mounted only because it is next to something that is needed. Of an installation below a home, only the
folders with programs and libraries are mounted: `~/.local/bin` must not include the key ring in `~/.local/share`.
Rule: nothing is mounted because of a file that an agent may have written. A lent toolchain leads only to Python.

Paths are strings here, because this runs for every launch and path objects take ten times as long.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator
from functools import lru_cache
from os.path import basename, dirname
from typing import Final

from podium.adapters.sandboxes.layout import Layout, Look, is_below

SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
"""Folders that every sandbox has."""
VIRTUAL: Final = ("/proc", "/dev", "/sys")
"""Folders that a sandbox creates anew or leaves out, and never mounts from the host."""

_ALTERNATIVES: Final = "/etc/alternatives"
"""Links from programs of the system to others of it; every sandbox has it, where the host does."""
_SYSTEM: Final = tuple(f"{top}/" for top in (*SYSTEM, *VIRTUAL, _ALTERNATIVES))
_PARTS: Final = ("bin", "sbin", "lib", "lib64", "libexec", "include")
# An environment contains only packages; those of pyenv, asdf and mise are started through shims.
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_SHIMS: Final = "shims"
_MODULES: Final = "node_modules"
_MOST_LINKS: Final = 20
_LONGEST_LINE: Final = 256
_ENV_OPTIONS: Final = frozenset({"-u", "--unset", "-C", "--chdir", "-a", "--argv0"})
"""Options of `env` that are followed by a word."""


def find(name: str, *, cwd: str, path: str, layout: Layout) -> str:
    """The program that a process in the sandbox would start; raises FileNotFoundError or PermissionError."""
    if "/" in name:
        places = [os.path.normpath(f"{cwd}/{name}" if not name.startswith("/") else name)]
    else:
        places = [
            f"{folder.rstrip('/')}/{name}" for folder in path.split(os.pathsep) if folder.startswith("/")
        ]
    exists = False
    for place in places:
        look = layout.look(place) if layout.origin(place) == "agent" else _look(layout.on_host(place))
        if look in ("program", "unclear"):
            return place
        exists = exists or look == "not executable"
    if exists:
        raise PermissionError(f'program "{name}" is not executable')
    raise FileNotFoundError(f'program "{name}" was not found')


def _look(on_host: str) -> Look:
    # os.path and not pathlib, which raises for a folder on PATH that this user may not read.
    # Most folders of PATH lack the program, and `access` tells that in a third of the time.
    if not os.access(on_host, os.F_OK) or not os.path.isfile(on_host):
        return "missing"
    return "program" if os.access(on_host, os.X_OK) else "not executable"


def required_paths(program: str, *, path: str, home: str, layout: Layout) -> Iterator[str]:
    """Host files and folders to mount read-only at their own path, so that this program and those on PATH can start."""
    for folder in dict.fromkeys(path.split(os.pathsep)):
        place = os.path.normpath(folder)
        if not folder.startswith("/") or is_system(place) or layout.origin(place) != "host":
            continue
        if os.path.isdir(place):
            yield from installation(place, home)
    if layout.origin(program) != "agent":
        yield from _paths_of_program(program, path=path, home=home, layout=layout, depth=0)


def installation(folder: str, home: str) -> tuple[str, ...]:
    """The parts of the installation that a folder of programs belongs to."""
    try:
        changed = os.stat(dirname(folder)).st_mtime_ns
    except OSError:
        changed = 0
    return _installation(folder, home, changed)


# A part that is added or removed changes the time of the folder above, which is part of the key.
@lru_cache(maxsize=256)
def _installation(folder: str, home: str, _changed: int) -> tuple[str, ...]:
    return tuple(_parts_of(folder, home))


def _parts_of(folder: str, home: str) -> Iterator[str]:
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


def _paths_of_program(program: str, *, path: str, home: str, layout: Layout, depth: int) -> Iterator[str]:
    hops = tuple(_hops(layout.on_host(program)))
    is_lent = layout.origin(program) == "lent"
    if is_lent and not all(is_system(hop) or layout.covers(hop) or _is_python(hop) for hop in hops):
        return
    for hop in hops:
        if layout.origin_on_host(hop) == "agent":
            return
        if is_system(hop):
            continue
        # A program outside a folder of programs is mounted alone.
        folder = dirname(hop)
        if basename(folder) in ("bin", "sbin", ".bin", _SHIMS) or _MODULES in hop.split("/"):
            yield from installation(folder, home)
        elif not is_lent:
            yield hop
    interpreter = _interpreter(hops[-1], path, layout)
    if interpreter is None or depth >= _MOST_LINKS or layout.origin(interpreter) == "agent":
        return
    # A script in a lent toolchain leads to programs of that toolchain and of PATH, which are there already.
    if not is_lent or layout.origin(interpreter) == "lent":
        yield from _paths_of_program(interpreter, path=path, home=home, layout=layout, depth=depth + 1)


def _is_python(program: str) -> bool:
    """Whether a program belongs to an installation of Python, which a virtual environment may lead to."""
    prefix = dirname(dirname(program))
    version = basename(program).removeprefix("python").partition("t")[0]
    versions = (version,) if "." in version else _versions(f"{prefix}/lib")
    return any(os.path.isfile(f"{prefix}/lib/python{version}/os.py") for version in versions)


def _versions(folder: str) -> list[str]:
    try:
        return [name.removeprefix("python") for name in os.listdir(folder) if name.startswith("python")]
    except OSError:
        return []


def _hops(path: str) -> Iterator[str]:
    """A path and the targets of its links in order; the last one contains no links."""
    for _ in range(_MOST_LINKS):
        yield path
        if not os.path.islink(path):
            break
        target = os.readlink(path)
        path = os.path.normpath(target if target.startswith("/") else f"{dirname(path)}/{target}")
    yield os.path.realpath(path)


def _interpreter(program: str, path: str, layout: Layout) -> str | None:
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
    name = _started_by_env(words[1:]) if words and basename(words[0]) == "env" else next(iter(words), None)
    if name is None:
        return None
    try:
        return find(name, cwd="/", path=path, layout=layout)
    except OSError:
        return None


def _started_by_env(words: list[str]) -> str | None:
    """The program in the arguments of `env`."""
    rest = iter(words)
    for word in rest:
        if word in _ENV_OPTIONS:
            next(rest, None)
        elif word.startswith("-S") and len(word) > 2:
            return word[2:]
        elif not word.startswith("-") and "=" not in word:
            return word
    return None


def outermost(paths: Iterable[str]) -> tuple[str, ...]:
    """The paths without those below another one and without system folders."""
    outer: list[str] = []
    # A folder comes directly before the paths below it.
    for path in sorted(set(paths), key=lambda path: path.split("/")):
        if not is_system(path) and not (outer and is_below(path, outer[-1])):
            outer.append(path)
    return tuple(outer)
