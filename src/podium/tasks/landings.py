"""Builds the work of a landing, with the earlier landings of the run that it builds on.

Rule: a landing builds on an earlier one only if its tree contains the earlier work. A landing of a parallel member, or
of a part whose tree was dropped, moved the branch like a commit from outside; if it counted, the later landing would
revert its work.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

from podium.core.addresses import ROOT
from podium.core.decide.admission import width
from podium.core.decide.attempts import passed_gates
from podium.core.events import AttemptStarted, RunStarted
from podium.core.model import Git
from podium.core.payloads import CarriedLanding
from podium.core.queries.branch_trees import holds_work_of
from podium.core.queries.disputes import open_disputes
from podium.core.queries.graph import TOGETHER, builders_on, fresh_children, join_of
from podium.core.queries.rebases import authors_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, Address, Millis, Tree
from podium.tasks.command_work import rechecks_of
from podium.tasks.task import EarlierLanding, LandedPiece, LandWork


def land_work_of(state: State, started: AttemptStarted) -> LandWork:
    """The path may have no instance: `podium apply` lands after the run has ended."""
    assert state.started is not None
    leaf = state.instances.get(started.path)
    gates = passed_gates(state, leaf, started.attempt) if isinstance(leaf, Leaf) else None
    rebased = state.rebased
    # A branch that the work was moved onto contains what the run landed there before.
    landings = _landings(state)
    before = _earlier_runs(state)
    tree = started.start or started.base
    return LandWork(
        run_name=state.started.run.name,
        run_base=state.started.run.base if rebased is None else rebased.rebase.commit,
        run_start=fork_of(state.started) if rebased is None else rebased.rebase.onto,
        authors=authors_of(state) if leaf is None or leaf.place.parent == ROOT else (),
        conflicted=() if rebased is None else rebased.rebase.paths,
        rechecks=() if tree is None else rechecks_of(state, tree),
        earlier=(*before, *(_record(state, landing, landings, before) for landing in landings)),
        builds_on=(
            *(landing.path for landing in before),
            *(landing.leaf.place.path for landing in _built_on(state, leaf, landings)),
        ),
        pieces=tuple(_pieces(state, tree)),
        has_gates=leaf is not None and leaf.place.step.gates is not None,
        judged=None if gates is None else gates.place.start,
        disputed=tuple(row for dispute in open_disputes(state) for row in dispute.rows),
    )


class _Landing(NamedTuple):
    """A `git` step that has passed."""

    leaf: Leaf
    kind: Literal["land", "branch"]
    branch: str
    commit: str
    tree: Tree


def _all_landings(state: State, *, since: Millis) -> tuple[_Landing, ...]:
    """The landings in the order in which they ended."""
    candidates = (landing for instance in state.instances.values() for landing in _landings_of(instance))
    return tuple(
        sorted(
            (landing for landing in candidates if _ended(landing.leaf) >= since),
            key=lambda landing: _ended(landing.leaf),
        )
    )


def _landings_of(instance: Instance) -> Iterator[_Landing]:
    """One for each branch; a step may land on several."""
    verb = instance.place.step.verb
    if not isinstance(instance, Leaf) or not isinstance(verb, Git):
        return
    ending, answer = instance.ending, instance.answer
    if ending is None or ending.outcome != "passed" or answer is None or answer.tree is None:
        return
    output = (answer.result or {}).get("output")
    if not isinstance(output, Mapping):
        return
    kind: Literal["land", "branch"] = "branch" if verb.land is None else "land"
    for entry in output.get("landed", (output,)):
        if entry.get("branch") and entry.get("commit"):
            yield _Landing(instance, kind, str(entry["branch"]), str(entry["commit"]), answer.tree)


def _landings(state: State) -> tuple[_Landing, ...]:
    """Those since the work was last moved onto a branch, which contains all before that."""
    return _all_landings(state, since=Millis(0) if state.rebased is None else state.rebased.entered)


def fork_of(started: RunStarted) -> Tree | None:
    """The tree from which all changes of the run count, for a landing: those of a series count from its first run."""
    series = started.run.series
    return started.tree if series is None else series.fork


def _earlier_runs(state: State) -> tuple[EarlierLanding, ...]:
    """The landings of the earlier runs of its series, all of which are in the tree that the run started from."""
    series = None if state.started is None else state.started.run.series
    if series is None or state.rebased is not None:
        return ()
    return tuple(
        EarlierLanding(one.path, one.kind, one.branch, one.commit, one.tree, one.builds_on)
        for one in series.landings
    )


def carried_landings(state: State) -> tuple[CarriedLanding, ...]:
    """What the next run of the series needs to know of this one's landings: for each branch what its head builds on."""
    assert state.started is not None
    run, landings, before = state.started.run.id, _landings(state), _earlier_runs(state)
    records = [*before]
    for landing in _built_on(state, None, landings):
        record = _record(state, landing, landings, before)
        own = {f"{path}": Address(f"{run}/{path}") for path in (one.leaf.place.path for one in landings)}
        builds_on = tuple(own.get(path, path) for path in record.builds_on)
        records.append(replace(record, path=own[record.path], builds_on=builds_on))
    carried: list[CarriedLanding] = []
    for key in dict.fromkeys((one.kind, one.branch) for one in records):
        same = [one for one in records if (one.kind, one.branch) == key]
        # If the last contains all before it, only the last counts; so the list does not grow with the series.
        if {one.path for one in same[:-1]} <= set(same[-1].builds_on):
            same = [replace(same[-1], builds_on=())]
        carried += (
            CarriedLanding(one.path, one.kind, one.branch, one.commit, one.tree, one.builds_on)
            for one in same
        )
    return tuple(carried)


def _record(
    state: State, landing: _Landing, landings: Sequence[_Landing], before: Sequence[EarlierLanding]
) -> EarlierLanding:
    return EarlierLanding(
        path=landing.leaf.place.path,
        kind=landing.kind,
        branch=landing.branch,
        commit=landing.commit,
        tree=landing.tree,
        builds_on=(
            *(one.path for one in before),
            *(earlier.leaf.place.path for earlier in _built_on(state, landing.leaf, landings)),
        ),
    )


def _pieces(state: State, tree: Tree | None) -> Iterator[LandedPiece]:
    """The steps of the top block that changed files, in order; none if the block is a graph."""
    root = state.instances[ROOT]
    if not isinstance(root, Scope) or root.place.order != "seq":
        return
    for child in fresh_children(state, root):
        ending = child.ending
        if ending is not None and ending.outcome == "passed" and ending.tree not in (None, tree):
            assert ending.tree is not None
            yield LandedPiece(ending.tree, child.place.step.description or child.place.step.name)


def _built_on(state: State, later: Instance | None, landings: Sequence[_Landing]) -> tuple[_Landing, ...]:
    path_children = {} if later is None else _children_towards(state, later)
    return tuple(
        landing
        for landing in landings
        if landing.leaf is not later and _is_in(state, landing.leaf, later, path_children)
    )


def _children_towards(state: State, instance: Instance) -> dict[Address, Instance]:
    """For each scope around an instance, the child that leads to it."""
    children: dict[Address, Instance] = {}
    while instance.place.path != ROOT:
        children[instance.place.parent] = instance
        instance = state.instances[instance.place.parent]
    return children


def _is_in(
    state: State, leaf: Leaf, later: Instance | None, path_children: Mapping[Address, Instance]
) -> bool:
    """Whether the later instance starts from a tree with the work that this leaf landed."""
    is_before = later is None or _ended(leaf) <= later.place.entered
    child: Instance = leaf
    while child.place.path != ROOT:
        scope = state.instances[child.place.parent]
        if not isinstance(scope, Scope):
            return False
        if scope.place.path in path_children:
            second = path_children[scope.place.path]
            if is_before and _is_seen(state, scope, child, second):
                return True
            is_graph = scope.place.order == "dag" and not _drops(scope) and _hands_over(child)
            return is_graph and holds_work_of(state, scope, second.place.index, child.place.index)
        if not _hands_over(child) or _drops(scope):
            return False
        child = scope
    return is_before


def _is_seen(state: State, scope: Scope, first: Instance, second: Instance) -> bool:
    """Whether the second child of a scope starts from the tree of the first."""
    if not _hands_over(first):
        # A later visit continues from the tree of the previous one, even if that failed.
        return first.place.index == second.place.index and second.place.start != second.place.base
    if _drops(scope):
        return False
    if second.place.role == "finally":
        return True
    match scope.place.order:
        case "seq" | "repeat":
            return True
        case "dag":
            return second.place.index in builders_on(state, scope, first.place.index)
        case "many":
            in_order = not isinstance(scope.place.step.verb, TOGETHER) and width(state, scope) == 1
            # A member that claims files which others have changed starts from the head instead of the fork.
            was_merged = first.ending is not None and first.ending.at <= second.place.entered
            return in_order or (was_merged and second.place.base != scope.start_tree)


def _hands_over(child: Instance) -> bool:
    ending = child.ending
    return ending is not None and (ending.outcome in CONTINUING_OUTCOMES or ending.tree is not None)


def _drops(scope: Scope) -> bool:
    """Whether the scope drops the trees of its members, or keeps only one."""
    return scope.place.order in ("many", "dag") and join_of(scope) in ("best", "discard")


def _ended(leaf: Leaf) -> Millis:
    assert leaf.ending is not None
    return leaf.ending.at
