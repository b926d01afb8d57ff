"""Turns a message to a run into events, or into a refusal with a reason.

`handle` is tolerant where `evolve` is strict: a report that is duplicate, late, or about an effect that is no longer
pending gives no events. A command that cannot be followed is refused with a code and a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from operator import attrgetter
from typing import Any, Final, TypeVar, assert_never

from podium.core.addresses import ROOT
from podium.core.decide.advice import decision_in, invalid_decision
from podium.core.decide.approvals import has_approved, late_veto, may_answer
from podium.core.effects import IN_FLIGHT, AskPerson, CancelAttempt, FindFact, RunAttempt, StartTimer, Watch
from podium.core.events import (
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptGuided,
    AttemptLost,
    AttemptTaken,
    CancelAsked,
    Event,
    FactsFound,
    GuidanceGiven,
    JoinEnded,
    JumpAsked,
    LimitRaised,
    NoteLeft,
    RunPaused,
    RunRecovered,
    RunResumed,
    RunStarted,
    SignalReceived,
    TimerFired,
    ToolAsked,
    WaitEnded,
)
from podium.core.evolve.evolve import evolve
from podium.core.expressions.values import ExprError
from podium.core.guidance import guidable
from podium.core.ledger import cancelled_attempt, shortfall
from podium.core.messages import (
    Approve,
    Cancel,
    Fired,
    Guide,
    Jump,
    Message,
    Pause,
    RaiseLimit,
    Recover,
    Refusal,
    Report,
    Resume,
    Signal,
    Start,
    Tell,
)
from podium.core.model import Block, Call, Wait
from podium.core.queries.computed import entered
from podium.core.queries.graph import actions_of, body_of, order_of, workflow_of
from podium.core.queries.mailboxes import unknown_mailbox
from podium.core.queries.tool_calls import must_ask
from podium.core.state import Leaf, Scope, State
from podium.core.types import Address, Millis

Handled = tuple[Event, ...] | Refusal
R = TypeVar("R", AttemptTaken, AttemptGuided, ToolAsked, AttemptEnded, WaitEnded, FactsFound, JoinEnded)

_REST: Final[Mapping[type[Event], Callable[[Event], tuple[Any, ...]]]] = {
    kind: attrgetter(*kind.__slots__[1:])
    for kind in (AttemptTaken, AttemptGuided, ToolAsked, AttemptEnded, WaitEnded, FactsFound, JoinEnded)
}
"""For each report, a getter of all fields but its time."""


def handle(state: State, message: Message, now: Millis) -> Handled:
    if isinstance(message, Start):
        return _start(state, message, now)
    if state.started is None:
        return Refusal("not_started", "the run has not been started")
    match message:
        case Approve() | Signal() | Cancel() | Jump() | Pause() | Resume() | Guide() | Tell() | RaiseLimit():
            if state.ended is not None:
                return Refusal("ended", f"the run has ended: {state.ended.status}")
            return _command(state, message, now)
        case _:
            return () if state.ended is not None else _report(state, message, now)


def _start(state: State, message: Start, now: Millis) -> Handled:
    if state.started is not None:
        return Refusal("started", "the run has already been started")
    workflow = state.root.verb
    assert isinstance(workflow, Call)
    try:
        entered(workflow.workflow, message.inputs)
    except ExprError as error:
        return Refusal("inputs", str(error))
    return (
        RunStarted(
            at=now,
            run=message.run,
            fingerprint=workflow.workflow.fingerprint,
            inputs=message.inputs,
            env=message.env,
            tree=message.tree,
            no_human=message.no_human,
        ),
    )


def _report(state: State, message: Report, now: Millis) -> tuple[Event, ...]:
    match message:
        case AttemptTaken():
            return (_with_time(message, now),) if _is_in_flight(state, message) else ()
        case AttemptGuided():
            return _guided(state, message, now) if _is_in_flight(state, message) else ()
        case ToolAsked():
            return _tool_asked(state, message, now) if _is_in_flight(state, message) else ()
        case AttemptEnded():
            return (_with_time(message, now),) if _is_in_flight(state, message) else ()
        case AttemptLost():
            return _lost(state, message, now) if _is_in_flight(state, message) else ()
        case WaitEnded():
            return (_with_time(message, now),) if ("wait", message.path) in state.pending else ()
        case FactsFound():
            return _fact_report(state, message, now)
        case JoinEnded():
            return (_with_time(message, now),) if ("join", message.path) in state.pending else ()
        case Fired():
            return _timer_fired(state, message, now)
        case Recover():
            return _recover(state, message, now)
        case _:
            assert_never(message)


def _is_in_flight(
    state: State, message: AttemptTaken | AttemptGuided | ToolAsked | AttemptEnded | AttemptLost
) -> bool:
    effect = state.pending.get(("attempt", message.path))
    return isinstance(effect, IN_FLIGHT) and effect.started.attempt == message.attempt


def _guided(state: State, message: AttemptGuided, now: Millis) -> tuple[Event, ...]:
    leaf = state.instances[message.path]
    assert isinstance(leaf, Leaf)
    if message.text in leaf.guidance:
        return ()
    lacking = not message.refused and any(
        other.place.path != message.path for other in guidable(state, message.text)
    )
    return (replace(_with_time(message, now), stays_open=lacking),)


def _tool_asked(state: State, message: ToolAsked, now: Millis) -> tuple[Event, ...]:
    leaf = state.instances[message.path]
    assert isinstance(leaf, Leaf)
    return (_with_time(message, now),) if must_ask(state, leaf, message.call) else ()


def _with_time(report: R, now: Millis) -> R:
    """The report with its time, the first field of every event, set to that of the turn."""
    kind = type(report)
    return kind(now, *_REST[kind](report))


def _fact_report(state: State, message: FactsFound, now: Millis) -> tuple[Event, ...]:
    effect = state.pending.get(("fact", message.path))
    query = effect.query if isinstance(effect, FindFact) else None
    answered = (message.function, message.argument, message.tree)
    if query is None or (query.function, query.argument, query.tree) != answered:
        return ()
    return (_with_time(message, now),)


def _timer_fired(state: State, message: Fired, now: Millis) -> tuple[Event, ...]:
    if message.due > now:
        return ()
    dues: list[Millis | None] = []
    for kind in ("timer", "retry", "wait", "person"):
        match state.pending.get((kind, message.path)):
            case StartTimer(due=due):
                dues.append(due)
            case Watch(wait=wait):
                dues.append(wait.due)
            case AskPerson(request=request):
                dues.extend((request.expires, request.remind, request.escalate))
            case _:
                pass
    return (TimerFired(now, message.path, message.due),) if message.due in dues else ()


def _lost(state: State, message: AttemptLost, now: Millis) -> tuple[Event, ...]:
    """The attempt is performed again, unless a person must allow it first; one that is being cancelled is over."""
    path, effect = message.path, state.pending["attempt", message.path]
    if isinstance(effect, CancelAttempt):
        return (cancelled_attempt(effect.started, now),)
    assert isinstance(effect, RunAttempt)
    place, reserve = state.instances[path].place, effect.started.reserve
    if not place.step.repeatable or (reserve.calls and shortfall(state, place.ledger, reserve)):
        return (AttemptDoubted(now, path, message.attempt),)
    return (AttemptLost(now, path, message.attempt),)


def _recover(state: State, message: Recover, now: Millis) -> tuple[Event, ...]:
    """A new owner repeats attempts that were in flight, unless a person must allow it first.

    An interrupted agent call counts in full, so it is repeated only if the limits cover another call.
    """
    lost: list[Address] = []
    doubted: list[Event] = []
    after = evolve(state, RunRecovered(now, message.epoch))
    for (kind, path), effect in state.pending.items():
        if kind != "attempt" or not isinstance(effect, RunAttempt) or effect.by_hand:
            continue
        place, reserve = state.instances[path].place, effect.started.reserve
        if not place.step.repeatable or (reserve.calls and shortfall(after, place.ledger, reserve)):
            doubted.append(AttemptDoubted(now, path, effect.started.attempt))
            after = evolve(after, doubted[-1])
        elif reserve.calls:
            lost.append(path)
            after = evolve(after, RunRecovered(now, message.epoch, (path,)))
    return (RunRecovered(now, message.epoch, tuple(lost)), *doubted)


def _command(
    state: State,
    message: Approve | Signal | Cancel | Jump | Pause | Resume | Guide | Tell | RaiseLimit,
    now: Millis,
) -> Handled:
    match message:
        case Approve():
            return _approve(state, message, now)
        case Signal():
            return _signal(state, message, now)
        case Cancel():
            return _cancel(state, message, now)
        case Jump():
            return _jump_with_reason(state, message, now)
        case Pause():
            return () if state.paused else (RunPaused(now, message.by),)
        case Resume():
            return (RunResumed(now, message.by),) if state.paused else ()
        case Guide():
            return (GuidanceGiven(now, message.by, message.text),)
        case Tell():
            why = unknown_mailbox(state, message.to)
            return Refusal("no_step", why) if why else (NoteLeft(now, message.by, message.to, message.text),)
        case RaiseLimit():
            return _raise_limit(state, message, now)
        case _:
            assert_never(message)


def _approve(state: State, message: Approve, now: Millis) -> Handled:
    leaf = state.instances.get(message.path)
    if (
        not isinstance(leaf, Leaf)
        or leaf.approval_request is None
        or ("person", message.path) not in state.pending
    ):
        veto = late_veto(state, message, now)
        if veto is not None:
            return _jump_with_reason(state, veto, now)
        approver = leaf.approvals[-1].by if isinstance(leaf, Leaf) and leaf.approvals else None
        by = f"; {approver} has already answered" if approver else ""
        return Refusal("not_waiting", f"{message.path!r} is not waiting for an answer{by}")
    step, request = leaf.place.step, leaf.approval_request
    allowed = actions_of(step)
    if message.action not in allowed:
        return Refusal(
            "unknown_action", f"{message.action!r} is not a possible answer; choose from {', '.join(allowed)}"
        )
    if request.expires is not None and request.expires <= now:
        return Refusal("expired", f"the time to answer {message.path!r} has run out")
    if message.tree is not None and request.tree is not None and message.tree != request.tree:
        return Refusal("stale", f"the files changed after you looked at {message.path!r}; review them again")
    groups = dict(workflow_of(state, leaf.place).people)
    if not may_answer(request.by, message.by, groups):
        return Refusal("not_asked", f"{message.by} may not answer; only {', '.join(request.by)} may")
    # Whoever says no needs no proof: work can be stopped from everywhere.
    if request.presence and message.proof is None and message.action not in ("reject", "abort"):
        return Refusal("presence", f"{message.path!r} needs the proof that {message.by} is present")
    if message.action == "approve" and has_approved(leaf.approvals, message.by):
        return Refusal("answered", f"{message.by} has already approved {message.path!r}")
    choices = step.output.choices
    if message.action == "answer" and choices and message.answer not in choices:
        return Refusal(
            "unknown_answer", f"{message.answer!r} is not a possible answer; choose from {', '.join(choices)}"
        )
    if leaf.place.role == "advice":
        why = invalid_decision(state, leaf, decision_in(message.action, message.answer))
        if why:
            return Refusal("unknown_name", why)
    reviewed = message.tree if message.tree is not None else request.tree
    return (
        ApprovalGiven(
            now,
            message.path,
            message.action,
            message.by,
            message.text,
            message.answer,
            reviewed,
            message.reused,
            message.how,
            message.opened,
            message.proof,
        ),
    )


def _jump_with_reason(state: State, veto: Jump | Refusal, now: Millis) -> Handled:
    """Jump where a person or their rejection leads, and pass the text to the next agent as guidance."""
    events = veto if isinstance(veto, Refusal) else _jump(state, veto, now)
    if isinstance(veto, Refusal) or isinstance(events, Refusal) or not veto.why:
        return events
    return (*events, GuidanceGiven(now, veto.by, veto.why))


def _signal(state: State, message: Signal, now: Millis) -> Handled:
    received = tuple(
        SignalReceived(now, path, message.name, message.data, message.by)
        for (kind, path), _ in state.pending.items()
        if kind == "wait" and _waits_for(state, path, message.name)
    )
    return received or Refusal("nobody_waits", f"no step waits for the signal {message.name!r}")


def _waits_for(state: State, path: Any, name: str) -> bool:
    verb = state.instances[path].place.step.verb
    return isinstance(verb, Wait) and verb.what == "signal" and verb.detail.get("signal") == name


def _cancel(state: State, message: Cancel, now: Millis) -> Handled:
    # A paused run resumes, because clean-up must not wait for a resume command.
    resumed = (RunResumed(now, message.by),) if state.paused else ()
    if state.cancelling and (state.forced or not message.force):
        return resumed
    root = state.instances[ROOT]
    assert isinstance(root, Scope)
    if root.closing and not message.force:
        return Refusal(
            "closing", "the main part has ended and clean-up is running; use --force to end that too"
        )
    return (*resumed, CancelAsked(now, message.by, message.reason, message.force))


def _jump(state: State, message: Jump, now: Millis) -> Handled:
    scope = state.instances.get(message.scope)
    if not isinstance(scope, Scope) or scope.phase != "open" or scope.cancelling or scope.closing:
        return Refusal("not_running", f"{message.scope!r} is not running")
    verb = scope.place.step.verb
    body = body_of(verb) if isinstance(verb, Block | Call) else None
    if body is None or order_of(scope) != "seq":
        return Refusal("no_sequence", f"{message.scope!r} is not a sequence of steps")
    index = body.index.get(message.step)
    if index is None or index >= scope.next:
        return Refusal("no_step", f"{message.step!r} has not been entered in {message.scope or 'the run'!r}")
    return (JumpAsked(now, message.scope, index, message.by, message.why),)


def _raise_limit(state: State, message: RaiseLimit, now: Millis) -> Handled:
    ledger = state.ledgers.get(message.ledger)
    if ledger is None:
        return Refusal("no_ledger", f"{message.ledger!r} has no limits of its own")
    current = getattr(ledger.limits, message.unit)
    if current is None or message.to <= current:
        return Refusal("not_raised", f"{message.unit} is limited to {current}; a limit can only be raised")
    return (LimitRaised(now, message.ledger, message.unit, message.to, message.by),)
