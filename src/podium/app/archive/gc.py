"""Delete old runs: only those that were listed first, and nothing that is still needed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from podium.app.run.definition import discard_unused
from podium.app.run.series import next_of
from podium.attempt.persons_work import BY_HAND
from podium.core.hash_chain import RunId
from podium.core.types import Millis
from podium.fast_dataclass import dataclass
from podium.files.project_paths import EXPIRY
from podium.git.branches import gc
from podium.git.repository import find
from podium.git.workdir.folder import discard
from podium.ports.store import RunHead

if TYPE_CHECKING:
    from podium.app.project import Project

RUNNING = ("running", "waiting", "paused", "parked")


@dataclass(frozen=True, slots=True)
class ExpiredRun:
    """A run that may be deleted, and what is deleted with it."""

    run: RunId
    workflow: str
    status: str
    created: Millis
    bytes: int
    refs: int
    landed: bool
    """Whether its work has reached a branch; if not, the refs are all that is left of it."""


def preview(
    project: Project, *, before: Millis, now: Millis | None = None, unlanded: bool = False
) -> tuple[ExpiredRun, ...]:
    """Ended runs that were created before a moment, or whose `record.keep` is over.

    Runs whose work never landed only with `unlanded`.
    """
    refs = _refs(project)
    expired = (
        _expired(project, head, refs.get(head.run))
        for head in project.runtime.heads()
        if _may_go(project, head, before, now)
    )
    return tuple(run for run in expired if unlanded or run.landed or not run.refs)


def delete(
    project: Project, runs: Iterable[ExpiredRun], *, without_history: bool = False
) -> dict[RunId, str]:
    """Delete these runs, but keep their numbers in the history first; returns the runs that were refused, with reasons.

    The log is deleted last, so that an interrupted deletion can be repeated. A run whose numbers cannot be kept is not
    deleted, unless `without_history` allows it.
    """
    from podium.app.history.catch_up import keep

    refs = _refs(project)
    refused: dict[RunId, str] = {}
    repository = find(project.root, project.paths.trees)
    for expired in runs:
        head = project.runtime.head(expired.run)
        fault = None if head is None or without_history else keep(project, head)
        if fault is not None:
            refused[expired.run] = fault
            continue
        branches: tuple[gc.Ref, ...] = ()
        if repository is not None:
            branches = gc.finished_branches(repository, f"{BY_HAND}/{expired.run}", refs.get(expired.run))
        if repository is not None and expired.run in refs:
            gc.delete(repository, (refs[expired.run],))
        # Workspaces too: a process that was killed after the last event has left them.
        paths, run = project.paths, expired.run
        for folder in (paths.run_dir(run), paths.work_dir(run), paths.base_work_dir(run)):
            discard(folder)
        if repository is not None:
            gc.delete_branches(repository, branches)
        project.runtime.forget(expired.run)
    discard_unused(project.paths.state_dir, project.runtime.heads())
    return refused


def _may_go(project: Project, head: RunHead, before: Millis, now: Millis | None) -> bool:
    ended = head.status not in RUNNING
    is_old = head.created < before or (now is not None and _expires(project, head.run) < now)
    may_go = ended and is_old and not project.runtime.is_owned(head.run)
    return may_go and not _is_needed(project, head)


def _is_needed(project: Project, head: RunHead) -> bool:
    """Whether the run that continues this one has not begun: until then, only this run keeps its files in git."""
    following = next_of(project.runtime, head)
    return following is not None and not following.last_seq


def _expires(project: Project, run: RunId) -> float:
    try:
        return int((project.paths.run_dir(run) / EXPIRY).read_text("ascii"))
    except (FileNotFoundError, ValueError):
        return math.inf


def _refs(project: Project) -> dict[str, gc.RunRefs]:
    repository = find(project.root, project.paths.trees)
    return {} if repository is None else {each.run: each for each in gc.list_runs(repository)}


def _expired(project: Project, head: RunHead, refs: gc.RunRefs | None) -> ExpiredRun:
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
