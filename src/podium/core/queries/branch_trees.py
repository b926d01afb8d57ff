"""In which trees the work of a scope stands: at a child of a graph, at the end of its branches, at its best member."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from podium.core.model import ForEach, Members
from podium.core.queries.graph import BLOCKS, children_of, dependents_of
from podium.core.state import Instance, Scope, State
from podium.core.types import Path, Tree

Work: TypeAlias = tuple[Path, Tree]
"""A child and the tree it has left."""


def base_in_graph(state: State, scope: Scope, index: int) -> tuple[Tree | None, tuple[Work, ...]]:
    """The tree a child of a graph builds on, and what must be merged into it first."""
    verb = scope.place.step.verb
    if not isinstance(verb, BLOCKS):
        # Items of a loop: their results are merged one by one onto the head of the loop.
        return scope.head, ()
    trees = _trees_of(state, scope, children_of(verb)[index].needs)
    return (trees[0][1], trees[1:]) if trees else (scope.fork, ())


def sinks_of(state: State, scope: Scope) -> tuple[Work, ...]:
    """The different trees at the ends of the branches. A graph that was left early ends where its work stopped."""
    done = [_done(state, scope, index) is not None for index in range(scope.total)]
    dependents = dependents_of(scope)
    ends = (
        index
        for index, is_done in enumerate(done)
        if is_done and not any(done[dependent] for dependent in dependents[index])
    )
    return _trees_of(state, scope, ends)


def tree_of(state: State, scope: Scope) -> Tree | None:
    """The tree a scope has come to: its head, the end of the branches of a graph, or the best of its members."""
    verb = scope.place.step.verb
    if not scope.next:
        # It may never have been opened, so it has no fork: blocked, skipped, or stopped before.
        return scope.head
    if isinstance(verb, Members) and verb.join == "best":
        return _best_member(state, scope) or scope.fork
    if scope.place.order != "dag" or isinstance(verb, ForEach) or scope.sinks == "joined":
        return scope.head
    sinks = sinks_of(state, scope)
    return sinks[0][1] if sinks else scope.fork


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


def _trees_of(state: State, scope: Scope, indexes: Iterable[int]) -> tuple[Work, ...]:
    """The different trees in which the work of these children, and of all they need, stands."""
    steps = children_of(scope.place.step.verb)  # type: ignore[arg-type]  # Block or Call
    found: dict[Tree, int] = {}
    todo, seen = list(indexes)[::-1], set[int]()
    while todo:
        index = todo.pop()
        child = None if index in seen else _done(state, scope, index)
        seen.add(index)
        tree = None if child is None else _own_tree(child)
        if tree is not None:
            found.setdefault(tree, index)
        elif child is not None:
            # It has added nothing, so what counts is what it was given: a step that was skipped passes work on.
            todo.extend(reversed(steps[index].needs))
    if len(found) > 1:
        below = _all_needs(scope, found.values())
        found = {tree: index for tree, index in found.items() if index not in below}
    return tuple((state.latest[(scope.place.path, index)].path, tree) for tree, index in found.items())


def _own_tree(child: Instance) -> Tree | None:
    """The tree that holds a child's work and all it was built on; None if it has added nothing to one of its needs."""
    own = None if child.ending is None else child.ending.tree
    joined = child.base if child.base != child.place.base else None
    return own or joined


def _all_needs(scope: Scope, indexes: Iterable[int]) -> set[int]:
    """All that these children need, directly or not: their trees contain that work already."""
    steps = children_of(scope.place.step.verb)  # type: ignore[arg-type]  # Block or Call
    found: set[int] = set()
    todo = [need for index in indexes for need in steps[index].needs]
    while todo:
        index = todo.pop()
        if index not in found:
            found.add(index)
            todo.extend(steps[index].needs)
    return found


def _done(state: State, scope: Scope, index: int) -> Instance | None:
    visit = state.latest.get((scope.place.path, index))
    return state.instances[visit.path] if visit is not None and visit.fresh else None
