"""Makes every decision that follows from the state, one at a time, each as exactly one event.

`decide` looks at one instance and its parent, then at the instances that the resulting event affects. When none is
left, it makes one dispatch decision; when there is none either, the turn is settled. `now` is only used to compute due
times and is never compared with anything: a timer that is due arrives as a report.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from podium.core import events
from podium.core.addresses import ROOT
from podium.core.decide import entry
from podium.core.decide.approvals import after_person, ask_person
from podium.core.decide.attempts import after_attempt
from podium.core.decide.dispatch import dispatch
from podium.core.decide.expansion import expansion
from podium.core.decide.joins import join_needs
from podium.core.decide.pass_rules import is_rest, is_settled
from podium.core.decide.routes import with_route
from podium.core.decide.scopes import next_scope_event
from podium.core.decide.series import continuation, end_for_continuation, name_of_next
from podium.core.decide.teams import ask_about_call
from podium.core.decide.waits import after_wait, due_of
from podium.core.events import Event
from podium.core.evolve.evolve import advance
from podium.core.evolve.leaves import is_by_hand
from podium.core.model import Agent, Call, Check, Continue, Human, Set, Step, Wait
from podium.core.queries.evaluate import try_condition, try_fill
from podium.core.queries.graph import WORK, builders_on, live_children
from podium.core.queries.memories import pin_request
from podium.core.queries.tool_calls import is_moot
from podium.core.state import Instance, Leaf, Scope, State, draft, freeze
from podium.core.types import Address, Millis, RunStatus

STATUS_OF_EXIT: dict[int, RunStatus] = {
    0: "passed",
    4: "rejected",
    5: "limited",
    124: "timed_out",
    130: "cancelled",
}


def decide(
    state: State, now: Millis, touched: Iterable[Address] | None = None
) -> tuple[State, tuple[Event, ...]]:
    """The settled state and the decisions that led to it. `touched=None` looks at every instance that has not ended."""
    state, decided = settle(draft(state), now, live_instances(state) if touched is None else touched)
    return freeze(state), tuple(decided)


def settle(state: State, now: Millis, touched: Iterable[Address]) -> tuple[State, list[Event]]:
    """`decide` for a state that is already a draft."""
    agenda = deque(touched)
    decided: list[Event] = []
    while True:
        event = _next(state, agenda, now)
        if event is None:
            return state, decided
        state = advance(state, event)
        decided.append(event)
        agenda.extend(affected(state, event))


def _next(state: State, agenda: deque[Address], now: Millis) -> Event | None:
    while agenda:
        instance = state.instances.get(agenda.popleft())
        event = None if instance is None else _next_event_of(state, instance, now)
        if event is not None:
            return with_route(state, event) if isinstance(event, events.StepEnded) else event
    event = None if state.ended is not None else dispatch(state, now)
    return with_route(state, event) if isinstance(event, events.StepEnded) else event


def live_instances(state: State) -> tuple[Address, ...]:
    """Every instance that has not ended, and the root. Called once, after a fold."""
    living = tuple(path for path, instance in state.instances.items() if instance.phase != "ended")
    return living if ROOT in living or ROOT not in state.instances else (*living, ROOT)


def affected(state: State, event: Event) -> tuple[Address, ...]:
    """The instances that may have something to decide after this event."""
    match event:
        case events.StepEntered():
            # A parent that runs one child at a time has nothing to decide until that child has ended.
            more = event.role == "step" and _is_wide(state, event.parent)
            return (event.path, event.parent) if more else (event.path,)
        case events.StepEnded():
            return _after_end(state, event.path)
        case events.AttemptStarted() | events.AttemptTaken() | events.AttemptGuided() | events.AttemptLost():
            return ()  # The engine performs the attempt.
        case (
            events.ToolAsked()
            | events.StepExpanded()
            | events.StepReopened()
            | events.AttemptDoubted()
            | events.WaitEnded()
            | events.SignalReceived()
            | events.ApprovalGiven()
            | events.FactsFound()
            | events.JoinAsked()
        ):
            return (event.path,)
        case (
            events.AttemptQueued()
            | events.RetryScheduled()
            | events.WaitStarted()
            | events.ApprovalAsked()
            | events.FactsAsked()
        ):
            return ()  # The engine performs the effect, or the queue dispatches it.
        case events.JoinQueued():
            return (state.instances[event.path].place.parent,)
        case events.JoinEnded():
            instance = state.instances[event.path]
            return (event.path, *(instance.merged if isinstance(instance, Scope) else ()))
        case events.CancelAsked(force=True):
            return live_instances(
                state
            )  # `finally` ignores a plain cancel, so a forced one must reach every instance directly.
        case events.CancelOrdered() | events.JumpOrdered() | events.JumpAsked() | events.AttemptEnded():
            return (event.path, *live_children(state, state.instances[event.path]))
        case events.TimerFired():
            instance = state.instances[event.path]
            below = live_children(state, instance) if isinstance(instance, Scope) else ()
            return (event.path, *below)
        case (
            events.RunStarted()
            | events.RunResumed()
            | events.RunRecovered()
            | events.CancelAsked()
            | events.RunPaused()
            | events.GuidanceGiven()
            | events.NoteLeft()
            | events.LimitRaised()
            | events.RunEnded()
        ):
            return (ROOT,)
        case _:
            assert_never(event)


def _after_end(state: State, path: Address) -> tuple[Address, ...]:
    if path == ROOT:
        return (ROOT,)
    parent = state.instances[state.instances[path].place.parent]
    is_won = isinstance(parent, Scope) and is_settled(state, parent)
    return (parent.place.path, *(live_children(state, parent) if is_won else ()))


def _is_wide(state: State, path: Address) -> bool:
    return state.instances[path].place.order in ("dag", "many")


def _next_event_of(state: State, instance: Instance, now: Millis) -> Event | None:
    path = instance.place.path
    if instance.phase == "ended":
        return _run_end(state, instance, now) if path == ROOT else None
    if not instance.cancelling and _is_unwanted(state, instance):
        return events.CancelOrdered(now, path, "unwanted")
    if instance.cancelling or (isinstance(instance, Scope) and instance.expired):
        return _end_cancelled(state, instance, now)
    if instance.phase == "ready":
        return _start_instance(state, instance, now)
    if isinstance(instance, Scope):
        is_pausing = ("retry", path) in state.pending
        return None if is_pausing else next_scope_event(state, instance, now)
    if instance.phase == "working":
        return ask_about_call(state, instance, now)
    return _after_answer(state, instance, now) if instance.phase == "answered" else None


def _is_unwanted(state: State, instance: Instance) -> bool:
    """Whether the instance must be cancelled. The child checks its parent, so that no parent scans its children."""
    place = instance.place
    if place.path == ROOT:
        return state.cancelling
    if state.forced and state.cancelling:
        return True
    parent = state.instances[place.parent]
    if place.role == "finally":
        return False
    if parent.cancelling:
        return True
    if not isinstance(parent, Scope):
        return is_moot(parent, instance)
    if parent.expired:
        return True
    if place.role == "step" and is_rest(state, parent, instance):
        return True
    if parent.jump < 0 or place.role != "step":
        return False
    return parent.place.order != "dag" or place.index in builders_on(state, parent, parent.jump)


def _end_cancelled(state: State, instance: Instance, now: Millis) -> Event | None:
    """End a cancelled instance once nothing in it is running; a workflow still runs its `finally`."""
    path = instance.place.path
    if instance.side_child is not None or ("attempt", path) in state.pending:
        return None
    if isinstance(instance, Leaf):
        return events.StepEnded(now, path, "cancelled", exit=130, message=_why_cancelled(state, instance))
    if instance.live:
        return None
    ending = _interrupted_end(state, instance, now)
    verb = instance.place.step.verb
    opened = instance.phase == "open" and isinstance(verb, Call) and not state.forced
    if opened and not instance.closing and isinstance(verb, Call) and verb.workflow.finally_ is not None:
        return entry.finally_entry(state, instance, ending.outcome, ending.reason, now)
    return ending


def _why_cancelled(state: State, instance: Instance) -> str:
    parent = None if instance.place.path == ROOT else state.instances[instance.place.parent]
    won = isinstance(parent, Scope) and not parent.cancelling and is_settled(state, parent)
    return "enough of the other members have passed" if won else ""


def _interrupted_end(state: State, scope: Scope, now: Millis) -> events.StepEnded:
    """The end of a scope that was cancelled or ran out of time."""
    path = scope.place.path
    if scope.cancelling:
        return events.StepEnded(now, path, "cancelled", exit=130, message=_why_cancelled(state, scope))
    if scope.limit_hit is None:
        return events.StepEnded(now, path, "timeout", exit=124)
    # A timeout must not hide a hard limit that was hit inside.
    outside = entry.limit_outside(path, scope.limit_hit)
    stop = entry.hard_stop(state, scope.limit_hit)
    return events.StepEnded(
        now, path, "failed", stop.reason, stop.exit, limit_hit=outside, message=stop.message
    )


def _run_end(state: State, root: Instance, now: Millis) -> events.RunEnded | None:
    if state.ended is not None or state.pending:
        return None
    ending = root.ending
    assert ending is not None
    status = STATUS_OF_EXIT.get(ending.exit, "failed")
    outputs = (ending.result or {}).get("output") or {}
    run = state.started.run if state.started is not None and continuation(state) is not None else None
    continued_by = "" if run is None or status != "passed" else name_of_next(run)
    exit_code, message = ending.exit, ending.message
    return events.RunEnded(
        now, status, ending.outcome, ending.reason, exit_code, outputs, message, continued_by
    )


def _start_instance(state: State, instance: Instance, now: Millis) -> Event | None:
    """The first decision about a new instance: block or skip it, join its needs, or start it."""
    path, place = instance.place.path, instance.place
    if isinstance(instance, Leaf) and (instance.attempt or instance.tries or _is_queued(instance)):
        return None
    if ("fact", path) in state.pending or ("join", path) in state.pending:
        return None
    if _has_bad_need(state, instance):
        return events.StepEnded(
            now, path, "blocked", "blocked", message="a step that it needs has not passed"
        )
    if place.adopt is not None:
        adopted = state.instances[place.adopt].ending
        assert adopted is not None
        return events.StepEnded(now, path, "passed", "exhausted", result=adopted.result, tree=adopted.tree)
    skip = _skip(state, instance, place.step, now)
    if skip is not None:
        return skip
    joining = join_needs(state, instance, now)
    if joining is not None:
        return joining
    return _start_leaf(state, instance, now) if isinstance(instance, Leaf) else _expand(state, instance, now)


def _is_queued(leaf: Leaf) -> bool:
    """Whether all checks were made before the leaf was queued; for work by hand, one check is still open."""
    return leaf.ticket >= 0 and not is_by_hand(leaf)


def _has_bad_need(state: State, instance: Instance) -> bool:
    if instance.place.role != "step" or instance.place.path == ROOT:
        return False
    unmet = state.unmet.get((instance.place.parent, instance.place.index))
    return unmet is not None and unmet.bad


def _skip(state: State, instance: Instance, step: Step, now: Millis) -> Event | None:
    # The `when` of a repeated step applies to the whole loop and is therefore on the loop's step only.
    if step.when is None:
        return None
    holds = try_condition(state, instance, step.when, now)
    if not isinstance(holds, bool):
        return holds
    return None if holds else events.StepEnded(now, instance.place.path, "skipped")


def _expand(state: State, scope: Scope, now: Millis) -> Event:
    expanded = expansion(state, scope, now)
    timeout = scope.place.step.timeout
    if not isinstance(expanded, events.StepExpanded) or timeout is None:
        return expanded
    return events.StepExpanded(
        now,
        expanded.path,
        expanded.total,
        expanded.items,
        expanded.keys,
        expanded.needs,
        due=Millis(now + timeout),
    )


def _start_leaf(state: State, leaf: Leaf, now: Millis) -> Event | None:
    verb, path = leaf.place.step.verb, leaf.place.path
    match verb:
        case Check():
            holds = try_condition(state, leaf, verb.test, now)
            if isinstance(holds, events.StepEnded):
                # A check that cannot be evaluated has failed; a check has no other kind of failure.
                return replace(holds, outcome="failed")
            if not isinstance(holds, bool):
                return holds
            return (
                events.StepEnded(now, path, "passed")
                if holds
                else events.StepEnded(now, path, "failed", exit=1)
            )
        case Set():
            return _set(state, leaf, verb, now)
        case Continue():
            return end_for_continuation(state, leaf, verb, now)
        case Human():
            return ask_person(state, leaf, verb, now)
        case Wait():
            return events.WaitStarted(now, path, due_of(state, leaf, verb, now))
        case Agent(by_hand=True) if state.started is not None and state.started.no_human:
            return events.StepEnded(now, path, "error", "no_human", 1)
        case _ if isinstance(verb, WORK) and leaf.ticket < 0:
            return pin_request(state, leaf, now) or events.AttemptQueued(now, path, "ready")
        case _:
            return None


def _set(state: State, leaf: Leaf, verb: Set, now: Millis) -> Event:
    values = []
    for name, value in verb.values:
        answer = try_fill(state, leaf, value, now)
        if not isinstance(answer, tuple):
            return answer
        values.append((name, answer[0]))
    return events.StepEnded(now, leaf.place.path, "passed", sets=tuple(values))


def _after_answer(state: State, leaf: Leaf, now: Millis) -> Event | None:
    match leaf.place.step.verb:
        case Human() as verb:
            return after_person(state, leaf, verb, now)
        case Wait() as verb:
            return after_wait(leaf, verb, now)
        case _:
            return after_attempt(state, leaf, now)
