"""Reuses results of an earlier run for identical requests (X10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.workspace.memory import keep_memory_tree
from podium.attempt.workspace.workspace import keep_attempt
from podium.core.events import AttemptEnded, JoinEnded
from podium.core.payloads import Amounts
from podium.core.types import GONE
from podium.fast_dataclass import replace
from podium.git.repository import has_tree
from podium.tasks.prior_results import NoPriorResult
from podium.tasks.task import AttemptTask, JoinTask


async def reuse_or(
    host: Host, task: AttemptTask, key: str, work: Callable[[], Awaitable[AttemptEnded]]
) -> AttemptEnded:
    """The earlier result of the same request, else that of the work, with its key for later runs."""
    return await find_prior(host, task, key) or replace(await work(), key=key)


async def find_prior(host: Host, task: AttemptTask, key: str) -> AttemptEnded | None:
    """The earlier result of the same request. Raises NoPriorResult in a rehearsal that has none.

    If the run expected a result that is gone, this attempt fails as transient and the next one does the work.
    """
    answer = await to_thread.run_sync(_answer, host, task, key) if task.prior else None
    if answer is None and host.is_rehearsal:
        raise NoPriorResult
    if answer is None and task.started.reused:
        return AttemptEnded(host.now(), task.started.path, task.started.attempt, "transient", GONE)
    return answer


def joined(host: Host, task: JoinTask) -> JoinEnded | None:
    """The earlier join of the same trees, if its tree still exists."""
    end = task.prior
    if end is None or host.repository is None or end.tree is None:
        return None
    return replace(end, at=host.now()) if has_tree(host.repository, end.tree) else None


def _answer(host: Host, task: AttemptTask, key: str) -> AttemptEnded | None:
    """The earlier end without cost and log; its tree is kept for this run as well."""
    # Interrupted attempts are not listed, so the attempt numbers may differ.
    same = (end for end in task.prior if end.key == key and end.attempt >= task.started.attempt)
    answer = next(same, None)
    if answer is None:
        return None
    if host.repository is not None and answer.memory is not None:
        if not has_tree(host.repository, answer.memory.after):
            return None
        if not host.is_rehearsal:
            keep_memory_tree(host, host.repository, task.started, answer.memory.after)
    if host.repository is not None and answer.tree is not None:
        if not has_tree(host.repository, answer.tree):
            return None
        if not host.is_rehearsal:
            keep_attempt(host, host.repository, task.started, answer.tree)
    return replace(
        answer,
        at=host.now(),
        attempt=task.started.attempt,
        result=None
        if answer.result is None
        else {
            name: value
            for name, value in answer.result.items()
            if name not in ("log", "stderr_log", "evidence")
        },
        used=Amounts(),
        cost_known=True,
        window=None,
        reused=answer.reused or task.prior_run,
    )
