"""Where Podium looks for the programs that it starts itself, outside of any sandbox: git, gh, podman, ssh.

Rule: such a program never comes from a folder of a project, where the work of an agent may have put it, even if PATH
names that folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Final

from podium.files.inside import resolved
from podium.files.project_root import project_of

_projects: Final[set[str]] = set()


def keep_out(project: Path) -> None:
    """From now on no program is taken from this project. The one around the current folder is always left out."""
    _projects.add(str(project))


def host_path(env: Mapping[str, str] | None = None) -> str:
    """PATH for a program that Podium starts outside of any sandbox, without an `env` that of this process."""
    path = (os.environ if env is None else env).get("PATH", os.defpath)
    usable = path_without((*_projects, *_current_project()), path)
    return (
        os.pathsep.join(folder for folder in usable.split(os.pathsep) if folder.startswith("/")) or os.defpath
    )


def is_in_project(program: str) -> bool:
    """Whether a program belongs to a project, so that only a sandbox may start it."""
    roots = {spelling for root in (*_projects, *_current_project()) for spelling in (root, resolved(root))}
    places = (os.path.normpath(program), resolved(program))
    return any(_is_below(place, root) for place in places for root in roots)


def path_without(roots: Iterable[str], path: str, allowed: Iterable[str] = ()) -> str:
    """PATH without the folders below these roots, however they are spelled, except the allowed ones."""
    tops = tuple(roots)
    return _path_without(tops, path, tuple(allowed), tuple(map(_identity, (*tops, *path.split(os.pathsep)))))


def _current_project() -> tuple[str, ...]:
    try:
        return (str(project_of(Path.cwd())),)
    except OSError:
        return ()  # The current folder has been removed.


def _identity(folder: str) -> tuple[int, ...] | None:
    """Which folder a path leads to; a link that was changed since leads to another. Numbers of files are reused."""
    try:
        status = os.stat(folder)  # noqa: PTH116 (called for every command)
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


# Following the links takes most of the time; it is done again when one of the folders is another one.
@lru_cache(maxsize=64)
def _path_without(
    roots: tuple[str, ...], path: str, allowed: tuple[str, ...], _identities: tuple[object, ...]
) -> str:
    tops = {spelling for root in roots for spelling in (root, resolved(root))}

    def is_usable(folder: str) -> bool:
        place = os.path.normpath(folder)
        return place in allowed or not any(
            _is_below(spelling, top) for spelling in (place, resolved(place)) for top in tops
        )

    return os.pathsep.join(folder for folder in path.split(os.pathsep) if is_usable(folder))


def _is_below(path: str, folder: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")
