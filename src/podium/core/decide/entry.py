"""Enters a child: its visit, trees and feedback, and whether limits or the breaker object.

Also says how a scope's own work ended, before gates, retries, approvals and `finally` apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from podium.core import addresses, ledger
from podium.core.decide import breaker
from podium.core.events import StepEnded, StepEntered
from podium.core.model import Block, Call, ForEach, Git, Step
from podium.core.policy import Count
from podium.core.queries.branch_trees import base_in_graph, tree_of
from podium.core.queries.evaluate import count_of
from podium.core.queries.graph import BLOCKS, HALTED, LOOPS, TO_A_PERSON, TOGETHER, child_step, descendants_of
from podium.core.state import Instance, Leaf, Ledger, Scope, State, number_of
from podium.core.types import ONTO, Millis, Outcome, Path, Reason, Tree, Unit


class ScopeEnd(NamedTuple):
    outcome: Outcome
    reason: Reason = ""
    exit: int = 0
    message: str = ""
    leaves: bool = False
    hard: Path | None = None
    result: Mapping[str, Any] | None = None
    score: float | None = None
    feedback: tuple[Path, ...] = ()
    final: bool = False
    """Somebody decided to stop here: no further attempt of the scope."""


FEEDBACK_KEPT: Final = 32
"""How many of the newest a step is handed; what came before stands with the visits before."""


class PendingEntry(NamedTuple):
    """An entry on its way: which child, for the how manieth time, and what it makes stale."""

    slot: int
    visit: int
    previous: Instance | None
    stale: tuple[int, ...]


def enter_child(
    state: State, scope: Scope, index: int, now: Millis, *, excused: bool = False, adopt: Path | None = None
) -> StepEntered | ScopeEnd:
    """Enter the child at `index`, unless a limit refuses it or a rule of the breaker wants to be asked first.

    `adopt` is the visit whose result is taken instead of working again.
    """
    step = child_step(state, scope, "step", index, "")
    before = state.latest.get((scope.place.path, index))
    visit = 1 if before is None else before.number + 1
    if ledger.is_counted("step", scope.place, index=index, visit=visit):
        refusal = _refused(state, scope)
        if refusal is not None:
            return refusal
    previous = None if before is None else state.instances[before.path]
    way = PendingEntry(index, visit, previous, _stale(scope, index))
    if adopt is None and not excused and isinstance(scope.place.step.verb, BLOCKS):
        objection = breaker.objection(state, scope, step, index, visit)
        if objection is not None:
            return _objected(state, scope, step, way, objection, now)
    return _furnished(state, scope, step, way, now, adopt=adopt)


def _path(scope: Scope, step: Step, index: int, visit: int) -> Path:
    if isinstance(scope.place.step.verb, LOOPS):
        return addresses.iteration(scope.place.path, index + 1, visit)
    return addresses.child(scope.place.path, step.name, visit)


def _stale(scope: Scope, index: int) -> tuple[int, ...]:
    """What a step back makes stale: in a sequence all from there on, in a graph all that needs it."""
    match scope.place.order:
        case "seq":
            return tuple(range(index, scope.next))
        case "dag" if scope.jump == index:
            return descendants_of(scope, index)
        case _:
            return ()


def _refused(state: State, parent: Instance) -> ScopeEnd | None:
    empty = ledger.exhausted_transitions(state, parent.place.ledger)
    if empty is None:
        return None
    return ScopeEnd("failed", "limit", 5, hard=empty.path, message="the limit of transitions is reached")


def stopped(state: State, hard: Path, message: str = "") -> ScopeEnd:
    """The end of a scope in which something was met that no route leads around: a limit, or the word to halt."""
    if state.halt is not None and hard == addresses.ROOT:
        return ScopeEnd("failed", HALTED, state.halt.exit, state.halt.message, hard=hard)
    return ScopeEnd("failed", "limit", 5, message, hard=hard)


def limited(instance: Instance, book: Ledger, now: Millis, unit: Unit) -> StepEnded:
    """The end of an instance that a hard limit refuses; it is hard up to the scope that owns the limit."""
    path = instance.place.path
    hard = None if addresses.without_visit(path) == book.path else book.path
    owner = f'"{book.path}"' if book.path else "the run"
    message = f"the limit of {unit} of {owner} is reached"
    return StepEnded(now, path, "failed", "limit", exit=5, hard=hard, message=message)


def _objected(
    state: State, scope: Scope, step: Step, way: PendingEntry, rule: str, now: Millis
) -> StepEntered | ScopeEnd:
    if rule == "visits" and step.retry.stated and step.retry.on_exhausted != "human":
        best = breaker.best_visit(state, scope, way.slot)
        if step.retry.on_exhausted == "accept_best" and best is not None:
            return _furnished(state, scope, step, way, now, adopt=best)
        message = f'"{step.name}" has been entered {way.visit - 1} times'
        return ScopeEnd("failed", "exhausted", 1, message, final=True)
    return advice(state, scope, rule, way.slot, now)


def advice(state: State, instance: Instance, rule: str, target: int, now: Millis) -> StepEntered | ScopeEnd:
    """Ask the advisor, or a person, what to do about a rule of the breaker."""
    # At a leaf both may be asked about the same attempt, so the person's question has a name of its own.
    name = "person" if rule.startswith(TO_A_PERSON) else "advice"
    entry = StepEntered(
        at=now,
        path=_question_path(instance, name),
        parent=instance.place.path,
        role="advice",
        index=0,
        visit=1,
        base=instance.base,
        start=instance.base,
        about=rule,
        target=target,
    )
    return _refused(state, instance) or entry


def question(state: State, instance: Instance, about: str, now: Millis) -> StepEntered | ScopeEnd:
    """One of the engine's own questions about this instance; each allows one more round, so it counts as a transition."""
    entry = StepEntered(
        at=now,
        path=_question_path(instance, about),
        parent=instance.place.path,
        role="question",
        index=0,
        visit=1,
        base=result_tree(state, instance),
        start=result_tree(state, instance),
        about=about,
    )
    return _refused(state, instance) or entry


def _question_path(instance: Instance, name: str) -> Path:
    number = instance.asked + 1 if isinstance(instance, Scope) else instance.attempt
    return addresses.question(instance.place.path, name, number)


def gates(state: State, instance: Instance, now: Millis) -> StepEntered:
    """The gates of the current attempt, on exactly what it captured."""
    tree = result_tree(state, instance)
    path = addresses.attempt(instance.place.path, number_of(instance))
    base = instance.base
    if isinstance(instance, Leaf) and isinstance(instance.place.step.verb, Git):
        # A landing starts from what it lands; what its gates look at is the difference to the branch.
        base = ((instance.answer and instance.answer.result) or {}).get(ONTO, base)
    return StepEntered(now, path, instance.place.path, "gates", 0, 1, base=base, start=tree)


def closing(state: State, scope: Scope, now: Millis) -> StepEntered:
    path, tree = addresses.child(scope.place.path, addresses.FINALLY), tree_of(state, scope)
    return StepEntered(now, path, scope.place.path, "finally", 0, 1, base=tree, start=tree)


def result_tree(state: State, instance: Instance) -> Tree | None:
    """The tree an instance has come to."""
    if isinstance(instance, Scope):
        return tree_of(state, instance)
    captured = None if instance.answer is None else instance.answer.tree
    return captured or start_of(instance)


def start_of(leaf: Leaf) -> Tree | None:
    """Where a leaf begins: as it was entered, unless the work of its needs has been joined since."""
    return leaf.place.start if leaf.base == leaf.place.base else leaf.base


def _furnished(
    state: State, scope: Scope, step: Step, way: PendingEntry, now: Millis, *, adopt: Path | None
) -> StepEntered:
    """The entry with its trees and feedback."""
    base, start = _trees(state, scope, way)
    feedback = scope.feedback + scope.carry
    if way.previous is not None:
        feedback = way.previous.feedback + feedback
    return StepEntered(
        at=now,
        path=_path(scope, step, way.slot, way.visit),
        parent=scope.place.path,
        role="step",
        index=way.slot,
        visit=way.visit,
        base=base,
        start=start,
        feedback=tuple(dict.fromkeys(feedback))[-FEEDBACK_KEPT:] if feedback else (),
        stale=way.stale,
        held=_is_held(state, scope, step, way.slot),
        adopt=adopt,
    )


def _trees(state: State, scope: Scope, way: PendingEntry) -> tuple[Tree | None, Tree | None]:
    """What a child builds on, and where it starts.

    A later visit goes on from the step's own last tree, unless what it stands on has changed meanwhile.
    """
    base = _base(state, scope, way)
    if way.previous is None or way.previous.base != base:
        return base, base
    return base, result_tree(state, way.previous)


def _base(state: State, scope: Scope, way: PendingEntry) -> Tree | None:
    verb = scope.place.step.verb
    match scope.place.order:
        case "seq" if way.stale:
            return _head_before(state, scope, way.stale)
        case "seq" | "repeat":
            return scope.head
        case "dag":
            return base_in_graph(state, scope, way.slot)[0]
        case _:
            if isinstance(verb, TOGETHER):
                return scope.fork
            return scope.head if width(state, scope) == 1 else scope.fork


def _head_before(state: State, scope: Scope, stale: tuple[int, ...]) -> Tree | None:
    """The head of a sequence as it was before all that a step back makes stale; the target may have been jumped over."""
    visits = (state.latest.get((scope.place.path, index)) for index in stale)
    first = next(visit for visit in visits if visit is not None and visit.fresh)
    return state.instances[first.path].place.base


def _is_held(state: State, scope: Scope, step: Step, index: int) -> bool:
    """Whether something has to be found out before the child may take a slot."""
    if step.when is not None:
        return True
    if scope.place.order != "dag":
        return False
    unmet = state.unmet.get((scope.place.path, index))
    return bool(unmet and unmet.bad) or bool(base_in_graph(state, scope, index)[1])


def width(state: State, scope: Scope) -> int:
    """How many children of a scope may live at once."""
    verb = scope.place.step.verb
    parallel: Count
    match verb:
        case ForEach():
            parallel = verb.parallel
        case Block():
            parallel = verb.parallel if verb.kind == "par" else len(verb.steps)
        case Call():
            body = verb.workflow.body
            parallel = body.parallel if body.kind == "par" else len(body.steps)
        case _:
            return max(1, scope.total)
    return count_of(state, scope, parallel)
