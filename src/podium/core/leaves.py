"""Bookkeeping of leaves: attempts, waits, people, timers, facts. Called by evolve only."""

from __future__ import annotations

from dataclasses import replace

from podium.core import ledger
from podium.core.effects import AskPerson, CancelAttempt, FindFact, RunAttempt, StartTimer, Watch
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    CancelOrdered,
    FactsAsked,
    FactsFound,
    InstanceEvent,
    RetryScheduled,
    SignalReceived,
    TimerFired,
    WaitEnded,
    WaitStarted,
)
from podium.core.facts import Refused
from podium.core.lifecycle import IllegalEvent, phases_after
from podium.core.model import Agent, Human
from podium.core.paths import ROOT
from podium.core.state import Claim, Instance, Leaf, Phase, Scope, Soft, State
from podium.core.words import MicroUsd, Millis, Path

FAILURES_KEPT = 64


def started(state: State, event: AttemptStarted) -> State:
    leaf, phase = _leaf(state, event)
    if event.attempt != leaf.attempt + 1 or leaf.cancelling:
        raise IllegalEvent(f"attempt {event.attempt} of {event.path!r} cannot start now")
    by_hand = is_by_hand(leaf)
    state = leave_queue(state, leaf)
    state = ledger.hold(state, leaf.place, event, timed=not by_hand)
    claim: Claim = "all" if event.claim is None else event.claim
    return state._replace(
        instances=state.instances.set(
            event.path,
            leaf._replace(phase=phase, attempt=event.attempt, ticket=-1, doubted=False, merge=None),
        ),
        pending=state.pending.set(("attempt", event.path), RunAttempt(event, by_hand)),
        busy=state.busy + (not by_hand),
        claims=state.claims.set(event.path, claim) if claim else state.claims,
        guidance=() if event.guidance else state.guidance,
    )


def answered(state: State, event: AttemptEnded) -> State:
    leaf, phase = _leaf(state, event)
    state = _attempt_over(state, leaf, event.attempt, event)
    failures = state.failures
    if event.kind in ("failed", "timeout", "error"):
        failures = (*failures, event.at)[-FAILURES_KEPT:]
    answered_leaf = leaf._replace(phase=phase, answer=event, soft=_after(leaf.soft, event))
    state = state._replace(instances=state.instances.set(event.path, answered_leaf), failures=failures)
    return _charge(state, event.path, event.used.usd) if event.used.usd else state


def _charge(state: State, path: Path, usd: MicroUsd) -> State:
    """Book a cost on the instance and on everything around it, for `steps.x.usd`."""
    instances = state.instances
    while True:
        instance = instances[path]
        instances = instances.set(path, instance._replace(usd=MicroUsd(instance.usd + usd)))
        if path == ROOT:
            return state._replace(instances=instances)
        path = instance.place.parent


def doubted(state: State, event: AttemptDoubted) -> State:
    leaf, phase = _leaf(state, event)
    # Whether it took effect is not known, so neither is its price: the reservation stays booked as unknown.
    lost = AttemptEnded(event.at, event.path, event.attempt, "error", reason="doubted", cost_known=False)
    state = _attempt_over(state, leaf, event.attempt, lost)
    doubted_leaf = leaf._replace(phase=phase, doubted=True, answer=lost)
    return state._replace(instances=state.instances.set(event.path, doubted_leaf))


def _attempt_over(state: State, leaf: Leaf, attempt: int, event: AttemptEnded) -> State:
    path = leaf.place.path
    effect = state.pending.get(("attempt", path))
    if not isinstance(effect, RunAttempt | CancelAttempt) or attempt != leaf.attempt:
        raise IllegalEvent(f"attempt {attempt} of {path!r} is not in flight")
    by_hand = effect.by_hand
    state = ledger.settle(state, leaf.place, effect.asked.reserve, event, timed=not by_hand)
    return state._replace(
        pending=state.pending.drop(("attempt", path)),
        busy=state.busy - (not by_hand),
        claims=state.claims.drop(path),
    )


def _after(soft: Soft, event: AttemptEnded) -> Soft:
    match event.kind:
        case "transient":
            return soft._replace(transient=soft.transient + 1)
        case "malformed":
            return soft._replace(repair=soft.repair + 1)
        case "quota":
            return soft._replace(quota=soft.quota + 1)
        case "timeout":
            return soft._replace(timeouts=soft.timeouts + 1)
        case _:
            return soft


def again(state: State, event: AttemptQueued | RetryScheduled) -> State:
    leaf, phase = _leaf(state, event)
    if leaf.ticket >= 0:
        raise IllegalEvent(f"{event.path!r} is in the queue already")
    soft = leaf.soft
    if event.why == "counted":
        # A counted try starts afresh: what was transient before does not narrow it.
        soft = soft._replace(transient=0, repair=0)
    elif event.why == "granted":
        soft = soft._replace(transient=0, repair=0, granted=soft.granted + 1)
    elif event.why == "fallback":
        soft = soft._replace(fallback=soft.fallback + 1)
    counted = event.why in ("counted", "granted")
    if isinstance(leaf.merge, Refused):
        # What it clashed with is on the head by now: only from there can the next try agree with it.
        scope = state.instances[leaf.place.parent]
        leaf = leaf._replace(base=scope.head if isinstance(scope, Scope) else leaf.base, answer=None)
    leaf = leaf._replace(
        phase=phase,
        tries=leaf.tries + counted,
        soft=soft,
        doubted=False,
        merge=leaf.merge if event.why == "ready" else None,
        feedback=(*leaf.feedback, *event.feedback),
        due=event.due if isinstance(event, RetryScheduled) else None,
    )
    if isinstance(event, RetryScheduled):
        timer = StartTimer(event.path, event.due)
        return state._replace(
            instances=state.instances.set(event.path, leaf),
            pending=state.pending.set(("timer", event.path), timer),
        )
    return join_queue(state, leaf)


def waiting(state: State, event: WaitStarted | ApprovalAsked) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, WaitStarted):
        return state._replace(
            instances=state.instances.set(event.path, leaf._replace(phase=phase, due=event.due)),
            pending=state.pending.set(("wait", event.path), Watch(event)),
        )
    return state._replace(
        instances=state.instances.set(event.path, leaf._replace(phase=phase, asked=event, given=())),
        pending=state.pending.set(("person", event.path), AskPerson(event)),
    )


def arrived(state: State, event: WaitEnded | SignalReceived) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, SignalReceived):
        event = WaitEnded(event.at, event.path, "ok", result={"output": event.data})
    answer = AttemptEnded(event.at, event.path, 0, event.kind, reason=event.reason, result=event.result)
    return state._replace(
        instances=state.instances.set(event.path, leaf._replace(phase=phase, answer=answer)),
        pending=state.pending.drop(("wait", event.path)),
    )


def approved(state: State, event: ApprovalGiven) -> State:
    leaf, _ = _leaf(state, event)
    assert leaf.asked is not None
    if any(answer.by == event.by for answer in leaf.given):
        raise IllegalEvent(f"{event.by} has answered {event.path!r} already")
    given = (*leaf.given, event)
    enough = event.action != "approve" or len(given) >= leaf.asked.approvals
    phase: Phase = "answered" if enough else "waiting"
    return state._replace(
        instances=state.instances.set(event.path, leaf._replace(phase=phase, given=given)),
        pending=state.pending.drop(("person", event.path)) if enough else state.pending,
    )


def fired(state: State, event: TimerFired) -> State:
    instance, phases = _instance(state, event)
    if isinstance(instance, Scope):
        _check_due(state, event)
        return state._replace(
            instances=state.instances.set(event.path, instance._replace(expired=True)),
            pending=state.pending.drop(("timer", event.path)),
        )
    if instance.phase == "paused":
        _check_due(state, event)
        state = state._replace(pending=state.pending.drop(("timer", event.path)))
        return join_queue(state, instance._replace(phase=phases[0], due=None))
    return _time_is_up(state, instance, event)


def _check_due(state: State, event: TimerFired) -> None:
    timer = state.pending.get(("timer", event.path))
    if not isinstance(timer, StartTimer) or timer.due != event.due:
        raise IllegalEvent(f"no timer of {event.path!r} is due at {event.due}")


def _time_is_up(state: State, leaf: Leaf, event: TimerFired) -> State:
    """A waiting leaf: its own time is over, or a person is to be reminded, or somebody else is to be told."""
    path, asked = event.path, leaf.asked
    if leaf.due == event.due or (asked is not None and asked.expires == event.due):
        return state._replace(
            instances=state.instances.set(path, leaf._replace(phase="answered", silent=True)),
            pending=state.pending.drop(("wait", path)).drop(("person", path)),
        )
    verb = leaf.place.step.verb
    if asked is None or not isinstance(verb, Human) or event.due not in (asked.remind, asked.escalate):
        raise IllegalEvent(f"no timer of {path!r} is due at {event.due}")
    if asked.remind == event.due:
        every = verb.oversight.remind
        asked = replace(asked, remind=None if every is None else Millis(event.due + every))
    else:
        # Where anybody may answer, telling more people must not shut the others out.
        wider = (*asked.by, *verb.oversight.escalate_to) if asked.by else ()
        asked = replace(asked, escalate=None, by=wider)
    return state._replace(
        instances=state.instances.set(path, leaf._replace(asked=asked)),
        pending=state.pending.set(("person", path), AskPerson(asked)),
    )


def facts(state: State, event: FactsAsked | FactsFound) -> State:
    instance, _ = _instance(state, event)
    if isinstance(event, FactsAsked):
        if ("fact", event.path) in state.pending:
            raise IllegalEvent(f"{event.path!r} has asked already")
        return state._replace(pending=state.pending.set(("fact", event.path), FindFact(event)))
    if ("fact", event.path) not in state.pending:
        raise IllegalEvent(f"{event.path!r} did not ask for a fact")
    # Facts are about a tree: of another tree they are of no use any more.
    known = (*(fact for fact in instance.facts if fact.tree == event.tree), event)
    return state._replace(
        instances=state.instances.set(event.path, instance._replace(facts=known)),
        pending=state.pending.drop(("fact", event.path)),
    )


def cancelling(state: State, event: CancelOrdered) -> State:
    instance, _ = _instance(state, event)
    if instance.cancelling:
        raise IllegalEvent(f"{event.path!r} is being cancelled already")
    pending = state.pending
    effect = pending.get(("attempt", event.path))
    if isinstance(effect, RunAttempt):
        pending = pending.set(("attempt", event.path), CancelAttempt(effect.asked, effect.by_hand))
    return state._replace(
        instances=state.instances.set(event.path, instance._replace(cancelling=True)),
        pending=pending,
    )


def join_queue(state: State, leaf: Leaf) -> State:
    """Give the leaf a ticket for a slot."""
    ticket = state.tail
    return state._replace(
        instances=state.instances.set(leaf.place.path, leaf._replace(ticket=ticket)),
        queue=state.queue.set(ticket, leaf.place.path),
        tail=ticket + 1,
    )


def leave_queue(state: State, leaf: Leaf) -> State:
    if leaf.ticket < 0:
        return state
    queue, head = state.queue.drop(leaf.ticket), state.head
    while head < state.tail and head not in queue:
        head += 1
    return state._replace(queue=queue, head=head)


def is_by_hand(leaf: Leaf) -> bool:
    verb = leaf.place.step.verb
    return isinstance(verb, Agent) and verb.by_hand


def _instance(state: State, event: InstanceEvent) -> tuple[Instance, tuple[Phase, ...]]:
    instance = state.instances.get(event.path)
    if instance is None:
        raise IllegalEvent(f"there is no {event.path!r}")
    return instance, phases_after(instance, event)


def _leaf(state: State, event: InstanceEvent) -> tuple[Leaf, Phase]:
    instance, phases = _instance(state, event)
    # The table has these events for leaves only.
    assert isinstance(instance, Leaf)
    return instance, phases[0]
