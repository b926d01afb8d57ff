"""How trees come together: members queue up to be merged onto the head, branches of a graph are merged at its end."""

from __future__ import annotations

from podium.core.done import Done
from podium.core.enter import base_in_graph, result_tree
from podium.core.events import JoinAsked, JoinQueued, StepEnded
from podium.core.facts import Refused
from podium.core.graph import dependents_of, join_of, order_of
from podium.core.model import Block, Call, ForEach, Gates, Members, Review
from podium.core.paths import ROOT
from podium.core.state import Instance, Scope, State
from podium.core.words import Millis, Path, Tree


def queue_for_join(state: State, member: Instance, now: Millis) -> JoinQueued | None:
    """A member that has passed and changed files must be merged, unless the head has not moved since it began."""
    if member.place.path == ROOT or member.place.role != "step" or member.merge is not None:
        return None
    scope = state.instances[member.place.parent]
    if not isinstance(scope, Scope) or not merges_members(scope):
        return None
    tree = result_tree(member)
    if tree is None or tree == member.base:
        return None
    nobody_before = scope.joins == scope.joined and ("join", scope.place.path) not in state.pending
    if nobody_before and scope.head == member.base:
        return None
    return JoinQueued(now, member.place.path)


def merges_members(scope: Scope) -> bool:
    """Whether the trees of this scope's children are merged one by one onto its head."""
    match verb := scope.place.step.verb:
        case ForEach() | Members():
            return join_of(scope) not in ("best", "discard")
        case Block():
            return verb.kind == "par" and join_of(scope) not in ("best", "discard")
        case Call():
            return verb.workflow.body.kind == "par" and join_of(scope) not in ("best", "discard")
        case _:
            return False


def ask_for_join(state: State, scope: Scope, now: Millis, *, more: bool) -> JoinAsked | None:
    """Merge the members that wait for it: one at a time, or a batch when it is full or nobody else can come.

    `more` tells that another member is about to be entered.
    """
    waiting = scope.joins - scope.joined
    if not waiting or scope.head is None or ("join", scope.place.path) in state.pending:
        return None
    join = join_of(scope)
    size = join if isinstance(join, int) else 1
    if waiting < size and (scope.live > waiting or more):
        return None
    members = []
    for number in range(scope.joined, scope.joined + min(size, waiting)):
        path = state.joins[(scope.place.path, number)]
        tree = result_tree(state.instances[path])
        assert tree is not None
        members.append((path, tree))
    return JoinAsked(now, scope.place.path, scope.head, scope.place.start, tuple(members), gated=True)


def join_needs(state: State, child: Instance, now: Millis) -> JoinAsked | StepEnded | None:
    """Before a child of a graph begins: the work of its needs in one tree."""
    if child.merge is not None:
        return _clash(child, now) if isinstance(child.merge, Refused) else None
    if child.place.path == ROOT or child.place.role != "step":
        return None
    scope = state.instances[child.place.parent]
    if not isinstance(scope, Scope) or order_of(scope) != "dag":
        return None
    onto, others = base_in_graph(state, scope, child.place.slot)
    if onto is None or not others:
        return None
    return JoinAsked(now, child.place.path, onto, scope.place.start, others, gated=False)


def _clash(child: Instance, now: Millis) -> StepEnded:
    assert isinstance(child.merge, Refused)
    return StepEnded(now, child.place.path, "conflict", "conflict", exit=1, message=child.merge.detail)


def join_sinks(state: State, scope: Scope, now: Millis) -> JoinAsked | Done | None:
    """At the end of a graph: the work of all its branches in one tree."""
    if isinstance(scope.sinks, Refused):
        return Done("conflict", "conflict", 1, message=scope.sinks.detail)
    trees = _sinks(state, scope)
    if scope.sinks == "joined" or len(trees) < 2:
        return None
    return JoinAsked(now, scope.place.path, trees[0][1], scope.place.start, tuple(trees[1:]), gated=False)


def _sinks(state: State, scope: Scope) -> list[tuple[Path, Tree]]:
    """The different trees at the ends of the branches."""
    found: list[tuple[Path, Tree]] = []
    done = [_done(state, scope, index) for index in range(scope.total)]
    for child, dependents in zip(done, dependents_of(scope), strict=True):
        # A graph that was left early ends where its work stopped.
        if child is None or any(done[index] for index in dependents):
            continue
        tree = None if child.ending is None else child.ending.tree
        tree = tree or child.base
        if tree is not None and tree != scope.place.start and all(tree != seen for _, seen in found):
            found.append((child.place.path, tree))
    return found


def _done(state: State, scope: Scope, index: int) -> Instance | None:
    visit = state.latest.get((scope.place.path, index))
    return state.instances[visit.path] if visit is not None and visit.fresh else None


def final_tree(state: State, scope: Scope) -> Tree | None:
    """What a scope that has passed hands to its parent; None if nothing has changed."""
    verb = scope.place.step.verb
    tree = scope.head
    if isinstance(verb, Gates | Review):
        return None
    if isinstance(verb, Members) and verb.join == "best":
        tree = _best_member(state, scope)
    elif isinstance(verb, Members) and verb.join == "discard":
        return None
    elif order_of(scope) == "dag" and isinstance(verb, Block | Call) and scope.sinks != "joined":
        sinks = _sinks(state, scope)
        tree = sinks[0][1] if sinks else None
    return None if tree == scope.base else tree


def _best_member(state: State, scope: Scope) -> Tree | None:
    """The tree of the member with the highest score, else of the first that passed."""
    best: tuple[float, Tree | None] | None = None
    for index in range(scope.next):
        ending = state.instances[state.latest[(scope.place.path, index)].path].ending
        if ending is None or ending.outcome != "passed":
            continue
        score = -1.0 if ending.score is None else ending.score
        if best is None or score > best[0]:
            best = score, ending.tree
    return None if best is None else best[1]
