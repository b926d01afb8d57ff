"""The only place where a run changes: bookkeeping of one event at a time.

Rule 1: `evolve` never chooses. What could have gone otherwise stands in the event.
Rule 2: it is strict. An event that the lifecycle table or a guard does not allow raises IllegalEvent.
Rule 3: it must be able to read old logs for ever; rules that may improve live in `decide`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, assert_never

from podium.core import addresses, ledger
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    CancelAsked,
    CancelOrdered,
    Event,
    FactsAsked,
    FactsFound,
    GuidanceGiven,
    JoinAsked,
    JoinEnded,
    JoinQueued,
    JumpAsked,
    JumpOrdered,
    LimitRaised,
    RetryScheduled,
    RunEnded,
    RunPaused,
    RunRecovered,
    RunResumed,
    RunStarted,
    SignalReceived,
    StepEnded,
    StepEntered,
    StepExpanded,
    StepReopened,
    TimerFired,
    WaitEnded,
    WaitStarted,
)
from podium.core.evolve import endings, joins, leaves, scopes
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.model import Call, Step, Workflow
from podium.core.payloads import CarriedSpend
from podium.core.persistent_map import PersistentMap
from podium.core.queries.graph import order_of_verb
from podium.core.state import Placement, Scope, State, draft, freeze
from podium.core.types import ABANDONED


def initial(workflow: Workflow) -> State:
    """A run of this workflow before its first event."""
    return State(root=Step(name="", verb=Call(workflow)))


def fold(workflow: Workflow, events: Iterable[Event]) -> State:
    """The state a log stands for."""
    state = draft(initial(workflow))
    for event in events:
        state = advance(state, event)
    return freeze(state)


def evolve(state: State, event: Event) -> State:
    """The state after this event."""
    return freeze(advance(draft(state), event))


def advance(state: State, event: Event) -> State:
    """`evolve` for the one owner of a draft: its maps change in place, what it returns takes its place."""
    if (state.started is None) != isinstance(event, RunStarted):
        raise IllegalEvent(f"{type(event).__name__} cannot be the first event, or comes twice")
    if state.ended is not None:
        raise IllegalEvent(f"{type(event).__name__} after the end of the run")
    changed = _apply(state, event)
    return changed._replace(at=event.at) if event.at > state.at else changed


def _apply(state: State, event: Event) -> State:
    match event:
        case StepEntered():
            return scopes.entered(state, event)
        case StepEnded():
            return endings.ended(state, event)
        case AttemptStarted():
            return leaves.started(state, event)
        case AttemptEnded():
            return leaves.answered(state, event)
        case StepExpanded():
            return scopes.expanded(state, event)
        case StepReopened():
            return scopes.reopened(state, event)
        case JumpOrdered() | JumpAsked():
            return scopes.jumping(state, event)
        case JoinQueued() | JoinAsked() | JoinEnded():
            return joins.joining(state, event)
        case AttemptDoubted():
            return leaves.doubted(state, event)
        case AttemptQueued() | RetryScheduled():
            return leaves.again(state, event)
        case WaitStarted() | ApprovalAsked():
            return leaves.waiting(state, event)
        case WaitEnded() | SignalReceived():
            return leaves.arrived(state, event)
        case ApprovalGiven():
            return leaves.approved(state, event)
        case TimerFired():
            return leaves.fired(state, event)
        case FactsAsked() | FactsFound():
            return leaves.facts(state, event)
        case CancelOrdered():
            return leaves.cancelling(state, event)
        case (
            RunStarted()
            | CancelAsked()
            | RunPaused()
            | RunResumed()
            | GuidanceGiven()
            | LimitRaised()
            | RunRecovered()
            | RunEnded()
        ):
            return _apply_to_run(state, event)
        case _:
            assert_never(event)


def _apply_to_run(
    state: State,
    event: RunStarted
    | CancelAsked
    | RunPaused
    | RunResumed
    | GuidanceGiven
    | LimitRaised
    | RunRecovered
    | RunEnded,
) -> State:
    match event:
        case RunStarted():
            return _started(state, event)
        case CancelAsked():
            return state._replace(cancelling=True, forced=state.forced or event.force)
        case RunPaused():
            return state._replace(paused=True)
        case RunResumed():
            return state._replace(paused=False)
        case GuidanceGiven():
            return state._replace(guidance=(*state.guidance, event.text))
        case LimitRaised():
            return _raised(state, event)
        case RunRecovered():
            ledger.forget_downtime(state, event.at)
            for path in event.lost:
                leaves.lost(state, path)
            return state
        case RunEnded():
            is_open = state.instances[addresses.ROOT].phase != "ended" or state.pending
            if is_open and event.reason != ABANDONED:
                raise IllegalEvent("the run cannot end while something is open")
            return state._replace(ended=event)
        case _:
            assert_never(event)


def _started(state: State, event: RunStarted) -> State:
    call = state.root.verb
    assert isinstance(call, Call)
    place = Placement(
        path=addresses.ROOT,
        parent=addresses.ROOT,
        step=state.root,
        role="step",
        slot=0,
        visit=1,
        frame=addresses.ROOT,
        ledger=addresses.ROOT,
        fanned=False,
        shield=False,
        base=event.tree,
        start=event.tree,
        entered=event.at,
        about="",
        target=-1,
        adopt=None,
        order=order_of_verb(call),
    )
    state.instances.put(addresses.ROOT, Scope(place, head=event.tree, base=event.tree))
    run = event.run
    past = CarriedSpend(addresses.ROOT, run.carried, run.carried_unknown, run.carried_time)
    state.ledgers.put(addresses.ROOT, ledger.opened(addresses.ROOT, None, call.workflow.limits, past))
    state.vars.put((addresses.ROOT, scopes.INPUTS), (event.inputs,))
    return state._replace(
        started=event, taken=PersistentMap(dict(run.taken)), known=PersistentMap(dict(run.known))
    )


def _raised(state: State, event: LimitRaised) -> State:
    found = state.ledgers[event.ledger]
    changes: dict[str, Any] = {event.unit: event.to}
    limits = replace(found.limits, **changes)
    state.ledgers.put(event.ledger, found._replace(limits=limits))
    return state
