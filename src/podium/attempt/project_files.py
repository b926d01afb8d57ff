"""Tells what a step has changed in a project outside of git, by comparing the files with those before its first attempt.

Rule: the list of the first attempt is kept in the run folder and serves all later ones. A forbidden change cannot be undone
here, so the next attempt has to undo it, and a new list would take it for the user's own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from podium.attempt.artifacts import write_bytes
from podium.attempt.host import Host
from podium.core.model import Agent, Command, Step
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.files.project_paths import STATE_DIR
from podium.git.trees.ignore import MAX_BYTES as MAX_RULES
from podium.git.trees.ignore import is_ignored, parse_rules

MAX_FILES: Final = 20_000
MAX_BYTES: Final = 500 << 20
FOLDER: Final = "project_files"
NOT_COUNTED: Final = parse_rules(
    f"/{STATE_DIR}/\n.git\n__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.coverage\nnode_modules/\n"
    ".venv/\nvenv/\n.tox/\n.nox/\n.cache/\n".encode()
)
"""Podium's own files, and what tools leave behind; the project's .gitignore is read as well."""

EVERYTHING: Final = ("**",)


def is_limited(step: Step) -> bool:
    """Whether the step may change some files only. `touches: []` of a command says that its changes are not kept."""
    match step.verb:
        case Agent() as verb:
            return not verb.judge and step.touches not in (None, EVERYTHING)
        case Command():
            return step.touches not in (None, (), EVERYTHING)
        case _:
            return False


def note_files(host: Host, path: Address) -> None:
    """Lists the files before the first attempt of a step."""
    place = _place(host, path)
    if not place.exists():
        write_bytes(place, json.dumps(_listing(host)).encode())


def files_changed(host: Host, path: Address) -> tuple[str, ...]:
    """The files that differ from those before the first attempt of a step."""
    before: Mapping[str, str] = json.loads(_place(host, path).read_bytes())
    now = _listing(host)
    return tuple(sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name)))


def _place(host: Host, path: Address) -> Path:
    return host.run_dir / FOLDER / f"{path.replace('/', '+')}.json"


def _listing(host: Host) -> dict[str, str]:
    listing: dict[str, str] = {}
    size = 0
    for name, place in _files(host):
        size += place.lstat().st_size
        if len(listing) == MAX_FILES or size > MAX_BYTES:
            raise ConfigurationError(
                f"not a git repository: `touches` can be checked in up to {MAX_FILES} files and {MAX_BYTES >> 20} MB, "
                "and the folder has more",
                hint="git init, and commit; or name what does not count in .gitignore",
            )
        listing[name] = _digest(place)
    return listing


def _files(host: Host) -> Iterator[tuple[str, Path]]:
    root = host.project
    ignore = root / ".gitignore"
    own = parse_rules(_beginning(ignore)) if ignore.is_file() and not ignore.is_symlink() else ()
    rules = {"": own}
    for top, folders, names in os.walk(root):
        below = Path(top).relative_to(root).as_posix().removeprefix(".")
        folders[:] = sorted(
            name
            for name in folders
            if not is_ignored(below, name, is_folder=True, rules=rules, outer=NOT_COUNTED)
        )
        links = [name for name in folders if Path(top, name).is_symlink()]
        for name in (*sorted(names), *links):
            if not is_ignored(below, name, is_folder=False, rules=rules, outer=NOT_COUNTED):
                yield (f"{below}/{name}" if below else name), Path(top, name)


def _beginning(rules: Path) -> bytes:
    with rules.open("rb") as file:
        return file.read(MAX_RULES)


def _digest(place: Path) -> str:
    """The content, target or kind of a file, with its mode."""
    stat = place.lstat()
    if place.is_symlink():
        return f"link {place.readlink()}"
    if not place.is_file():
        return f"other {stat.st_mode}"
    with place.open("rb") as file:
        return f"{stat.st_mode} {hashlib.file_digest(file, 'sha256').hexdigest()}"
