"""Decides about joins: members queue to be merged onto the head, branches of a graph are merged at its end."""

from __future__ import annotations

from podium.core import addresses
from podium.core.addresses import ROOT
from podium.core.decide.entry import ScopeEnd, result_tree
from podium.core.decide.pass_rules import cancels_rest, is_settled, open_places
from podium.core.events import JoinAsked, JoinQueued, StepEnded
from podium.core.payloads import RefusedMember
from podium.core.queries.branch_trees import base_in_graph, missing_work, sinks_of, tree_of
from podium.core.queries.graph import JUDGES, join_of, merges_members
from podium.core.state import Instance, Scope, State, number_of
from podium.core.types import Millis, Tree


def queue_for_join(state: State, member: Instance, now: Millis) -> JoinQueued | None:
    """Queue a member that passed and changed files for merging, unless the head has not moved since it started."""
    if member.join_status is not None or not must_merge(state, member, result_tree(state, member)):
        return None
    return JoinQueued(now, member.place.path)


def must_merge(state: State, member: Instance, tree: Tree | None) -> bool:
    """Whether this tree of a member must be merged to get onto the head of its scope."""
    if member.place.path == ROOT or member.place.role != "step" or tree is None or tree == member.base:
        return False
    scope = state.instances[member.place.parent]
    if not isinstance(scope, Scope) or not merges_members(scope):
        return False
    is_first = scope.next_join_ticket == scope.next_join and ("join", scope.place.path) not in state.pending
    return not (is_first and scope.head == member.base)


def ask_for_join(state: State, scope: Scope, now: Millis, *, more: bool) -> JoinAsked | None:
    """Merge waiting members: one at a time, or as a batch when it is full or no further member can come.

    `more` is whether another member is about to be entered.
    """
    waiting = scope.next_join_ticket - scope.next_join
    if not waiting or scope.head is None or ("join", scope.place.path) in state.pending:
        return None
    if is_settled(state, scope):
        return None  # Those that wait are stopped, because others have won.
    join = join_of(scope)
    size = join if isinstance(join, int) else 1
    if cancels_rest(scope):
        size = min(size, open_places(state, scope))
    if waiting < size and (scope.live > waiting or more):
        return None
    members = []
    for number in range(scope.next_join, scope.next_join + min(size, waiting)):
        path = state.joins[(scope.place.path, number)]
        tree = result_tree(state, state.instances[path])
        assert tree is not None
        members.append((path, tree))
    return JoinAsked(now, scope.place.path, scope.head, scope.start_tree, tuple(members), gated=True)


def join_needs(state: State, child: Instance, now: Millis) -> JoinAsked | StepEnded | None:
    """Merge the work of a child's needs into one tree before the child starts."""
    if child.join_status is not None:
        return _conflict_ending(child, now) if isinstance(child.join_status, RefusedMember) else None
    if child.place.path == ROOT or child.place.role != "step":
        return None
    scope = state.instances[child.place.parent]
    if not isinstance(scope, Scope) or scope.place.order != "dag":
        return None
    onto, to_merge = base_in_graph(state, scope, child.place.index, child.place.after)
    if onto is None or not to_merge:
        return None
    return JoinAsked(now, child.place.path, onto, scope.start_tree, to_merge, gated=False)


def _conflict_ending(child: Instance, now: Millis) -> StepEnded:
    assert isinstance(child.join_status, RefusedMember)
    return StepEnded(now, child.place.path, "conflict", "conflict", exit=1, message=child.join_status.detail)


def join_sinks(state: State, scope: Scope, now: Millis) -> JoinAsked | ScopeEnd | None:
    """Merge the work of all branches into one tree at the end of a graph."""
    if isinstance(scope.branch_join, RefusedMember):
        feedback = (addresses.attempt(scope.place.path, number_of(scope)),)
        return ScopeEnd("conflict", "conflict", 1, scope.branch_join.detail, feedback=feedback)
    trees = sinks_of(state, scope)
    if scope.branch_join == "joined" or len(trees) < 2:
        return None
    works = missing_work(state, scope, trees)
    return JoinAsked(now, scope.place.path, trees[0][1], scope.start_tree, works, gated=False)


def final_tree(state: State, scope: Scope) -> Tree | None:
    """The tree that a passed scope hands to its parent; None if nothing has changed."""
    if isinstance(scope.place.step.verb, JUDGES):
        return None
    tree = tree_of(state, scope)
    return None if tree == scope.base else tree
