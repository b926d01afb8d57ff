"""The only place where the state of a run changes: applies one event at a time.

Rule 1: `evolve` never decides. Whatever could have been decided otherwise is a field of the event.
Rule 2: it is strict. An event that the lifecycle table or a guard does not allow raises IllegalEvent.
Rule 3: it must always be able to read old logs; rules that may change belong in `decide`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, assert_never

from podium.core import addresses, events, ledger
from podium.core.events import Event, RunEvent
from podium.core.evolve import endings, joins, leaves, scopes, timers
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.model import Call, Step, Workflow
from podium.core.payloads import CarriedSpend, LeftNote
from podium.core.persistent_map import PersistentMap
from podium.core.queries.computed import entered_call
from podium.core.queries.graph import order_of_verb
from podium.core.state import Placement, Scope, State, draft, freeze
from podium.core.types import ABANDONED


def initial(workflow: Workflow) -> State:
    """The state of a run of this workflow before its first event."""
    return State(root=Step(name="", verb=Call(workflow)))


def fold(workflow: Workflow, log: Iterable[Event]) -> State:
    """The state after all events of a log."""
    state = draft(initial(workflow))
    for event in log:
        state = advance(state, event)
    return freeze(state)


def evolve(state: State, event: Event) -> State:
    """The state after this event."""
    return freeze(advance(draft(state), event))


def advance(state: State, event: Event) -> State:
    """`evolve` for the owner of a draft: changes its maps in place and returns the state to use from now on."""
    if (state.started is None) != isinstance(event, events.RunStarted):
        raise IllegalEvent(f"RunStarted must be the first event and occur once; got {type(event).__name__}")
    if state.ended is not None:
        raise IllegalEvent(f"{type(event).__name__} after the end of the run")
    changed = _apply(state, event)
    return changed._replace(at=event.at) if event.at > state.at else changed


def _apply(state: State, event: Event) -> State:
    match event:
        case events.StepEntered():
            return scopes.enter(state, event)
        case events.StepEnded():
            return endings.end(state, event)
        case events.AttemptStarted():
            return leaves.start_attempt(state, event)
        case events.AttemptEnded():
            return leaves.end_attempt(state, event)
        case events.AttemptTaken():
            phases_after(state.instances[event.path], event)
            return state  # Who does the work changes nothing about what follows.
        case events.AttemptGuided():
            return leaves.guide_attempt(state, event)
        case events.ToolAsked():
            return leaves.ask_about_tool(state, event)
        case events.StepExpanded():
            return scopes.expand(state, event)
        case events.StepReopened():
            return scopes.reopen(state, event)
        case events.JumpOrdered() | events.JumpAsked():
            return scopes.jump(state, event)
        case events.JoinQueued() | events.JoinAsked() | events.JoinEnded():
            return joins.apply_join(state, event)
        case events.AttemptDoubted():
            return leaves.doubt_attempt(state, event)
        case events.AttemptLost():
            return leaves.lose_attempt(state, event)
        case events.AttemptQueued() | events.RetryScheduled():
            return leaves.queue_attempt(state, event)
        case events.WaitStarted() | events.ApprovalAsked():
            return leaves.start_waiting(state, event)
        case events.WaitEnded() | events.SignalReceived():
            return leaves.end_wait(state, event)
        case events.ApprovalGiven():
            return leaves.record_approval(state, event)
        case events.TimerFired():
            return timers.fire_timer(state, event)
        case events.FactsAsked() | events.FactsFound():
            return leaves.record_facts(state, event)
        case events.CancelOrdered():
            return leaves.cancel(state, event)
        case (
            events.RunStarted()
            | events.CancelAsked()
            | events.RunPaused()
            | events.RunResumed()
            | events.GuidanceGiven()
            | events.NoteLeft()
            | events.LimitRaised()
            | events.RunRecovered()
            | events.RunEnded()
        ):
            return _apply_to_run(state, event)
        case _:
            assert_never(event)


def _apply_to_run(state: State, event: RunEvent) -> State:
    match event:
        case events.RunStarted():
            return _start_run(state, event)
        case events.CancelAsked():
            return state._replace(cancelling=True, forced=state.forced or event.force)
        case events.RunPaused():
            return state._replace(paused=True)
        case events.RunResumed():
            return state._replace(paused=False)
        case events.GuidanceGiven():
            return state._replace(guidance=(*state.guidance, event.text))
        case events.NoteLeft():
            return state._replace(notes=(*state.notes, LeftNote(event.text, event.to, event.by)))
        case events.LimitRaised():
            return _raise_limit(state, event)
        case events.RunRecovered():
            ledger.exclude_downtime(state, event.at)
            for path in event.lost:
                leaves.book_lost_attempt(state, path)
            return state
        case events.RunEnded():
            is_open = state.instances[addresses.ROOT].phase != "ended" or state.pending
            if is_open and event.reason != ABANDONED:
                raise IllegalEvent("the run cannot end while a step or an effect is open")
            return state._replace(ended=event)
        case _:
            assert_never(event)


def _start_run(state: State, event: events.RunStarted) -> State:
    assert isinstance(state.root.verb, Call)
    call = entered_call(state.root.verb, event.inputs)
    root = state.root if call is state.root.verb else state.root._replace(verb=call)
    place = Placement(
        path=addresses.ROOT,
        parent=addresses.ROOT,
        step=root,
        role="step",
        index=0,
        visit=1,
        frame=addresses.ROOT,
        ledger=addresses.ROOT,
        in_for_each=False,
        in_finally=False,
        base=event.tree,
        start=event.tree,
        entered=event.at,
        topic="",
        target=-1,
        adopt=None,
        order=order_of_verb(call),
    )
    state.instances.put(addresses.ROOT, Scope(place, head=event.tree, base=event.tree))
    run = event.run
    carried = CarriedSpend(addresses.ROOT, run.carried, run.carried_unknown, run.carried_time)
    state.ledgers.put(addresses.ROOT, ledger.new_ledger(addresses.ROOT, None, call.workflow.limits, carried))
    state.vars.put((addresses.ROOT, addresses.INPUTS), (event.inputs,))
    return state._replace(
        root=root,
        started=event,
        reused_attempts=PersistentMap(dict(run.reused)),
        reusable_attempts=PersistentMap(dict(run.reusable)),
        guidance=run.open_guidance,
    )


def _raise_limit(state: State, event: events.LimitRaised) -> State:
    ledger_before = state.ledgers[event.ledger]
    changes: dict[str, Any] = {event.unit: event.to}
    limits = replace(ledger_before.limits, **changes)
    state.ledgers.put(event.ledger, ledger_before._replace(limits=limits))
    return state
