"""Delete what old runs have left: after showing it, and never what is still needed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from podium.app.run.definition import discard_unused
from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.git.branches import gc
from podium.git.repository import find
from podium.git.workdir.folder import discard
from podium.ports.store import RunHead

if TYPE_CHECKING:
    from podium.app.project import Project

RUNNING = ("running", "waiting", "paused", "parked")


@dataclass(frozen=True, slots=True)
class ExpiredRun:
    """A run that may go, and what goes with it."""

    run: RunId
    workflow: str
    status: str
    created: Millis
    bytes: int
    refs: int
    landed: bool
    """Whether its work has reached a branch; if not, the refs are all that is left of it."""


def preview(project: Project, *, before: Millis, unlanded: bool = False) -> tuple[ExpiredRun, ...]:
    """What a deletion would take: ended runs from before that moment, and with work that never landed only if asked."""
    kept = _refs(project)
    found = (
        _old(project, head, kept.get(head.run))
        for head in project.runtime.heads()
        if _may_go(project, head, before)
    )
    return tuple(old for old in found if unlanded or old.landed or not old.refs)


def delete(project: Project, olds: Iterable[ExpiredRun]) -> None:
    """Exactly what was shown. The log goes last, so that what was interrupted is found again."""
    kept = _refs(project)
    repository = find(project.root, project.paths.trees)
    for old in olds:
        if repository is not None and old.run in kept:
            gc.delete(repository, (kept[old.run],))
        # Workspaces too: a process that was killed after the last event has left them.
        for folder in (project.paths.run_dir(old.run), project.paths.work_dir(old.run)):
            discard(folder)
        project.runtime.forget(old.run)
    discard_unused(project.paths.state_dir, project.runtime.heads())


def _may_go(project: Project, head: RunHead, before: Millis) -> bool:
    ended = head.status not in RUNNING
    return ended and head.created < before and not project.runtime.is_owned(head.run)


def _refs(project: Project) -> dict[str, gc.RunRefs]:
    repository = find(project.root, project.paths.trees)
    return {} if repository is None else {each.run: each for each in gc.list_runs(repository)}


def _old(project: Project, head: RunHead, refs: gc.RunRefs | None) -> ExpiredRun:
    return ExpiredRun(
        run=head.run,
        workflow=head.workflow,
        status=head.status,
        created=Millis(head.created),
        bytes=_size(project.paths.run_dir(head.run)),
        refs=0 if refs is None else len(refs.refs),
        landed=refs is not None and refs.landed,
    )


def _size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())
