"""Brings the trees of parallel members together, one after another, and has their own commands pass on the result.

A batch is merged as a whole and its commands run once; when they are red it is halved, until the member that does not
go together with the others stands alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from anyio import to_thread

from podium.attempt.command.rerun import FailedRecheck, commands_passed_on, rerun
from podium.attempt.landing.messages import clash_text
from podium.attempt.prior_results import NoPriorResult
from podium.attempt.reuse import is_rehearsal, joined
from podium.attempt.site import Site
from podium.attempt.workspace.workspace import PODIUM
from podium.core.events import JoinAsked, JoinEnded
from podium.core.expressions.nodes import ExprError
from podium.core.payloads import RefusedMember
from podium.core.state import Leaf, State
from podium.core.types import Path, Tree
from podium.errors import ConfigurationError, PodiumError
from podium.git.repository import REFS, Repository, Signature, component, keep, write_commit
from podium.git.trees.merge import Clashed
from podium.git.trees.merge import join as merge

DETAIL: Final = 8_000

Member: TypeAlias = tuple[Path, Tree]


@dataclass(frozen=True, slots=True)
class _Merged:
    head: Tree
    kept: tuple[Member, ...]
    refused: tuple[RefusedMember, ...]


async def join(asked: JoinAsked, state: State, site: Site) -> JoinEnded:
    repository = site.repository
    if repository is None:
        raise ConfigurationError("there is no git repository here, so there are no trees to join")
    end = await to_thread.run_sync(joined, site, asked)
    if end is None and asked.gated and is_rehearsal(site):
        # Whether commands pass on the joined tree has to be tried in earnest.
        raise NoPriorResult
    if end is None:
        merged = await _joined(asked, state, site, repository, asked.onto, asked.members)
        end = JoinEnded(site.now(), asked.path, merged.head, merged.refused)
    if end.tree is not None and end.tree != asked.onto and not is_rehearsal(site):
        await to_thread.run_sync(_keep, site, repository, asked, end.tree)
    return end


async def _joined(
    asked: JoinAsked,
    state: State,
    site: Site,
    repository: Repository,
    onto: Tree,
    members: Sequence[Member],
) -> _Merged:
    merged = await to_thread.run_sync(_merge, asked, state, repository, onto, members)
    if not asked.gated or not merged.kept:
        return merged
    red = await _red(site, state, merged)
    if red is None:
        return merged
    if len(merged.kept) == 1:
        path = merged.kept[0][0]
        return _Merged(onto, (), (*merged.refused, RefusedMember(path, "failed", _cut(red))))
    middle = len(merged.kept) // 2
    first = await _joined(asked, state, site, repository, onto, merged.kept[:middle])
    second = await _joined(asked, state, site, repository, first.head, merged.kept[middle:])
    refused = (*merged.refused, *first.refused, *second.refused)
    return _Merged(second.head, (*first.kept, *second.kept), refused)


def _merge(
    asked: JoinAsked, state: State, repository: Repository, onto: Tree, members: Sequence[Member]
) -> _Merged:
    head = onto
    kept: list[Member] = []
    refused: list[RefusedMember] = []
    for path, tree in members:
        done = merge(repository, fork=_fork(asked, state, path), onto=head, tree=tree)
        if isinstance(done, Clashed):
            # Where nothing is gated the one that waits for the merge is concerned, not the members.
            where = path if asked.gated else asked.path
            refused.append(RefusedMember(where, "conflict", _cut(clash_text(done.clashes))))
        else:
            head = done.tree
            kept.append((path, tree))
    return _Merged(head, tuple(kept), tuple(refused))


def _fork(asked: JoinAsked, state: State, path: Path) -> Tree | None:
    """What a member started from: those of a queue may have begun after others had been merged."""
    member = state.instances.get(path)
    return member.base if asked.gated and member is not None and member.base is not None else asked.fork


async def _red(site: Site, state: State, merged: _Merged) -> str | None:
    """What the members' own commands say of the merged tree; nothing to ask if it is the tree they passed on."""
    leaves: dict[Path, Leaf] = {}
    for path, tree in merged.kept:
        if tree != merged.head:
            leaves |= {leaf.place.path: leaf for leaf in commands_passed_on(state, tree, path)}
    try:
        red = await rerun(site, state, leaves.values(), merged.head)
    except (PodiumError, ExprError) as error:
        return f"the commands could not be run on the joined tree: {error}"
    return (
        f"{red.path} does not pass on the joined tree:\n{red.message}"
        if isinstance(red, FailedRecheck)
        else None
    )


def _keep(site: Site, repository: Repository, asked: JoinAsked, tree: Tree) -> None:
    """On a ref of its own: the merged tree belongs to no attempt, and git must not take it away."""
    parents = () if site.base_commit is None else (site.base_commit,)
    commit = write_commit(
        repository,
        tree,
        parents=parents,
        message=f"join of {asked.path or 'the run'}\n\nrun {site.run}",
        signature=Signature(PODIUM, PODIUM, asked.at // 1000),
    )
    keep(repository, f"{REFS}/{component(site.run)}/{component(asked.path + '!join')}/{tree[:16]}", commit)


def _cut(text: str) -> str:
    return text if len(text) <= DETAIL else f"{text[:DETAIL]}\n[cut]"
