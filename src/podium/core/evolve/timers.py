"""What a timer changes: a pause ends, time is up, a reminder is due, or a question is escalated. Called by evolve only."""

from __future__ import annotations

from dataclasses import replace

from podium.core.effects import AskPerson, StartTimer
from podium.core.events import TimerFired
from podium.core.evolve.leaves import instance_of, join_queue
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.model import Human
from podium.core.state import Leaf, Scope, State
from podium.core.types import Millis


def fire_timer(state: State, event: TimerFired) -> State:
    instance, phases = instance_of(state, event)
    if isinstance(instance, Scope):
        return _fire_scope_timer(state, instance, event)
    if instance.phase == "paused":
        _check_due(state, event)
        state.pending.discard(("timer", event.path))
        return join_queue(state, instance._replace(phase=phases[0], due=None))
    return _fire_leaf_timer(state, instance, event)


def _fire_scope_timer(state: State, scope: Scope, event: TimerFired) -> State:
    """End the pause before another attempt, or the time of the scope; both if they are due at the same moment."""
    path = event.path
    pause, deadline = state.pending.get(("retry", path)), state.pending.get(("timer", path))
    ends_pause = isinstance(pause, StartTimer) and pause.due == event.due
    if ends_pause:
        state.pending.discard(("retry", path))
    if not ends_pause or (isinstance(deadline, StartTimer) and deadline.due == event.due):
        _check_due(state, event)
        state.instances.put(path, scope._replace(expired=True))
        state.pending.discard(("timer", path))
    return state


def _check_due(state: State, event: TimerFired) -> None:
    timer = state.pending.get(("timer", event.path))
    if not isinstance(timer, StartTimer) or timer.due != event.due:
        raise IllegalEvent(f"no timer of {event.path!r} is due at {event.due}")


def _fire_leaf_timer(state: State, leaf: Leaf, event: TimerFired) -> State:
    """Apply a timer to a waiting leaf: its time is up, a reminder is due, or the question is escalated."""
    path, request = event.path, leaf.approval_request
    if leaf.due == event.due or (request is not None and request.expires == event.due):
        state.instances.put(path, leaf._replace(phase="answered", expired=True))
        state.pending.discard(("wait", path))
        state.pending.discard(("person", path))
        return state
    verb = leaf.place.step.verb
    if request is None or not isinstance(verb, Human) or event.due not in (request.remind, request.escalate):
        raise IllegalEvent(f"no timer of {path!r} is due at {event.due}")
    if request.remind == event.due:
        every = verb.oversight.remind
        request = replace(request, remind=None if every is None else Millis(event.due + every))
    else:
        # An empty `by` means that anyone may answer, which an escalation must not restrict.
        wider = (*request.by, *verb.oversight.escalate_to) if request.by else ()
        request = replace(request, escalate=None, by=wider)
    state.instances.put(path, leaf._replace(approval_request=request))
    state.pending.put(("person", path), AskPerson(request))
    return state
