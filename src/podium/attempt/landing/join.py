"""Merges the trees of parallel members one after another and runs the members' commands on the result.

A batch is merged as a whole and its commands run once; if one fails, the batch is halved until the member that breaks
the others is found.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from anyio import to_thread

from podium.attempt.command.run import FailedRecheck, rerun
from podium.attempt.host import Host
from podium.attempt.landing.messages import clash_text
from podium.attempt.reuse import joined
from podium.attempt.workspace.workspace import PODIUM
from podium.core.events import JoinAsked, JoinEnded
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.payloads import RefusedMember
from podium.core.types import Tree
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.git.repository import REFS, Repository, Signature, component, keep, write_commit
from podium.git.trees.merge import Clashed
from podium.git.trees.merge import join as merge
from podium.tasks.command_work import command_key
from podium.tasks.prior_results import NoPriorResult
from podium.tasks.task import AttemptTask, CommandWork, JoinMember, JoinTask

DETAIL: Final = 8_000


@dataclass(frozen=True, slots=True)
class _Merged:
    head: Tree
    accepted: tuple[JoinMember, ...]
    refused: tuple[RefusedMember, ...]


async def join(task: JoinTask, host: Host) -> JoinEnded:
    request, repository = task.request, host.repository
    if repository is None:
        raise ConfigurationError("not a git repository: there are no trees to join")
    end = await to_thread.run_sync(joined, host, task)
    if end is None and request.gated and host.is_rehearsal:
        # Whether commands pass on the joined tree is known only after running them.
        raise NoPriorResult
    if end is None:
        merged = await _joined(task, host, repository, request.onto, task.members)
        end = JoinEnded(host.now(), request.path, merged.head, merged.refused)
    if end.tree is not None and end.tree != request.onto and not host.is_rehearsal:
        await to_thread.run_sync(_keep, host, repository, request, end.tree)
    return end


async def _joined(
    task: JoinTask,
    host: Host,
    repository: Repository,
    onto: Tree,
    members: Sequence[JoinMember],
) -> _Merged:
    merged = await to_thread.run_sync(_merge, task.request, repository, onto, members)
    if not task.request.gated or not merged.accepted:
        return merged
    failure = await _recheck_failure(host, merged, task.rechecks if merged.head != onto else ())
    if failure is None:
        return merged
    if len(merged.accepted) == 1:
        path = merged.accepted[0].path
        return _Merged(onto, (), (*merged.refused, RefusedMember(path, "failed", _cut(failure))))
    middle = len(merged.accepted) // 2
    first = await _joined(task, host, repository, onto, merged.accepted[:middle])
    second = await _joined(task, host, repository, first.head, merged.accepted[middle:])
    refused = (*merged.refused, *first.refused, *second.refused)
    return _Merged(second.head, (*first.accepted, *second.accepted), refused)


def _merge(request: JoinAsked, repository: Repository, onto: Tree, members: Sequence[JoinMember]) -> _Merged:
    head = onto
    accepted: list[JoinMember] = []
    refused: list[RefusedMember] = []
    for member in members:
        done = merge(repository, fork=member.fork, onto=head, tree=member.tree)
        if isinstance(done, Clashed):
            # Without gates, the step that waits for the merge is refused, not the member.
            where = member.path if request.gated else request.path
            refused.append(RefusedMember(where, "conflict", _cut(clash_text(done.clashes))))
        else:
            head = done.tree
            accepted.append(member)
    return _Merged(head, tuple(accepted), tuple(refused))


async def _recheck_failure(host: Host, merged: _Merged, earlier: Sequence[AttemptTask]) -> str | None:
    """Why a member's command fails on the merged tree; commands that passed on this very tree are not run again.

    Commands of members that were merged before have to pass as well, since neither they nor the new work saw the other.
    """
    own = [recheck for member in merged.accepted if member.tree != merged.head for recheck in member.rechecks]
    try:
        rechecks: dict[object, AttemptTask] = {}
        for recheck in (*own, *earlier):
            rechecks.setdefault(_judgement(recheck), recheck)
        failure = await rerun(host, rechecks.values(), merged.head)
    except (PodiumError, ExprError) as error:
        return f"the commands could not be run on the joined tree: {error}"
    return (
        f"{failure.path} does not pass on the joined tree:\n{failure.message}"
        if isinstance(failure, FailedRecheck)
        else None
    )


def _judgement(recheck: AttemptTask) -> object:
    """By this, members with the same command and the same earlier tests run it once."""
    work = recheck.work
    assert isinstance(work, CommandWork)
    try:
        command = repr(command_key(recheck.step, recheck.names()))
    except (ExprError, NeedFact):
        return recheck.started.path
    return command, work.protected_from, work.accepted


def _keep(host: Host, repository: Repository, request: JoinAsked, tree: Tree) -> None:
    """Keep the merged tree on its own ref: no attempt refers to it, so git could delete it."""
    parents = () if host.base_commit is None else (host.base_commit,)
    commit = write_commit(
        repository,
        tree,
        parents=parents,
        message=f"join of {request.path or 'the run'}\n\nrun {host.run}",
        signature=Signature(PODIUM, PODIUM, request.at // 1000),
    )
    keep(repository, f"{REFS}/{component(host.run)}/{component(request.path + '!join')}/{tree[:16]}", commit)


def _cut(text: str) -> str:
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}\n[cut]"
