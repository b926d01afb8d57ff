"""Bookkeeping between a scope and the children it enters. Called by evolve only."""

from __future__ import annotations

from typing import Final, Literal

from podium.core import addresses, ledger
from podium.core.effects import StartTimer
from podium.core.events import InstanceEvent, JumpAsked, JumpOrdered, StepEntered, StepExpanded, StepReopened
from podium.core.evolve.leaves import take_ticket
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.model import Call, ForEach, Repeat, Step
from podium.core.payloads import RefusedMember
from podium.core.policy import NO_LIMITS, Limits
from podium.core.queries.graph import (
    BLOCKS,
    PRICE,
    SCOPES,
    WORK,
    child_step,
    children_of,
    frame_of_child,
    is_accepted,
    order_of_verb,
    workflow_of,
)
from podium.core.state import Instance, Leaf, Ledger, OpenNeeds, Placement, Scope, State, Visit
from podium.core.types import MicroUsd, Millis, Path

INPUTS: Final = "#inputs"
"""The key of a frame's inputs among its variables; `#` cannot stand in a name."""

TRAIL_KEPT: Final = 64
TRAIL_MOST: Final = 1024
"""A bound for what each entry copies, so that a long sequence costs no more than its length."""
FINALLY_TIME: Final = Millis(600_000)
FINALLY_TRANSITIONS: Final = 200


def entered(state: State, event: StepEntered) -> State:
    parent = state.instances.get(event.parent)
    # What a call costs is asked before it is made; all else is about something that has begun.
    too_early = parent is not None and parent.phase == "ready" and not event.about.startswith(PRICE)
    if parent is None or too_early or parent.phase == "ended" or event.path in state.instances:
        raise IllegalEvent(f"{event.path!r} cannot be entered now")
    if event.role == "step" and not isinstance(parent, Scope):
        raise IllegalEvent(f"{event.parent!r} has no steps of its own")
    above, step = parent.place, child_step(state, parent, event.role, event.index, event.about)
    own = _own_ledger(state, parent, step, event)
    if own is not None and own.path not in state.ledgers:
        state.ledgers.put(own.path, own)
    if ledger.is_counted(event.role, above, index=event.index, visit=event.visit):
        ledger.count_transition(state, above.ledger)
    state = _note_in_parent(state, parent, step, event)
    place = Placement(
        path=event.path,
        parent=event.parent,
        step=step,
        role=event.role,
        slot=event.index,
        visit=event.visit,
        frame=frame_of_child(parent, step, event.path),
        ledger=above.ledger if own is None else own.path,
        fanned=above.fanned or isinstance(above.step.verb, ForEach),
        shield=above.shield or event.role == "finally",
        base=event.base,
        start=event.start,
        entered=event.at,
        about=event.about,
        target=event.target,
        adopt=event.adopt,
        order=order_of_verb(step.verb),
    )
    return _settle_in(state, place, event)


def _settle_in(state: State, place: Placement, event: StepEntered) -> State:
    verb = place.step.verb
    if isinstance(verb, SCOPES):
        scope = Scope(place, head=event.start, base=event.base, feedback=event.feedback)
        state.instances.put(event.path, scope)
        return state
    queued = isinstance(verb, WORK) and not event.held and event.adopt is None
    ticket = state.tail if queued else -1
    state.instances.put(event.path, Leaf(place, ticket=ticket, feedback=event.feedback, base=event.base))
    return take_ticket(state, event.path) if queued else state


def _own_ledger(state: State, parent: Instance, step: Step, event: StepEntered) -> Ledger | None:
    """The ledger this step brings with it, shared by all its visits."""
    if event.role == "finally":
        around = parent.place.ledger
        return Ledger(event.path, around, _limits_of_finally(state, around), cleans=True)
    limits = step.limits
    if isinstance(step.verb, Call) and limits == NO_LIMITS:
        limits = step.verb.workflow.limits
    if limits is NO_LIMITS or limits == NO_LIMITS:
        return None
    path = addresses.without_visit(event.path)
    assert state.started is not None
    past = next((one for one in state.started.run.carried_steps if one.path == path), None)
    return ledger.opened(path, parent.place.ledger, limits, past)


def _limits_of_finally(state: State, path: Path) -> Limits:
    """Time and transitions of its own; of the rest, what the run has left: nothing once a hard limit was hit."""
    books = ledger.chain(state, path)

    def left(unit: Literal["usd", "tokens", "calls"]) -> int | None:
        most = [(getattr(book.limits, unit), getattr(ledger.total(book), unit)) for book in books]
        rest = [max(0, limit - used) for limit, used in most if limit is not None]
        return 0 if state.limited else min(rest, default=None)

    usd, members = left("usd"), [book.limits.members for book in books if book.limits.members is not None]
    return Limits(
        usd=None if usd is None else MicroUsd(usd),
        tokens=left("tokens"),
        calls=left("calls"),
        time=FINALLY_TIME,
        transitions=FINALLY_TRANSITIONS,
        members=min(members, default=None),
    )


def _note_in_parent(state: State, parent: Instance, step: Step, event: StepEntered) -> State:
    if event.role != "step":
        state.instances.put(event.parent, _with_aside(parent, event))
        return state._replace(excused=(*state.excused, event.about)) if event.role == "advice" else state
    assert isinstance(parent, Scope)
    back = bool(event.stale) and parent.place.order == "seq"
    if event.stale:
        parent = _unrelease(state, _make_stale(state, parent, event.stale), event)
    scope = parent._replace(
        live=parent.live + 1,
        # A sequence that has gone back has not been further than this.
        next=event.index + 1 if back else max(parent.next, event.index + 1),
        jump=-1,
        told=None,
        carry=() if step.has_worker else _once((*parent.carry, *event.feedback)),
        ready=parent.ready[1:] if parent.ready and parent.ready[0] == event.index else parent.ready,
        trail=(*_trail(state, parent), event.index),
        head=event.base if back else parent.head,
        # Another round asks again: work in the project itself changes files and no tree.
        facts=() if isinstance(parent.place.step.verb, Repeat) else parent.facts,
    )
    state.instances.put(event.parent, scope)
    state.latest.put((event.parent, event.index), Visit(event.visit, event.path, False))
    return state


def _trail(state: State, scope: Scope) -> tuple[int, ...]:
    """So long that a cycle through the whole block, also one that goes through parts of it twice, can be noticed."""
    if len(scope.trail) < TRAIL_KEPT:
        return scope.trail
    kept = TRAIL_KEPT
    if isinstance(scope.place.step.verb, BLOCKS):
        rounds = workflow_of(state, scope.place).breaker.cycle or 0
        kept = min(TRAIL_MOST, max(TRAIL_KEPT, 2 * rounds * scope.total))
    return scope.trail[1 - kept :]


def _once(feedback: tuple[Path, ...]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(feedback)) if len(feedback) > 1 else feedback


def _with_aside(parent: Instance, event: StepEntered) -> Instance:
    if isinstance(parent, Leaf):
        return parent._replace(aside=event.path)
    return parent._replace(
        aside=event.path,
        asked=parent.asked + (event.role in ("question", "advice")),
        closing=parent.closing or event.role == "finally",
    )


def _make_stale(state: State, scope: Scope, stale: tuple[int, ...]) -> Scope:
    """From here on these results may not be read, and no longer count for the scope."""
    path = scope.place.path
    for index in stale:
        visit = state.latest.get((path, index))
        if visit is not None and visit.fresh:
            state.latest.put((path, index), visit._replace(fresh=False))
            scope = _untally(scope, state.instances[visit.path])
    gone = set(stale)
    routes = tuple(p for p in scope.routes if state.instances[p].place.slot not in gone)
    return scope._replace(routes=routes)


def _unrelease(state: State, scope: Scope, event: StepEntered) -> Scope:
    """A graph went back: what depends on the entered child waits for it again."""
    if scope.place.order != "dag":
        return scope
    path, stale = scope.place.path, set(event.stale)
    for index in event.stale:
        waits = _waits_for(state, scope, index, stale)
        # What the entered child needs is over; whether that went well counts for this visit as well.
        state.unmet.put((path, index), waits._replace(left=0) if index == event.index else waits)
    return scope._replace(ready=tuple(index for index in scope.ready if index not in stale))


def _waits_for(state: State, scope: Scope, index: int, stale: set[int]) -> OpenNeeds:
    """What a child of a graph still needs: what has become stale, and what was not over yet."""
    left, bad = 0, False
    for need in children_of(scope.place.step.verb)[index].needs:  # type: ignore[arg-type]  # Block or Call
        visit = state.latest.get((scope.place.path, need))
        if need in stale or visit is None or not visit.fresh:
            left += 1
            continue
        done = state.instances[visit.path]
        bad = bad or done.ending is None or not is_accepted(done.place.step, done.ending)
    return OpenNeeds(left, bad)


def _untally(scope: Scope, child: Instance) -> Scope:
    """Take back that an ended child was counted for or against its scope."""
    match side_of(child):
        case "bad":
            return scope._replace(bad=scope.bad - 1)
        case "skipped":
            return scope._replace(skipped=scope.skipped - 1)
        case _:
            return scope._replace(ok=scope.ok - 1)


def side_of(child: Instance) -> Literal["ok", "skipped", "bad"]:
    """What an ended child is counted as by its scope."""
    ending = child.ending
    assert ending is not None
    if not is_accepted(child.place.step, ending):
        return "bad"
    return "skipped" if ending.outcome == "skipped" else "ok"


def expanded(state: State, event: StepExpanded) -> State:
    scope = _scope(state, event)
    if event.due is not None:
        state.pending.put(("timer", event.path), StartTimer(event.path, event.due))
    if isinstance(scope.place.step.verb, Call) and event.path != addresses.ROOT:
        state.vars.put((event.path, INPUTS), (event.items[0],))
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
    if scope.place.order == "dag":
        needs = needs_of(scope)
        for index, wanted in enumerate(needs):
            state.unmet.put((path, index), OpenNeeds(len(wanted), False))
        scope = scope._replace(ready=tuple(i for i, wanted in enumerate(needs) if not wanted))
    state.instances.put(path, scope)
    return state


def needs_of(scope: Scope) -> tuple[tuple[int, ...], ...]:
    """Per child of a graph, what it needs. O(width)."""
    verb = scope.place.step.verb
    if isinstance(verb, BLOCKS):
        return tuple(step.needs for step in children_of(verb))
    return _reverse(scope.dependents)


def reopened(state: State, event: StepReopened) -> State:
    """Another attempt of a scope: all its children are stale, its head stays where the last attempt left it.

    Unless its work clashed: what it clashed with is on the head by now, and only from there can it agree with that.
    """
    scope = _scope(state, event)
    if scope.live or event.attempt != scope.tries + 2:
        raise IllegalEvent(f"{event.path!r} cannot be tried again now")
    kept = _make_stale(state, scope, tuple(range(scope.next)))
    if isinstance(kept.merge, RefusedMember):
        above = state.instances[kept.place.parent]
        assert isinstance(above, Scope)
        kept = kept._replace(base=above.head, head=above.head)
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
        clash=kept.clash,
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
    state.instances.put(event.path, jumped)
    return state


def _scope(state: State, event: InstanceEvent) -> Scope:
    instance = state.instances.get(event.path)
    if not isinstance(instance, Scope):
        raise IllegalEvent(f"there is no scope {event.path!r}")
    phases_after(instance, event)
    return instance
