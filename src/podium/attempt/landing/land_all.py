"""Lands the head on several branches: on all of them, or on none.

First everything is prepared and judged, while no branch has moved. Then the branches move one after another, each by
compare-and-swap. If one cannot move, those before it move back, unless others have moved them since: then the step
ends `conflict` and lists what has landed. The moves and the ways back are not interrupted by a cancel, and after a
crash in the middle the branches that had moved go back first (decision 166).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeAlias

from anyio import CancelScope, to_thread

from podium.attempt.file_facts import known_names
from podium.attempt.host import Host
from podium.attempt.landing.doubts import doubt_about, unaccepted_tests
from podium.attempt.landing.messages import in_the_way, left_behind, taken_off
from podium.attempt.landing.rebase import clash_message, left_markers
from podium.attempt.result import attempt_ended
from podium.core.events import AttemptEnded
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.core.model import Git
from podium.core.types import MOVED
from podium.errors import ConfigurationError
from podium.git.branches.land import (
    BranchClash,
    How,
    InTheWay,
    Landed,
    Landing,
    Moved,
    Prepared,
    follow,
    land,
    landed_commit,
    prepare,
)
from podium.git.branches.take_back import take_back
from podium.git.command import GitError
from podium.git.repository import Repository
from podium.tasks.report import AttemptResult
from podium.tasks.task import AttemptTask

TRIES: Final = 5
"""How often others may move a branch during preparation before the landing fails."""

NO_GATES: Final = "a landing on several branches has no gates of its own, because these judge one tree; put them on a step before"
Refusal: TypeAlias = tuple[str, str]
"""The reason and the message."""


class _Done(NamedTuple):
    landing: Landing
    commit: str
    behind: str | None = None
    """Git's message if the checked-out files could not follow."""


MakeLanding: TypeAlias = Callable[[AttemptTask, Host, str, str | None, How], Landing]


async def restore(task: AttemptTask, host: Host, verb: Git, make: MakeLanding) -> None:
    """If a process died after it had moved some of the branches, move these back."""
    branches = fill(verb.land, await known_names(host, task.names(), (verb.land,), task.view))
    repository = host.repository
    if isinstance(branches, list | tuple) and repository is not None:

        def restore_now() -> None:
            landings = [make(task, host, as_text(name, Meter()), None, verb.how) for name in branches]
            take_back_partial(repository, landings)

        await to_thread.run_sync(restore_now)


async def land_all(
    task: AttemptTask, host: Host, branches: Sequence[Any], make: Callable[[str], Landing]
) -> AttemptEnded:
    repository = host.repository
    if repository is None:
        raise ConfigurationError("not a git repository: nothing can land", hint="git init")
    names = [as_text(name, Meter()) for name in branches]
    landings = await to_thread.run_sync(lambda: [make(name) for name in names])
    twice = next((name for name in names if names.count(name) > 1), None)
    if task.land_work.has_gates:
        return _refused(task, host, (), ("configuration", NO_GATES))
    if twice is not None:
        return _refused(task, host, (), ("configuration", f'"land" names the branch "{twice}" twice'))
    for _ in range(TRIES):
        ready = await _prepare_all(task, host, repository, landings)
        if isinstance(ready, tuple):
            landed = await to_thread.run_sync(_landed, repository, landings)
            return _refused(task, host, landed, ready)
        # Nothing may come between a move and what follows from it, also not a cancel.
        with CancelScope(shield=True):
            stopped = await to_thread.run_sync(_move_all, repository, ready)
            landed = await to_thread.run_sync(_landed, repository, landings)
        if stopped is None:
            return _passed(task, host, landed)
        if not isinstance(stopped, Moved):
            return _refused(task, host, landed, stopped)
        if landed:
            return _refused(
                task, host, landed, ("conflict", "a branch was moved by others during the landing")
            )
    return _refused(task, host, (), (MOVED, f"branches were moved {TRIES} times during the landing"))


def take_back_partial(repository: Repository, landings: Sequence[Landing]) -> None:
    """A process that was killed has moved some of the branches: these go back, so that all are judged together again."""
    landed = [landing for landing in landings if landed_commit(repository, landing) is not None]
    if len(landed) < len(landings):
        _take_back_all(repository, landed)


async def _prepare_all(
    task: AttemptTask, host: Host, repository: Repository, landings: Sequence[Landing]
) -> list[Prepared] | Refusal:
    """What has to move; a branch that has all of the work already does not."""
    prepared: list[Prepared] = []
    for landing in landings:
        ready = await to_thread.run_sync(prepare, repository, landing)
        match ready:
            case Prepared():
                refusal = await _objection(task, host, repository, ready)
                if refusal is not None:
                    return refusal[0], f'not on "{landing.branch}": {refusal[1]}'
                prepared.append(ready)
            case BranchClash():
                message = await to_thread.run_sync(
                    clash_message, repository, task.land_work, landing.branch, ready
                )
                return "conflict", f'not on "{landing.branch}": {message}'
            case Landed(taken_off=True):
                return "taken_off", taken_off(landing, ready.commit)
            case _:
                continue
    return prepared


async def _objection(
    task: AttemptTask, host: Host, repository: Repository, ready: Prepared
) -> Refusal | None:
    """Why the prepared tree must not land; commands that passed on the head run again on a branch that has moved."""
    unaccepted = await to_thread.run_sync(unaccepted_tests, task.land_work, repository, ready.tree)
    if unaccepted is not None:
        return "disputed_tests", unaccepted
    markers = await to_thread.run_sync(left_markers, repository, task.land_work, ready.tree)
    if markers is not None:
        return "conflict", markers
    return await doubt_about(task.land_work, host, repository, ready)


def _move_all(repository: Repository, prepared: Sequence[Prepared]) -> Moved | Refusal | None:
    """Move the branches in order; at the first that cannot move, move back those before it."""
    done: list[Landing] = []
    try:
        for ready in prepared:
            moved = land(repository, ready)
            if isinstance(moved, Landed) and not moved.taken_off:
                done.append(ready.landing)
                continue
            _take_back_all(repository, done)
            if isinstance(moved, InTheWay):
                return "in_the_way", in_the_way(ready.landing, moved)
            return (
                moved if isinstance(moved, Moved) else ("taken_off", taken_off(ready.landing, moved.commit))
            )
    except BaseException:
        _take_back_all(repository, done)
        raise
    return None


def _take_back_all(repository: Repository, done: Sequence[Landing]) -> None:
    for landing in reversed(done):
        # For example a locked ref: the branch then stays where it is, and the step lists it.
        with suppress(GitError):
            take_back(repository, landing)


def _landed(repository: Repository, landings: Sequence[Landing]) -> tuple[_Done, ...]:
    """The branches on which this landing is, with their checked-out files brought along."""
    commits = ((landing, landed_commit(repository, landing)) for landing in landings)
    return tuple(
        _Done(landing, commit, follow(repository, landing, commit))
        for landing, commit in commits
        if commit is not None
    )


def _passed(task: AttemptTask, host: Host, landed: Sequence[_Done]) -> AttemptEnded:
    if not landed:
        text = "there is nothing to land: the branches have all of it already"
        result: AttemptResult = {"text": text, "output": {"unchanged": True, "landed": []}, "files": []}
        return attempt_ended(host, task.started, "ok", result=result, tree=task.started.start)
    notes = [
        left_behind(host.run, task.started.path, done.landing, done.behind)
        for done in landed
        if done.behind is not None
    ]
    output = {**_entry(landed[0]), "landed": [_entry(done) for done in landed]}
    result = {"text": "\n".join((_list_of(landed), *notes)), "output": output, "files": []}
    if notes:
        output["notes"] = result["notes"] = "\n".join(notes)
    return attempt_ended(host, task.started, "ok", result=result, tree=task.started.start)


def _refused(task: AttemptTask, host: Host, landed: Sequence[_Done], why: Refusal) -> AttemptEnded:
    """Nothing has landed, or the list of what has."""
    reason, message = why
    message = f"{_list_of(landed)}, but {message}" if landed else f"nothing has landed: {message}"
    result: AttemptResult = {"text": message, "files": [], "message": message}
    if landed:
        reason = "conflict"
        result["output"] = {"landed": [_entry(done) for done in landed]}
    return attempt_ended(host, task.started, "failed", reason, result=result, tree=task.started.start)


def _entry(done: _Done) -> dict[str, object]:
    return {"commit": done.commit, "branch": done.landing.branch}


def _list_of(landed: Sequence[_Done]) -> str:
    places = [f'on "{done.landing.branch}" as {done.commit[:12]}' for done in landed]
    return f"landed {', '.join(places)}"
