"""All that follows from the state as it is: one decision at a time, each exactly one event, until nothing is due.

`decide` looks at one instance and its parent; the paths an event concerns are looked at next. When none is left,
one dispatch decision is made; when there is none either, the turn is settled. It never compares anything with
`now`, which only makes absolute due times: a timer that is due is a report.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from podium.core.addresses import ROOT, without_visit
from podium.core.decide import entry
from podium.core.decide.approvals import after_person, ask_person
from podium.core.decide.attempts import after_attempt, error_exit
from podium.core.decide.dispatch import dispatch
from podium.core.decide.expansion import expansion
from podium.core.decide.joins import join_needs
from podium.core.decide.scopes import next_scope_event
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
from podium.core.evolve.evolve import advance
from podium.core.evolve.leaves import is_by_hand
from podium.core.model import Agent, Call, Check, Human, Set, Step, Wait
from podium.core.queries.evaluate import ask_bool, ask_value
from podium.core.queries.graph import WORK, descendants_of, live_children
from podium.core.state import Instance, Leaf, Scope, State, draft, freeze
from podium.core.types import Millis, Path, RunStatus

STATUS_OF_EXIT: dict[int, RunStatus] = {
    0: "passed",
    4: "rejected",
    5: "limited",
    124: "timed_out",
    130: "cancelled",
}
DAY = 86_400_000


def decide(
    state: State, now: Millis, touched: Iterable[Path] | None = None
) -> tuple[State, tuple[Event, ...]]:
    """The settled state and the decisions that led to it. `touched=None` looks at everything that is alive."""
    state, decided = settle(draft(state), now, alive(state) if touched is None else touched)
    return freeze(state), tuple(decided)


def settle(state: State, now: Millis, touched: Iterable[Path]) -> tuple[State, list[Event]]:
    """`decide` on a state that is a draft already."""
    agenda = deque(touched)
    decided: list[Event] = []
    while True:
        event = _next(state, agenda, now)
        if event is None:
            return state, decided
        state = advance(state, event)
        decided.append(event)
        agenda.extend(affected(state, event))


def _next(state: State, agenda: deque[Path], now: Millis) -> Event | None:
    while agenda:
        instance = state.instances.get(agenda.popleft())
        event = None if instance is None else _look_at(state, instance, now)
        if event is not None:
            return event
    return None if state.ended is not None else dispatch(state, now)


def alive(state: State) -> tuple[Path, ...]:
    """Every instance that has not ended, and the root. Asked once, after a fold."""
    living = tuple(path for path, instance in state.instances.items() if instance.phase != "ended")
    return living if ROOT in living or ROOT not in state.instances else (*living, ROOT)


def affected(state: State, event: Event) -> tuple[Path, ...]:
    """The instances that may have something to decide after this event."""
    match event:
        case StepEntered():
            # A parent that works on one child at a time has nothing to do until that child has ended.
            more = event.role == "step" and _is_wide(state, event.parent)
            return (event.path, event.parent) if more else (event.path,)
        case StepEnded():
            return (ROOT if event.path == ROOT else state.instances[event.path].place.parent,)
        case AttemptStarted():
            return ()  # The world's turn.
        case (
            AttemptEnded()
            | StepExpanded()
            | StepReopened()
            | AttemptDoubted()
            | WaitEnded()
            | SignalReceived()
            | ApprovalGiven()
            | FactsFound()
            | JoinAsked()
        ):
            return (event.path,)
        case AttemptQueued() | RetryScheduled() | WaitStarted() | ApprovalAsked() | FactsAsked():
            return ()  # The world's turn, or the queue's.
        case JoinQueued():
            return (state.instances[event.path].place.parent,)
        case JoinEnded():
            instance = state.instances[event.path]
            return (event.path, *(instance.merged if isinstance(instance, Scope) else ()))
        case CancelAsked(force=True):
            return alive(state)  # Clean-up is shielded from a plain cancel, so nobody passes this one on.
        case CancelOrdered() | JumpOrdered() | JumpAsked():
            return (event.path, *live_children(state, state.instances[event.path]))
        case TimerFired():
            instance = state.instances[event.path]
            below = live_children(state, instance) if isinstance(instance, Scope) else ()
            return (event.path, *below)
        case (
            RunStarted()
            | RunResumed()
            | RunRecovered()
            | CancelAsked()
            | RunPaused()
            | GuidanceGiven()
            | LimitRaised()
            | RunEnded()
        ):
            return (ROOT,)
        case _:
            assert_never(event)


def _is_wide(state: State, path: Path) -> bool:
    return state.instances[path].place.order in ("dag", "many")


def _look_at(state: State, instance: Instance, now: Millis) -> Event | None:
    path = instance.place.path
    if instance.phase == "ended":
        return _run_end(state, instance, now) if path == ROOT else None
    if not instance.cancelling and _is_unwanted(state, instance):
        return CancelOrdered(now, path, "unwanted")
    if instance.cancelling or (isinstance(instance, Scope) and instance.expired):
        return _wind_up(state, instance, now)
    if instance.phase == "ready":
        return _begin(state, instance, now)
    if isinstance(instance, Scope):
        return next_scope_event(state, instance, now)
    return _after_answer(state, instance, now) if instance.phase == "answered" else None


def _is_unwanted(state: State, instance: Instance) -> bool:
    """The child asks upwards; a parent never searches its children."""
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
        return False
    if parent.expired:
        return True
    if parent.jump < 0 or place.role != "step":
        return False
    return parent.place.order != "dag" or place.slot in descendants_of(parent, parent.jump)


def _wind_up(state: State, instance: Instance, now: Millis) -> Event | None:
    """A cancelled instance ends once nothing in it is alive; a workflow still cleans up after itself."""
    path = instance.place.path
    if instance.aside is not None or ("attempt", path) in state.pending:
        return None
    if isinstance(instance, Scope):
        if instance.live:
            return None
        verb = instance.place.step.verb
        opened = instance.phase == "open" and isinstance(verb, Call) and not state.forced
        if opened and not instance.closing and isinstance(verb, Call) and verb.workflow.finally_ is not None:
            return entry.closing(state, instance, now)
        if not instance.cancelling:
            if instance.hard is not None:
                # Running out of time is no way around a limit that was met inside.
                hard = None if without_visit(path) == instance.hard else instance.hard
                done = entry.stopped(state, instance.hard)
                return StepEnded(now, path, "failed", done.reason, done.exit, hard=hard, message=done.message)
            return StepEnded(now, path, "timeout", exit=124)
    return StepEnded(now, path, "cancelled", exit=130)


def _run_end(state: State, root: Instance, now: Millis) -> RunEnded | None:
    if state.ended is not None or state.pending:
        return None
    ending = root.ending
    assert ending is not None
    status = STATUS_OF_EXIT.get(ending.exit, "failed")
    outputs = (ending.result or {}).get("output") or {}
    return RunEnded(now, status, ending.outcome, ending.reason, ending.exit, outputs, ending.message)


def _begin(state: State, instance: Instance, now: Millis) -> Event | None:
    """An instance that has just been entered: is it to be done at all, on which tree, and how does it start?"""
    path, place = instance.place.path, instance.place
    if isinstance(instance, Leaf) and (instance.attempt or instance.tries or _is_queued(instance)):
        return None
    if ("fact", path) in state.pending or ("join", path) in state.pending:
        return None
    if _has_bad_need(state, instance):
        return StepEnded(now, path, "blocked", "blocked", message="something it needs has not passed")
    if place.adopt is not None:
        taken = state.instances[place.adopt].ending
        assert taken is not None
        return StepEnded(now, path, "passed", "exhausted", result=taken.result, tree=taken.tree)
    skip = _skipped(state, instance, place.step, now)
    if skip is not None:
        return skip
    joining = join_needs(state, instance, now)
    if joining is not None:
        return joining
    return _start_leaf(state, instance, now) if isinstance(instance, Leaf) else _expand(state, instance, now)


def _is_queued(leaf: Leaf) -> bool:
    """All that could object was asked before it got its ticket, except whether there is a person to work by hand."""
    return leaf.ticket >= 0 and not is_by_hand(leaf)


def _has_bad_need(state: State, instance: Instance) -> bool:
    if instance.place.role != "step" or instance.place.path == ROOT:
        return False
    unmet = state.unmet.get((instance.place.parent, instance.place.slot))
    return unmet is not None and unmet.bad


def _skipped(state: State, instance: Instance, step: Step, now: Millis) -> Event | None:
    # A repeated step's `when` speaks about the whole, and stands on the loop's own step only.
    if step.when is None:
        return None
    wanted = ask_bool(state, instance, step.when, now)
    if not isinstance(wanted, bool):
        return wanted
    return None if wanted else StepEnded(now, instance.place.path, "skipped")


def _expand(state: State, scope: Scope, now: Millis) -> Event:
    expanded = expansion(state, scope, now)
    timeout = scope.place.step.timeout
    if not isinstance(expanded, StepExpanded) or timeout is None:
        return expanded
    return StepExpanded(
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
            holds = ask_bool(state, leaf, verb.test, now)
            if isinstance(holds, StepEnded):
                # A check that cannot be evaluated has not been passed; it knows no other failure.
                return replace(holds, outcome="failed")
            if not isinstance(holds, bool):
                return holds
            return StepEnded(now, path, "passed") if holds else StepEnded(now, path, "failed", exit=1)
        case Set():
            return _set(state, leaf, verb, now)
        case Human():
            return ask_person(state, leaf, verb, now)
        case Wait():
            return WaitStarted(now, path, _due(state, leaf, verb, now))
        case Agent(by_hand=True) if state.started is not None and state.started.no_human:
            return StepEnded(now, path, "error", "no_human", 1)
        case _ if isinstance(verb, WORK) and leaf.ticket < 0:
            return AttemptQueued(now, path, "ready")
        case _:
            return None


def _set(state: State, leaf: Leaf, verb: Set, now: Millis) -> Event:
    values = []
    for name, value in verb.values:
        answer = ask_value(state, leaf, value, now)
        if not isinstance(answer, tuple):
            return answer
        values.append((name, answer[0]))
    return StepEnded(now, leaf.place.path, "passed", sets=tuple(values))


def _due(state: State, leaf: Leaf, verb: Wait, now: Millis) -> Millis | None:
    """When a wait is over: a timer at its time, anything else when its timeout has passed."""
    if verb.timer is not None:
        return Millis(now + verb.timer)
    if verb.minute_of_day is not None:
        assert state.started is not None
        offset = state.started.run.utc_offset * 60_000
        today = (now + offset) // DAY * DAY - offset
        due = today + verb.minute_of_day * 60_000
        return Millis(due if due > now else due + DAY)
    timeout = leaf.place.step.timeout
    return None if timeout is None else Millis(now + timeout)


def _after_answer(state: State, leaf: Leaf, now: Millis) -> Event | None:
    match leaf.place.step.verb:
        case Human() as verb:
            return after_person(leaf, verb, now)
        case Wait() as verb:
            return _after_wait(leaf, verb, now)
        case _:
            return after_attempt(state, leaf, now)


def _after_wait(leaf: Leaf, verb: Wait, now: Millis) -> StepEnded:
    path = leaf.place.path
    if leaf.silent:
        timer = verb.timer is not None or verb.minute_of_day is not None
        return StepEnded(now, path, "passed") if timer else StepEnded(now, path, "timeout", exit=124)
    answer = leaf.answer
    assert answer is not None
    match answer.kind:
        case "ok":
            return StepEnded(now, path, "passed", result=answer.result)
        case "failed":
            return StepEnded(now, path, "failed", answer.reason, 1, answer.result)
        case _:
            return StepEnded(now, path, "error", answer.reason or "error", error_exit(answer), answer.result)
