"""The trees that hold the work of a scope: of one child of a graph, of the ends of its branches, of its best member."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from podium.core.model import ForEach, Members
from podium.core.queries.claims import Claim, overlap
from podium.core.queries.graph import BLOCKS, best_member, dependents_of
from podium.core.queries.steps import children_of
from podium.core.state import Instance, Scope, State
from podium.core.types import Address, Tree

Work: TypeAlias = tuple[Address, Tree]
"""A child and its resulting tree."""


def base_in_graph(
    state: State, scope: Scope, index: int, after: tuple[int, ...]
) -> tuple[Tree | None, tuple[Work, ...]]:
    """The tree a child of a graph builds on, and the work that must be merged into it first.

    `after` are the children that it does not need but that changed files which it claims.
    """
    verb = scope.place.step.verb
    if not isinstance(verb, BLOCKS):
        # The results of a loop's items are merged one by one onto the head of the loop.
        return scope.head, ()
    trees = _trees_of(state, scope, (*children_of(verb)[index].needs, *after))
    return (trees[0][1], missing_work(state, scope, trees)) if trees else (scope.start_tree, ())


def missing_work(state: State, scope: Scope, trees: tuple[Work, ...]) -> tuple[Work, ...]:
    """The work in these trees that the first one lacks, child by child, each after those it builds on.

    A tree also holds the work of its child's needs. Merged as a whole, changes that two trees share would conflict as soon
    as one of them continues these changes; the change of one child never does, because its own base is the fork.
    """
    if len(trees) < 2:
        return ()
    first, *others = (state.instances[path].place.index for path, _ in trees)
    merged = {first, *_all_needs(state, scope, (first,))}
    works: list[Work] = []
    for index in _in_order(state, scope, others):
        child = None if index in merged else _fresh_instance(state, scope, index)
        merged.add(index)
        if child is not None and child.ending is not None and child.ending.tree is not None:
            works.append((child.place.path, child.ending.tree))
    return tuple(works)


def _in_order(state: State, scope: Scope, indexes: Iterable[int]) -> Iterator[int]:
    """These children and all they build on, each after those it builds on; some of them several times."""
    steps = children_of(scope.place.step.verb)  # type: ignore[arg-type]  # Block or Call
    todo = [(index, False) for index in indexes][::-1]
    visited: set[int] = set()
    while todo:
        index, is_complete = todo.pop()
        if is_complete:
            yield index
        elif index not in visited:
            visited.add(index)
            child = _fresh_instance(state, scope, index)
            below = (*steps[index].needs, *(() if child is None else child.place.after))
            todo.append((index, True))
            todo.extend((need, False) for need in reversed(below))


def earlier_writers(
    state: State, scope: Scope, index: int, claim: Claim, stale: tuple[int, ...]
) -> tuple[int, ...]:
    """The children of a graph that changed files of this claim and whose work the child's needs do not contain.

    `stale` are the children whose results this entry makes invalid.
    """
    verb = scope.place.step.verb
    if not claim or not isinstance(verb, BLOCKS):
        return ()
    # Not the needs of the child itself: what its last visit built on does not belong to the next one.
    needs = children_of(verb)[index].needs
    excluded = {index, *stale, *needs, *_all_needs(state, scope, needs)}
    return tuple(
        other
        for other in range(scope.next)
        if other not in excluded
        and (child := _fresh_instance(state, scope, other)) is not None
        and child.ending is not None
        and child.ending.tree is not None
        and overlap(claim, child.place.claim)
    )


def base_of_adopted(state: State, scope: Scope, adopted: Instance) -> tuple[Tree | None, tuple[int, ...]]:
    """The tree that an earlier visit was built on, and those of its earlier writers whose work is still the same."""
    unchanged = (
        index
        for index in adopted.place.after
        if (child := _fresh_instance(state, scope, index)) is not None
        and child.ending is not None
        and child.ending.at <= adopted.place.entered
    )
    return adopted.base, tuple(unchanged)


def sinks_of(state: State, scope: Scope) -> tuple[Work, ...]:
    """The distinct trees at the ends of the branches; in a graph that was left early, where each branch stopped."""
    is_finished = [_fresh_instance(state, scope, index) is not None for index in range(scope.total)]
    dependents = dependents_of(scope)
    ends = (
        index
        for index, finished in enumerate(is_finished)
        if finished and not any(is_finished[dependent] for dependent in dependents[index])
    )
    return _trees_of(state, scope, ends)


def tree_of(state: State, scope: Scope) -> Tree | None:
    """The resulting tree of a scope: its head, the end of a graph's branches, or the tree of its best member."""
    verb = scope.place.step.verb
    if not scope.next:
        # A scope that was blocked, skipped or stopped may never have been opened, so it has no fork.
        return scope.head
    if isinstance(verb, Members) and verb.join == "best":
        best = best_member(state, scope)
        return (None if best is None or best.ending is None else best.ending.tree) or scope.start_tree
    if scope.place.order != "dag" or isinstance(verb, ForEach) or scope.branch_join == "joined":
        return scope.head
    sinks = sinks_of(state, scope)
    return sinks[0][1] if sinks else scope.start_tree


def _trees_of(state: State, scope: Scope, indexes: Iterable[int]) -> tuple[Work, ...]:
    """The distinct trees that together hold the work of these children and of everything they need."""
    steps = children_of(scope.place.step.verb)  # type: ignore[arg-type]  # Block or Call
    trees: dict[Tree, int] = {}
    todo, visited = list(indexes)[::-1], set[int]()
    while todo:
        index = todo.pop()
        child = None if index in visited else _fresh_instance(state, scope, index)
        visited.add(index)
        tree = None if child is None else _own_tree(child)
        if tree is not None:
            trees.setdefault(tree, index)
        elif child is not None:
            # The child added nothing, so its needs hold the work: a skipped step passes on the work before it.
            todo.extend(reversed((*steps[index].needs, *child.place.after)))
    if len(trees) > 1:
        below = _all_needs(state, scope, trees.values())
        trees = {tree: index for tree, index in trees.items() if index not in below}
    return tuple((state.latest[(scope.place.path, index)].path, tree) for tree, index in trees.items())


def _own_tree(child: Instance) -> Tree | None:
    """The tree with a child's work and everything it was built on; None if it added nothing to its only need."""
    own = None if child.ending is None else child.ending.tree
    joined = child.base if child.base != child.place.base else None
    return own or joined


def holds_work_of(state: State, scope: Scope, index: int, other: int) -> bool:
    """Whether the tree of a child of a graph has all work that is in the tree of the other one.

    A child also builds on work in the files that it claims, which may have landed beside it.
    """
    if not isinstance(scope.place.step.verb, BLOCKS):
        return False
    works = {work for work in (other, *_all_needs(state, scope, (other,))) if _has_work(state, scope, work)}
    return bool(works) and works <= {index, *_all_needs(state, scope, (index,))}


def _has_work(state: State, scope: Scope, index: int) -> bool:
    child = _fresh_instance(state, scope, index)
    return child is not None and child.ending is not None and child.ending.tree not in (None, child.base)


def _all_needs(state: State, scope: Scope, indexes: Iterable[int]) -> set[int]:
    """All children on whose work these children directly or indirectly build; their trees already contain it."""
    steps = children_of(scope.place.step.verb)  # type: ignore[arg-type]  # Block or Call
    below: set[int] = set()
    todo = list(indexes)
    while todo:
        index = todo.pop()
        child = _fresh_instance(state, scope, index)
        needs = {*steps[index].needs, *(() if child is None else child.place.after)} - below
        below |= needs
        todo.extend(needs)
    return below


def _fresh_instance(state: State, scope: Scope, index: int) -> Instance | None:
    visit = state.latest.get((scope.place.path, index))
    return state.instances[visit.path] if visit is not None and visit.fresh else None
