"""Takes over what an earlier run has found out: what is asked again in exactly the same words is not done again (X10)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from anyio import to_thread

from podium.attempt.host import Host
from podium.attempt.workspace.workspace import keep_attempt
from podium.core.events import ApprovalAsked, ApprovalGiven, AttemptEnded, JoinEnded
from podium.core.payloads import Amounts
from podium.core.types import GONE
from podium.git.repository import has_tree
from podium.tasks.prior_results import NoPriorResult, PriorResults
from podium.tasks.task import AttemptTask, JoinTask


async def reuse_or(
    host: Host, task: AttemptTask, key: str, work: Callable[[], Awaitable[AttemptEnded]]
) -> AttemptEnded:
    """The answer that was given to exactly this before, else what the work gives, marked for those who come later."""
    return await find_prior(host, task, key) or replace(await work(), key=key)


async def find_prior(host: Host, task: AttemptTask, key: str) -> AttemptEnded | None:
    """The answer that was given to exactly this before. Raises NoPriorResult where nothing else may be done.

    Where the run counts on it and it is not there any more, the next attempt has to pay for one.
    """
    answer = await to_thread.run_sync(_answer, host, task, key) if task.prior else None
    if answer is None and host.is_rehearsal:
        raise NoPriorResult
    if answer is None and task.started.taken:
        return AttemptEnded(host.now(), task.started.path, task.started.attempt, "transient", GONE)
    return answer


def prior_approvals(past: PriorResults | None, asked: ApprovalAsked) -> tuple[ApprovalGiven, ...]:
    """What people have said to exactly this question about exactly this tree."""
    found = None if past is None else past.approvals.get(asked.path)
    if found is None:
        return ()
    then, given = found
    is_same = (then.key, then.tree, then.approvals) == (asked.key, asked.tree, asked.approvals)
    return tuple(given) if is_same else ()


def joined(host: Host, task: JoinTask) -> JoinEnded | None:
    """How the very same trees were joined before."""
    end = task.prior
    if end is None or host.repository is None or end.tree is None:
        return None
    return replace(end, at=host.now()) if has_tree(host.repository, end.tree) else None


def _answer(host: Host, task: AttemptTask, key: str) -> AttemptEnded | None:
    """It costs nothing, its tree belongs to this run too from now on, and its log stays where it was."""
    # An attempt that was cut short from outside is not among them, so the numbers may differ.
    same = (end for end in task.prior if end.key == key and end.attempt >= task.started.attempt)
    answer = next(same, None)
    if answer is None:
        return None
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
        else {name: value for name, value in answer.result.items() if name not in ("log", "evidence")},
        used=Amounts(),
        cost_known=True,
        window=None,
        reused=answer.reused or task.prior_run,
    )
