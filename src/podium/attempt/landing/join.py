"""Brings the trees of parallel members together, one after another, and has their own commands pass on the result.

A batch is merged as a whole and its commands run once; when they are red it is halved, until the member that does not
go together with the others stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from anyio import to_thread

from podium.attempt.command.run import FailedRecheck, rerun
from podium.attempt.host import Host
from podium.attempt.landing.messages import clash_text
from podium.attempt.reuse import joined
from podium.attempt.workspace.workspace import PODIUM
from podium.core.events import JoinAsked, JoinEnded
from podium.core.expressions.nodes import ExprError
from podium.core.payloads import RefusedMember
from podium.core.types import Path, Tree
from podium.errors import ConfigurationError, PodiumError
from podium.git.repository import REFS, Repository, Signature, component, keep, write_commit
from podium.git.trees.merge import Clashed
from podium.git.trees.merge import join as merge
from podium.tasks.prior_results import NoPriorResult
from podium.tasks.task import AttemptTask, JoinMember, JoinTask

DETAIL: Final = 8_000


@dataclass(frozen=True, slots=True)
class _Merged:
    head: Tree
    kept: tuple[JoinMember, ...]
    refused: tuple[RefusedMember, ...]


async def join(task: JoinTask, host: Host) -> JoinEnded:
    asked, repository = task.asked, host.repository
    if repository is None:
        raise ConfigurationError("there is no git repository here, so there are no trees to join")
    end = await to_thread.run_sync(joined, host, task)
    if end is None and asked.gated and host.is_rehearsal:
        # Whether commands pass on the joined tree has to be tried in earnest.
        raise NoPriorResult
    if end is None:
        merged = await _joined(asked, host, repository, asked.onto, task.members)
        end = JoinEnded(host.now(), asked.path, merged.head, merged.refused)
    if end.tree is not None and end.tree != asked.onto and not host.is_rehearsal:
        await to_thread.run_sync(_keep, host, repository, asked, end.tree)
    return end


async def _joined(
    asked: JoinAsked,
    host: Host,
    repository: Repository,
    onto: Tree,
    members: Sequence[JoinMember],
) -> _Merged:
    merged = await to_thread.run_sync(_merge, asked, repository, onto, members)
    if not asked.gated or not merged.kept:
        return merged
    red = await _red(host, merged)
    if red is None:
        return merged
    if len(merged.kept) == 1:
        path = merged.kept[0].path
        return _Merged(onto, (), (*merged.refused, RefusedMember(path, "failed", _cut(red))))
    middle = len(merged.kept) // 2
    first = await _joined(asked, host, repository, onto, merged.kept[:middle])
    second = await _joined(asked, host, repository, first.head, merged.kept[middle:])
    refused = (*merged.refused, *first.refused, *second.refused)
    return _Merged(second.head, (*first.kept, *second.kept), refused)


def _merge(asked: JoinAsked, repository: Repository, onto: Tree, members: Sequence[JoinMember]) -> _Merged:
    head = onto
    kept: list[JoinMember] = []
    refused: list[RefusedMember] = []
    for member in members:
        done = merge(repository, fork=member.fork, onto=head, tree=member.tree)
        if isinstance(done, Clashed):
            # Where nothing is gated the one that waits for the merge is concerned, not the members.
            where = member.path if asked.gated else asked.path
            refused.append(RefusedMember(where, "conflict", _cut(clash_text(done.clashes))))
        else:
            head = done.tree
            kept.append(member)
    return _Merged(head, tuple(kept), tuple(refused))


async def _red(host: Host, merged: _Merged) -> str | None:
    """Which of the members' own commands fails on the merged tree; none is run if it is the tree they passed on."""
    rechecks: dict[Path, AttemptTask] = {}
    for member in merged.kept:
        if member.tree != merged.head:
            rechecks |= {recheck.started.path: recheck for recheck in member.rechecks}
    try:
        red = await rerun(host, rechecks.values(), merged.head)
    except (PodiumError, ExprError) as error:
        return f"the commands could not be run on the joined tree: {error}"
    return (
        f"{red.path} does not pass on the joined tree:\n{red.message}"
        if isinstance(red, FailedRecheck)
        else None
    )


def _keep(host: Host, repository: Repository, asked: JoinAsked, tree: Tree) -> None:
    """On a ref of its own: the merged tree belongs to no attempt, and git must not take it away."""
    parents = () if host.base_commit is None else (host.base_commit,)
    commit = write_commit(
        repository,
        tree,
        parents=parents,
        message=f"join of {asked.path or 'the run'}\n\nrun {host.run}",
        signature=Signature(PODIUM, PODIUM, asked.at // 1000),
    )
    keep(repository, f"{REFS}/{component(host.run)}/{component(asked.path + '!join')}/{tree[:16]}", commit)


def _cut(text: str) -> str:
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}\n[cut]"
