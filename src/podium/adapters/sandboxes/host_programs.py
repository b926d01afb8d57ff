"""What a program needs of the host before it can start within walls: itself, its interpreter, and where both are installed.

Rule: nothing is shown because it lies beside something that is needed. Of an installation below a home only the folders
that hold programs and libraries are shown: `~/.local/bin` must not bring the key ring in `~/.local/share` along.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

SYSTEM: Final = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
"""Always there."""
MADE: Final = tuple(map(Path, ("/proc", "/dev", "/sys")))
"""Made anew within the walls, or left out; never shown as they are."""

_SYSTEM: Final = tuple(f"{top}/" for top in (*SYSTEM, *MADE))
_PARTS: Final = ("bin", "sbin", "lib", "lib64", "libexec", "include")
# An environment of its own holds packages and nothing else; those of pyenv, asdf and mise are started through shims.
_ENVIRONMENTS: Final = ("pyvenv.cfg", "conda-meta")
_SHIMS: Final = "shims"
_MODULES: Final = "node_modules"
_MOST_LINKS: Final = 20
_LONGEST_LINE: Final = 256

HostPath = Callable[[Path], Path]
"""Where a path as the process sees it lies on the host."""


def find(name: str, *, cwd: Path, path: str, host: HostPath) -> Path:
    """The program that a process within walls would start, as it sees it. Raises FileNotFoundError, PermissionError."""
    if "/" in name:
        places = [Path(os.path.normpath(cwd / name))]
    else:
        places = [Path(folder) / name for folder in path.split(os.pathsep) if folder.startswith("/")]
    # As text: pathlib raises for a folder on PATH that this user may not look into.
    there = [place for place in places if os.path.isfile(host(place))]  # noqa: PTH113
    if not there:
        raise FileNotFoundError(f'program "{name}" was not found')
    found = next((place for place in there if os.access(host(place), os.X_OK)), None)
    if found is None:
        raise PermissionError(f'program "{name}" may not be executed')
    return found


def needs(program: Path, *, path: str, home: Path, host: HostPath) -> Iterator[Path]:
    """Files and folders of the host to show, read-only and where they are, so that this program and those on PATH start."""
    for folder in dict.fromkeys(path.split(os.pathsep)):
        place = Path(os.path.normpath(folder))
        if folder.startswith("/") and not is_system(place) and os.path.isdir(host(place)):  # noqa: PTH112
            yield from installation(place, home)
    yield from _of_program(program, path=path, home=home, host=host, depth=0)


def installation(folder: Path, home: Path) -> Iterator[Path]:
    """The parts of an installation to which a folder with programs belongs."""
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
    # As text: asked for every part of every launch, and a path object costs more than the question.
    return f"{path}/".startswith(_SYSTEM)


def _of_program(program: Path, *, path: str, home: Path, host: HostPath, depth: int) -> Iterator[Path]:
    hops = tuple(_hops(host(program)))
    for hop in hops:
        if is_system(hop):
            continue
        # A file that lies among others which are no programs is shown alone.
        if hop.parent.name in ("bin", "sbin", ".bin", _SHIMS) or _MODULES in hop.parts:
            yield from installation(hop.parent, home)
        else:
            yield hop
    interpreter = _interpreter(hops[-1], path, host)
    if interpreter is not None and depth < _MOST_LINKS:
        yield from _of_program(interpreter, path=path, home=home, host=host, depth=depth + 1)


def _hops(path: Path) -> Iterator[Path]:
    """A path, what it links to, and so on; the last one is no link in any of its parts."""
    for _ in range(_MOST_LINKS):
        yield path
        if not path.is_symlink():
            break
        path = Path(os.path.normpath(path.parent / path.readlink()))
    yield Path(os.path.realpath(path))


def _interpreter(program: Path, path: str, host: HostPath) -> Path | None:
    """The program that the first line of a script names, `env` resolved."""
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
    """Without those that lie below another one, and without what every process sees."""
    kept: list[Path] = []
    for path in sorted(set(paths)):
        # Sorted, so that whatever holds a path stands right before it.
        if not is_system(path) and not (kept and path.is_relative_to(kept[-1])):
            kept.append(path)
    return tuple(kept)
