"""Notices that files changed, by looking: the same everywhere, and nothing to install."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, TypeAlias

from podium.app.paths import WRITTEN_BY_PEOPLE
from podium.app.project import Office
from podium.app.query.diff import change_of, read_changes
from podium.app.run.answer import view_of
from podium.app.run.preflight import all_steps
from podium.app.run.start import StartedRun
from podium.errors import ConfigurationError
from podium.files.project_paths import STATE_DIR

Seen: TypeAlias = Mapping[str, tuple[int, int]]
"""Every file by its path in the project: when it was changed and how long it is."""

SKIPPED: Final = frozenset({".git", ".orchestrator"})
"""What tools write for themselves."""


def look(folder: Path) -> Seen:
    return {str(path.relative_to(folder)): mark for path, mark in _files(folder)}


def _files(folder: Path) -> Iterator[tuple[Path, tuple[int, int]]]:
    for top, folders, names in os.walk(folder):
        is_home = Path(top).name == STATE_DIR
        folders[:] = sorted(
            name for name in folders if name not in SKIPPED and (not is_home or name in WRITTEN_BY_PEOPLE)
        )
        for name in sorted(names):
            if is_home and name not in WRITTEN_BY_PEOPLE:
                continue
            path = Path(top) / name
            try:
                found = path.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # Gone while we were looking; the next look will say so.
            yield path, (found.st_mtime_ns, found.st_size)


def changed(before: Seen, after: Seen) -> tuple[str, ...]:
    """Files that are new, gone or different."""
    return tuple(sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path)))


def own_changes(office: Office, begun: StartedRun) -> frozenset[str] | None:
    """The files that a run has brought into the project by landing; None if it works there, where nobody can tell."""
    site = begun.site
    if any(site.is_inplace(step) for _, step, _ in all_steps(site.workflow)):
        return None
    span = change_of(view_of(office, begun.run))
    return frozenset(change.path for change in read_changes(office.project, span))


def seen_by(before: Seen, after: Seen, own: frozenset[str] | None) -> Seen:
    """What a run knows of: the files it began with, and its own changes. All else that came meanwhile is news."""
    if own is None:
        return after
    known = {path: mark for path, mark in before.items() if path not in own}
    return {**known, **{path: after[path] for path in own if path in after}}


def arrived(before: Seen, after: Seen) -> tuple[str, ...]:
    """Files that were not there."""
    return tuple(path for path in after if path not in before)


def inbox(project: Path, folder: Path) -> Path:
    """The folder whose new files become runs, which must lie in the project."""
    found = (project / folder).resolve()
    if not found.is_relative_to(project.resolve()):
        raise ConfigurationError(f"{folder} leaves the project", hint="watch a folder of the project")
    if not found.is_dir():
        raise ConfigurationError(f"{folder} is not a folder", hint=f"make it: mkdir -p {folder}")
    return found
