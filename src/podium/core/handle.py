"""What is said to a run becomes events, or a refusal that says why not.

`handle` is tolerant where `evolve` is strict: a report that comes twice, late, or about something that is no longer
asked for gives no events. Commands of people that cannot be followed are refused with a code and a reason.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Any, Final, TypeVar, assert_never

from podium.core.addresses import ROOT
from podium.core.decide.advice import decision_in, objection
from podium.core.decide.approvals import has_answered, late_veto, may_answer
from podium.core.effects import IN_FLIGHT, AskPerson, RunAttempt, StartTimer, Watch
from podium.core.events import (
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    CancelAsked,
    Event,
    FactsFound,
    GuidanceGiven,
    JoinEnded,
    JumpAsked,
    LimitRaised,
    RunPaused,
    RunRecovered,
    RunResumed,
    RunStarted,
    SignalReceived,
    TimerFired,
    WaitEnded,
)
from podium.core.evolve.evolve import evolve
from podium.core.ledger import poor_in
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
    Resume,
    Signal,
    Start,
)
from podium.core.model import Block, Call, Wait
from podium.core.queries.graph import actions_of, body_of, order_of, workflow_of
from podium.core.state import Leaf, Scope, State
from podium.core.types import Millis, Path

Handled = tuple[Event, ...] | Refusal
R = TypeVar("R", AttemptEnded, WaitEnded, FactsFound, JoinEnded)

_REST: Final[Mapping[type[Event], Callable[[Event], tuple[Any, ...]]]] = {
    kind: attrgetter(*kind.__slots__[1:]) for kind in (AttemptEnded, WaitEnded, FactsFound, JoinEnded)
}
"""All fields of a report but its time."""


def handle(state: State, message: Message, now: Millis) -> Handled:
    if isinstance(message, Start):
        return _start(state, message, now)
    if state.started is None:
        return Refusal("not_started", "the run has not been started")
    match message:
        case AttemptEnded() | WaitEnded() | FactsFound() | JoinEnded() | Fired() | Recover():
            return () if state.ended is not None else _report(state, message, now)
        case _:
            if state.ended is not None:
                return Refusal("ended", f"the run has ended: {state.ended.status}")
            return _command(state, message, now)


def _start(state: State, message: Start, now: Millis) -> Handled:
    if state.started is not None:
        return Refusal("started", "the run has been started already")
    workflow = state.root.verb
    assert isinstance(workflow, Call)
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


def _report(
    state: State, message: AttemptEnded | WaitEnded | FactsFound | JoinEnded | Fired | Recover, now: Millis
) -> tuple[Event, ...]:
    match message:
        case AttemptEnded():
            effect = state.pending.get(("attempt", message.path))
            wanted = isinstance(effect, IN_FLIGHT)
            if not wanted or effect.asked.attempt != message.attempt:  # type: ignore[union-attr]  # wanted says so
                return ()
            return (_stamped(message, now),)
        case WaitEnded():
            return (_stamped(message, now),) if ("wait", message.path) in state.pending else ()
        case FactsFound():
            return _fact(state, message, now)
        case JoinEnded():
            return (_stamped(message, now),) if ("join", message.path) in state.pending else ()
        case Fired():
            return _fired(state, message, now)
        case Recover():
            return _recover(state, message, now)
        case _:
            assert_never(message)


def _stamped(report: R, now: Millis) -> R:
    """The report with the time of its turn, which is the first field of every event."""
    kind = type(report)
    return kind(now, *_REST[kind](report))


def _fact(state: State, message: FactsFound, now: Millis) -> tuple[Event, ...]:
    effect = state.pending.get(("fact", message.path))
    asked: Any = None if effect is None else effect.asked  # type: ignore[union-attr]  # FindFact under this key
    query = (message.function, message.argument, message.tree)
    if asked is None or (asked.function, asked.argument, asked.tree) != query:
        return ()
    return (_stamped(message, now),)


def _fired(state: State, message: Fired, now: Millis) -> tuple[Event, ...]:
    if message.due > now:
        return ()
    dues: list[Millis | None] = []
    for kind in ("timer", "wait", "person"):
        match state.pending.get((kind, message.path)):
            case StartTimer(due=due):
                dues.append(due)
            case Watch(asked=waited):
                dues.append(waited.due)
            case AskPerson(asked=asked):
                dues.extend((asked.expires, asked.remind, asked.escalate))
            case _:
                pass
    return (TimerFired(now, message.path, message.due),) if message.due in dues else ()


def _recover(state: State, message: Recover, now: Millis) -> tuple[Event, ...]:
    """A new owner: what was in flight is done again, unless its step says that a person must agree first.

    A call of an agent counts though it came to nothing, so it is made again only if that can be paid.
    """
    lost: list[Path] = []
    doubted: list[Event] = []
    after = evolve(state, RunRecovered(now, message.epoch))
    for (kind, path), effect in state.pending.items():
        if kind != "attempt" or not isinstance(effect, RunAttempt) or effect.by_hand:
            continue
        place, reserve = state.instances[path].place, effect.asked.reserve
        if not place.step.repeatable or (reserve.calls and poor_in(after, place.ledger, reserve)):
            doubted.append(AttemptDoubted(now, path, effect.asked.attempt))
            after = evolve(after, doubted[-1])
        elif reserve.calls:
            lost.append(path)
            after = evolve(after, RunRecovered(now, message.epoch, (path,)))
    return (RunRecovered(now, message.epoch, tuple(lost)), *doubted)


def _command(
    state: State, message: Approve | Signal | Cancel | Jump | Pause | Resume | Guide | RaiseLimit, now: Millis
) -> Handled:
    match message:
        case Approve():
            return _approve(state, message, now)
        case Signal():
            return _signal(state, message, now)
        case Cancel():
            return _cancel(state, message, now)
        case Jump():
            return _jump(state, message, now)
        case Pause():
            return () if state.paused else (RunPaused(now, message.by),)
        case Resume():
            return (RunResumed(now, message.by),) if state.paused else ()
        case Guide():
            return (GuidanceGiven(now, message.by, message.text),)
        case RaiseLimit():
            return _raise(state, message, now)
        case _:
            assert_never(message)


def _approve(state: State, message: Approve, now: Millis) -> Handled:
    leaf = state.instances.get(message.path)
    if not isinstance(leaf, Leaf) or leaf.asked is None or ("person", message.path) not in state.pending:
        veto = late_veto(state, message, now)
        if veto is not None:
            return _vetoed(state, veto, now)
        who = leaf.given[-1].by if isinstance(leaf, Leaf) and leaf.given else None
        by = f"; {who} has answered" if who else ""
        return Refusal("not_waiting", f"{message.path!r} does not wait for an answer{by}")
    step, asked = leaf.place.step, leaf.asked
    allowed = actions_of(step)
    if message.action not in allowed:
        return Refusal(
            "unknown_action", f"{message.action!r} is no answer here; choose from {', '.join(allowed)}"
        )
    if asked.expires is not None and asked.expires <= now:
        return Refusal("expired", f"the time to answer {message.path!r} is over")
    if message.tree is not None and asked.tree is not None and message.tree != asked.tree:
        return Refusal("stale", f"the files changed after you looked at {message.path!r}; review them again")
    groups = dict(workflow_of(state, leaf.place).people)
    if not may_answer(asked.by, message.by, groups):
        return Refusal("not_asked", f"{message.by} is not among those who decide: {', '.join(asked.by)}")
    if message.action == "approve" and has_answered(leaf.given, message.by):
        return Refusal("answered", f"{message.by} has approved {message.path!r} already")
    choices = step.output.choices
    if message.action == "answer" and choices and message.answer not in choices:
        return Refusal("unknown_answer", f"choose from {', '.join(choices)}")
    if leaf.place.role == "advice":
        why = objection(state, leaf, decision_in(message.action, message.answer))
        if why:
            return Refusal("unknown_name", why)
    seen = message.tree if message.tree is not None else asked.tree
    return (ApprovalGiven(now, message.path, message.action, message.by, message.text, message.answer, seen),)


def _vetoed(state: State, veto: Jump | Refusal, now: Millis) -> Handled:
    """Back to where the rejection leads; whoever works there next hears the words."""
    back = veto if isinstance(veto, Refusal) else _jump(state, veto, now)
    if isinstance(veto, Refusal) or isinstance(back, Refusal) or not veto.why:
        return back
    return (*back, GuidanceGiven(now, veto.by, veto.why))


def _signal(state: State, message: Signal, now: Millis) -> Handled:
    found = tuple(
        SignalReceived(now, path, message.name, message.data, message.by)
        for (kind, path), _ in state.pending.items()
        if kind == "wait" and _waits_for(state, path, message.name)
    )
    return found or Refusal("nobody_waits", f"no step waits for the signal {message.name!r}")


def _waits_for(state: State, path: Any, name: str) -> bool:
    verb = state.instances[path].place.step.verb
    return isinstance(verb, Wait) and verb.what == "signal" and verb.detail.get("signal") == name


def _cancel(state: State, message: Cancel, now: Millis) -> Handled:
    # Clean-up must not wait for somebody who says that the run goes on.
    resumed = (RunResumed(now, message.by),) if state.paused else ()
    if state.cancelling and (state.forced or not message.force):
        return resumed
    root = state.instances[ROOT]
    assert isinstance(root, Scope)
    if root.closing and not message.force:
        return Refusal("closing", "the main part is over and clean-up is under way; --force ends that too")
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


def _raise(state: State, message: RaiseLimit, now: Millis) -> Handled:
    book = state.ledgers.get(message.ledger)
    if book is None:
        return Refusal("no_ledger", f"nothing counts limits at {message.ledger!r}")
    current = getattr(book.limits, message.unit)
    if current is None or message.to <= current:
        return Refusal("not_raised", f"{message.unit} is limited to {current}; a limit can only be raised")
    return (LimitRaised(now, message.ledger, message.unit, message.to, message.by),)
