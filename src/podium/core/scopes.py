"""Bookkeeping between a scope and the children it enters. Called by evolve only."""

from __future__ import annotations

from typing import Final

from podium.core import ledger, paths
from podium.core.effects import StartTimer
from podium.core.events import InstanceEvent, JumpAsked, JumpOrdered, StepEntered, StepExpanded, StepReopened
from podium.core.graph import (
    SCOPES,
    WORK,
    child_step,
    children_of,
    frame_of_child,
    is_accepted,
    order_of,
    order_of_verb,
)
from podium.core.leaves import join_queue
from podium.core.lifecycle import IllegalEvent, phases_after
from podium.core.model import Block, Call, ForEach, Step
from podium.core.policy import NO_LIMITS, Limits
from podium.core.state import Instance, Leaf, Ledger, Place, Scope, State, Unmet, Visit
from podium.core.words import MicroUsd, Millis, Path

INPUTS: Final = "#inputs"
"""The key of a frame's inputs among its variables; `#` cannot stand in a name."""

TRAIL_KEPT: Final = 64
FINALLY_TIME: Final = Millis(600_000)
FINALLY_TRANSITIONS: Final = 200


def entered(state: State, event: StepEntered) -> State:
    parent = state.instances.get(event.parent)
    if parent is None or parent.phase in ("ended", "ready") or event.path in state.instances:
        raise IllegalEvent(f"{event.path!r} cannot be entered now")
    if event.role == "step" and not isinstance(parent, Scope):
        raise IllegalEvent(f"{event.parent!r} has no steps of its own")
    step = child_step(state, parent, event.role, event.index, event.about)
    verb = parent.place.step.verb
    own = _own_ledger(state, parent, step, event)
    if own is not None and own.path not in state.ledgers:
        state = state._replace(ledgers=state.ledgers.set(own.path, own))
    if ledger.is_counted(event.role, parent.place, index=event.index, visit=event.visit):
        state = ledger.count_transition(state, parent.place.ledger)
    state = _note_in_parent(state, parent, step, event)
    place = Place(
        path=event.path,
        parent=event.parent,
        step=step,
        role=event.role,
        slot=event.index,
        visit=event.visit,
        frame=frame_of_child(parent, step, event.path),
        ledger=parent.place.ledger if own is None else own.path,
        fanned=parent.place.fanned or isinstance(verb, ForEach),
        shield=parent.place.shield or event.role == "finally",
        base=event.base,
        start=event.start,
        entered=event.at,
        about=event.about,
        target=event.target,
        adopt=event.adopt,
        order=order_of_verb(step.verb),
    )
    return _settle_in(state, place, event)


def _settle_in(state: State, place: Place, event: StepEntered) -> State:
    verb = place.step.verb
    if isinstance(verb, SCOPES):
        scope = Scope(place, head=event.start, base=event.base, feedback=event.feedback)
        return state._replace(instances=state.instances.set(event.path, scope))
    leaf = Leaf(place, feedback=event.feedback, base=event.base)
    if isinstance(verb, WORK) and not event.held and event.adopt is None:
        return join_queue(state, leaf)
    return state._replace(instances=state.instances.set(event.path, leaf))


def _own_ledger(state: State, parent: Instance, step: Step, event: StepEntered) -> Ledger | None:
    """The ledger this step brings with it, shared by all its visits."""
    if event.role == "finally":
        left = _money_left(state, parent.place.ledger)
        limits = Limits(usd=left, time=FINALLY_TIME, transitions=FINALLY_TRANSITIONS)
        return Ledger(event.path, None, limits)
    limits = step.limits
    if limits == NO_LIMITS and isinstance(step.verb, Call):
        limits = step.verb.workflow.limits
    if limits == NO_LIMITS:
        return None
    return Ledger(paths.without_visit(event.path), parent.place.ledger, limits)


def _money_left(state: State, path: Path) -> MicroUsd | None:
    """What clean-up may still spend: nothing once a hard limit was hit."""
    if state.limited:
        return MicroUsd(0)
    left = [
        MicroUsd(max(0, book.limits.usd - ledger.total(book).usd))
        for book in ledger.chain(state, path)
        if book.limits.usd is not None
    ]
    return min(left, default=None)


def _note_in_parent(state: State, parent: Instance, step: Step, event: StepEntered) -> State:
    if event.role != "step":
        excused = (*state.excused, event.about) if event.role == "advice" else state.excused
        instances = state.instances.set(event.parent, _with_aside(parent, event))
        return state._replace(instances=instances, excused=excused)
    assert isinstance(parent, Scope)
    back = bool(event.stale) and order_of(parent) == "seq"
    if event.stale:
        state, parent = _make_stale(state, parent, event.stale)
        state, parent = _unrelease(state, parent, event)
    scope = parent._replace(
        live=parent.live + 1,
        # A sequence that has gone back has not been further than this.
        next=event.index + 1 if back else max(parent.next, event.index + 1),
        jump=-1,
        told=None,
        carry=() if step.has_worker else tuple(dict.fromkeys((*parent.carry, *event.feedback))),
        ready=parent.ready[1:] if parent.ready and parent.ready[0] == event.index else parent.ready,
        trail=(*parent.trail[1 - TRAIL_KEPT :], event.index),
        head=event.base if back else parent.head,
    )
    return state._replace(
        instances=state.instances.set(event.parent, scope),
        latest=state.latest.set((event.parent, event.index), Visit(event.visit, event.path, False)),
    )


def _with_aside(parent: Instance, event: StepEntered) -> Instance:
    if isinstance(parent, Leaf):
        return parent._replace(aside=event.path)
    return parent._replace(
        aside=event.path,
        asked=parent.asked + (event.role in ("question", "advice")),
        closing=parent.closing or event.role == "finally",
    )


def _make_stale(state: State, scope: Scope, stale: tuple[int, ...]) -> tuple[State, Scope]:
    """From here on these results may not be read, and no longer count for the scope."""
    latest, path = state.latest, scope.place.path
    for index in stale:
        visit = latest.get((path, index))
        if visit is not None and visit.fresh:
            latest = latest.set((path, index), visit._replace(fresh=False))
            scope = tally(scope, state.instances[visit.path], -1)
    gone = set(stale)
    routes = tuple(p for p in scope.routes if state.instances[p].place.slot not in gone)
    return state._replace(latest=latest), scope._replace(routes=routes)


def _unrelease(state: State, scope: Scope, event: StepEntered) -> tuple[State, Scope]:
    """A graph went back: what depends on the entered child waits for it again."""
    if order_of(scope) != "dag":
        return state, scope
    path, stale, unmet = scope.place.path, set(event.stale), state.unmet
    for index in event.stale:
        waits = Unmet(0, False) if index == event.index else _waits_for(state, scope, index, stale)
        unmet = unmet.set((path, index), waits)
    ready = tuple(index for index in scope.ready if index not in stale)
    return state._replace(unmet=unmet), scope._replace(ready=ready)


def _waits_for(state: State, scope: Scope, index: int, stale: set[int]) -> Unmet:
    """What a child of a graph still needs: what has become stale, and what was not over yet."""
    left, bad = 0, False
    for need in children_of(scope.place.step.verb)[index].needs:  # type: ignore[arg-type]  # Block or Call
        visit = state.latest.get((scope.place.path, need))
        if need in stale or visit is None or not visit.fresh:
            left += 1
            continue
        done = state.instances[visit.path]
        bad = bad or done.ending is None or not is_accepted(done.place.step, done.ending)
    return Unmet(left, bad)


def tally(scope: Scope, child: Instance, by: int) -> Scope:
    """Count an ended child for or against its scope, or (by = -1) take that back."""
    ending = child.ending
    assert ending is not None
    if not is_accepted(child.place.step, ending):
        return scope._replace(bad=scope.bad + by)
    if ending.outcome == "skipped":
        return scope._replace(skipped=scope.skipped + by)
    return scope._replace(ok=scope.ok + by)


def expanded(state: State, event: StepExpanded) -> State:
    scope = _scope(state, event)
    if event.due is not None:
        timer = StartTimer(event.path, event.due)
        state = state._replace(pending=state.pending.set(("timer", event.path), timer))
    if isinstance(scope.place.step.verb, Call) and event.path != paths.ROOT:
        state = state._replace(vars=state.vars.set((event.path, INPUTS), (event.items[0],)))
    scope = scope._replace(
        phase="open",
        total=event.total,
        items=event.items,
        keys=event.keys,
        dependents=_reverse(event.needs),
        fork=scope.head,
        merge=None,
    )
    return _release(state, scope)


def _reverse(needs: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    dependents: list[list[int]] = [[] for _ in needs]
    for index, wanted in enumerate(needs):
        for need in wanted:
            dependents[need].append(index)
    return tuple(map(tuple, dependents))


def _release(state: State, scope: Scope) -> State:
    """Open a scope; in a graph count what each child waits for, and what waits for nothing is ready."""
    path = scope.place.path
    if order_of(scope) == "dag":
        needs = needs_of(scope)
        unmet = state.unmet
        for index, wanted in enumerate(needs):
            unmet = unmet.set((path, index), Unmet(len(wanted), False))
        scope = scope._replace(ready=tuple(i for i, wanted in enumerate(needs) if not wanted))
        state = state._replace(unmet=unmet)
    return state._replace(instances=state.instances.set(path, scope))


def needs_of(scope: Scope) -> tuple[tuple[int, ...], ...]:
    """Per child of a graph, what it needs. O(width)."""
    verb = scope.place.step.verb
    if isinstance(verb, Block | Call):
        return tuple(step.needs for step in children_of(verb))
    return _reverse(scope.dependents)


def reopened(state: State, event: StepReopened) -> State:
    """Another attempt of a scope: all its children are stale, its head stays where the last attempt left it."""
    scope = _scope(state, event)
    if scope.live or event.attempt != scope.tries + 2:
        raise IllegalEvent(f"{event.path!r} cannot be tried again now")
    state, kept = _make_stale(state, scope, tuple(range(scope.next)))
    fresh = Scope(
        kept.place,
        phase="open",
        cancelling=kept.cancelling,
        tries=kept.tries + 1,
        total=kept.total,
        feedback=(*kept.feedback, *event.feedback),
        head=kept.head,
        fork=kept.head,
        base=kept.base,
        items=kept.items,
        keys=kept.keys,
        dependents=kept.dependents,
        asked=kept.asked,
        joins=kept.joins,
        joined=kept.joined,
        expired=kept.expired,
        usd=kept.usd,
    )
    return _release(state, fresh)


def jumping(state: State, event: JumpOrdered | JumpAsked) -> State:
    scope = _scope(state, event)
    if isinstance(event, JumpOrdered):
        if scope.jump == event.target:
            raise IllegalEvent(f"{event.path!r} is on its way back already")
        routes = tuple(path for path in scope.routes if path not in event.feedback)
        carry = (*scope.carry, *event.feedback)
        jumped = scope._replace(jump=event.target, carry=carry, routes=routes, told=None)
    else:
        jumped = scope._replace(jump=event.target)
    return state._replace(instances=state.instances.set(event.path, jumped))


def _scope(state: State, event: InstanceEvent) -> Scope:
    instance = state.instances.get(event.path)
    if not isinstance(instance, Scope):
        raise IllegalEvent(f"there is no scope {event.path!r}")
    phases_after(instance, event)
    return instance
