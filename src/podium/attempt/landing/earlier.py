"""What of a run's own work a branch has already: the landings that a later one builds upon.

Rule: a landing counts for another only if its work is in the tree of the other. That of a parallel member, or of a part
whose tree was not taken over, has moved the branch like somebody else's; counted, it would be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from podium.core.addresses import ROOT
from podium.core.decide.entry import width
from podium.core.model import Git
from podium.core.queries.graph import TOGETHER, descendants_of, join_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Millis, Path, Tree
from podium.git.repository import Repository
from podium.git.trees.merge import Clashed, join


@dataclass(frozen=True, slots=True)
class EarlierLanding:
    """A landing, or a publication, that has passed."""

    leaf: Leaf
    commit: str
    tree: Tree


def earlier(state: State, path: Path, branch: str, key: str) -> tuple[EarlierLanding, ...]:
    """The `git` steps that have brought work of this run to a branch before and are built upon at a path; in their order.

    A path that is no instance is that of a person who comes when the run is over.
    """
    found = (_done(instance, branch, key) for instance in state.instances.values())
    done = sorted((one for one in found if one is not None), key=lambda one: _ended(one.leaf))
    return _built_upon(state, state.instances.get(path), done)


def tree_landed(repository: Repository, state: State, before: Sequence[EarlierLanding], start: Tree) -> Tree:
    """The tree with all that was landed before and nothing of others: only what came since is new."""
    if not before:
        return start
    last = before[-1]
    if _built_upon(state, last.leaf, before[:-1]) == tuple(before[:-1]):
        return last.tree
    tree = start
    for at, one in enumerate(before):
        fork = tree_landed(repository, state, _built_upon(state, one.leaf, before[:at]), start)
        joined = join(repository, fork=fork, onto=tree, tree=one.tree)
        if isinstance(joined, Clashed):
            # Nothing is taken for landed then: the change has to hold as a whole, or is refused as another one.
            return start
        tree = joined.tree
    return tree


def _done(instance: Instance, branch: str, key: str) -> EarlierLanding | None:
    verb = instance.place.step.verb
    if not isinstance(instance, Leaf) or not isinstance(verb, Git) or getattr(verb, key) is None:
        return None
    ending, answer = instance.ending, instance.answer
    if ending is None or ending.outcome != "passed" or answer is None or answer.tree is None:
        return None
    output = (answer.result or {}).get("output") or {}
    if output.get("branch") != branch or not output.get("commit"):
        return None
    return EarlierLanding(instance, str(output["commit"]), answer.tree)


def _built_upon(
    state: State, later: Instance | None, done: Sequence[EarlierLanding]
) -> tuple[EarlierLanding, ...]:
    ways = {} if later is None else _ways(state, later)
    return tuple(one for one in done if one.leaf is not later and _is_in(state, one.leaf, later, ways))


def _ways(state: State, instance: Instance) -> dict[Path, Instance]:
    """Each scope around an instance, with the child that leads to it."""
    found: dict[Path, Instance] = {}
    while instance.place.path != ROOT:
        found[instance.place.parent] = instance
        instance = state.instances[instance.place.parent]
    return found


def _is_in(state: State, leaf: Leaf, later: Instance | None, ways: Mapping[Path, Instance]) -> bool:
    """Whether the work that a leaf has landed is part of what the later one starts from."""
    if later is not None and _ended(leaf) > later.place.entered:
        return False
    child: Instance = leaf
    while child.place.path != ROOT:
        scope = state.instances[child.place.parent]
        if not isinstance(scope, Scope):
            return False
        if scope.place.path in ways:
            return _is_seen(state, scope, child, ways[scope.place.path])
        if not _hands_over(child) or _drops(scope):
            return False
        child = scope
    return True


def _is_seen(state: State, scope: Scope, first: Instance, second: Instance) -> bool:
    """Whether a child of a scope starts from what another one has left there."""
    if not _hands_over(first):
        # A later visit goes on from the tree of the one before it, whatever became of that.
        return first.place.slot == second.place.slot and second.place.start != second.place.base
    if _drops(scope):
        return False
    if second.place.role == "finally":
        return True
    match scope.place.order:
        case "seq" | "repeat":
            return True
        case "dag":
            return second.place.slot in descendants_of(scope, first.place.slot)
        case "many":
            return not isinstance(scope.place.step.verb, TOGETHER) and width(state, scope) == 1


def _hands_over(child: Instance) -> bool:
    ending = child.ending
    return ending is not None and (ending.outcome in CONTINUING_OUTCOMES or ending.tree is not None)


def _drops(scope: Scope) -> bool:
    """Whether what its members leave is not taken over, or only that of one."""
    return scope.place.order in ("many", "dag") and join_of(scope) in ("best", "discard")


def _ended(leaf: Leaf) -> Millis:
    assert leaf.ending is not None
    return leaf.ending.at
