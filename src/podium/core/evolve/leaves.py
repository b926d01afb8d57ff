"""Bookkeeping of leaves: attempts, waits, people, timers, facts. Called by evolve only."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from podium.core import ledger
from podium.core.addresses import ROOT
from podium.core.effects import IN_FLIGHT, AskPerson, CancelAttempt, FindFact, RunAttempt, StartTimer, Watch
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
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.model import Agent, Human
from podium.core.payloads import RefusedMember
from podium.core.state import Claim, Instance, Leaf, Phase, Scope, State, UncountedTries
from podium.core.types import AnswerKind, MicroUsd, Millis, Path

FAILURES_KEPT = 64
ANSWERED: Final[tuple[AnswerKind, ...]] = ("ok", "blocked")
"""How a call ends that came to its answer: whoever tells no price then tells none."""


def started(state: State, event: AttemptStarted) -> State:
    leaf, phase = _leaf(state, event)
    if event.attempt != leaf.attempt + 1 or leaf.cancelling:
        raise IllegalEvent(f"attempt {event.attempt} of {event.path!r} cannot start now")
    by_hand = is_by_hand(leaf)
    head = leave_queue(state, leaf)
    ledger.hold(state, leaf.place, event, timed=not by_hand)
    working = leaf._replace(phase=phase, attempt=event.attempt, ticket=-1, doubted=False, merge=None)
    state.instances.put(event.path, working)
    state.pending.put(("attempt", event.path), RunAttempt(event, by_hand))
    claim: Claim = "all" if event.claim is None else event.claim
    if claim:
        state.claims.put(event.path, claim)
    return state._replace(
        head=head,
        busy=state.busy + (not by_hand),
        guidance=() if event.guidance else state.guidance,
    )


def answered(state: State, event: AttemptEnded) -> State:
    leaf, phase = _leaf(state, event)
    state = _attempt_over(state, leaf, event.attempt, event)
    if event.kind in ("failed", "timeout", "error"):
        state = state._replace(failures=(*state.failures, event.at)[-FAILURES_KEPT:])
    answered_leaf = leaf._replace(phase=phase, answer=event, soft=_after(leaf.soft, event))
    state.instances.put(event.path, answered_leaf)
    if not event.cost_known and event.kind in ANSWERED and isinstance(leaf.place.step.verb, Agent):
        state = _without_price(state, leaf, event)
    if event.used.usd:
        _charge(state, event.path, event.used.usd)
    return state


def _without_price(state: State, leaf: Leaf, event: AttemptEnded) -> State:
    agent = str((event.result or {}).get("agent") or agent_of(leaf) or leaf.place.step.name)
    return state if agent in state.unpriced else state._replace(unpriced=(*state.unpriced, agent))


def agent_of(leaf: Leaf) -> str | None:
    """The agent that a file names for the next attempt; None if the attempt finds out."""
    verb = leaf.place.step.verb
    assert isinstance(verb, Agent)
    if leaf.soft.fallback:
        return verb.fallback[leaf.soft.fallback - 1]
    return verb.agent if isinstance(verb.agent, str) and verb.agent != "auto" else None


def _charge(state: State, path: Path, usd: MicroUsd) -> None:
    """Book a cost on the instance and on everything around it, for `steps.x.usd`."""
    while True:
        instance = state.instances[path]
        state.instances.put(path, instance._replace(usd=MicroUsd(instance.usd + usd)))
        if path == ROOT:
            return
        path = instance.place.parent


def doubted(state: State, event: AttemptDoubted) -> State:
    leaf, phase = _leaf(state, event)
    # Whether it took effect is not known, so neither is what it used: the reservation stays booked as unknown.
    lost(state, event.path)
    answer = AttemptEnded(event.at, event.path, event.attempt, "error", reason="doubted", cost_known=False)
    state = _attempt_over(state, leaf, event.attempt, replace(answer, cost_known=True))
    state.instances.put(event.path, leaf._replace(phase=phase, doubted=True, answer=answer))
    return state


def lost(state: State, path: Path) -> None:
    """A call has died with its owner: it was made, and nobody will know what it used."""
    effect = state.pending.get(("attempt", path))
    if not isinstance(effect, RunAttempt):
        raise IllegalEvent(f"no attempt of {path!r} is in flight")
    ledger.lose(state, state.instances[path].place, effect.asked.reserve)


def _attempt_over(state: State, leaf: Leaf, attempt: int, event: AttemptEnded) -> State:
    path = leaf.place.path
    effect = state.pending.get(("attempt", path))
    if not isinstance(effect, IN_FLIGHT) or attempt != leaf.attempt:
        raise IllegalEvent(f"attempt {attempt} of {path!r} is not in flight")
    by_hand = effect.by_hand
    ledger.settle(state, leaf.place, effect.asked.reserve, event, timed=not by_hand)
    state.pending.discard(("attempt", path))
    state.claims.discard(path)
    return state._replace(busy=state.busy - (not by_hand), usd=MicroUsd(state.usd + event.used.usd))


def _after(soft: UncountedTries, event: AttemptEnded) -> UncountedTries:
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
    if isinstance(leaf.merge, RefusedMember):
        # What it clashed with is on the head by now: only from there can the next try agree with it. Whatever was
        # best so far lacks that work, so it cannot be taken any more.
        scope = state.instances[leaf.place.parent]
        assert isinstance(scope, Scope)
        leaf = leaf._replace(base=scope.head, answer=None, best=None)
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
        state.instances.put(event.path, leaf)
        state.pending.put(("timer", event.path), StartTimer(event.path, event.due))
        return state
    return join_queue(state, leaf)


def waiting(state: State, event: WaitStarted | ApprovalAsked) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, WaitStarted):
        state.instances.put(event.path, leaf._replace(phase=phase, due=event.due))
        state.pending.put(("wait", event.path), Watch(event))
    else:
        state.instances.put(event.path, leaf._replace(phase=phase, asked=event, given=()))
        state.pending.put(("person", event.path), AskPerson(event))
    return state


def arrived(state: State, event: WaitEnded | SignalReceived) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, SignalReceived):
        event = WaitEnded(event.at, event.path, "ok", result={"output": event.data})
    answer = AttemptEnded(event.at, event.path, 0, event.kind, reason=event.reason, result=event.result)
    state.instances.put(event.path, leaf._replace(phase=phase, answer=answer))
    state.pending.discard(("wait", event.path))
    return state


def approved(state: State, event: ApprovalGiven) -> State:
    leaf, _ = _leaf(state, event)
    assert leaf.asked is not None
    others = tuple([answer for answer in leaf.given if answer.by != event.by])
    if event.action == "approve" and others != leaf.given:
        raise IllegalEvent(f"{event.by} has approved {event.path!r} already")
    given = (*others, event)  # As long as the question is open, somebody who has said yes may still say no.
    enough = event.action != "approve" or len(given) >= leaf.asked.approvals
    phase: Phase = "answered" if enough else "waiting"
    state.instances.put(event.path, leaf._replace(phase=phase, given=given))
    if enough:
        state.pending.discard(("person", event.path))
    return state


def fired(state: State, event: TimerFired) -> State:
    instance, phases = _instance(state, event)
    if isinstance(instance, Scope):
        _check_due(state, event)
        state.instances.put(event.path, instance._replace(expired=True))
        state.pending.discard(("timer", event.path))
        return state
    if instance.phase == "paused":
        _check_due(state, event)
        state.pending.discard(("timer", event.path))
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
        state.instances.put(path, leaf._replace(phase="answered", silent=True))
        state.pending.discard(("wait", path))
        state.pending.discard(("person", path))
        return state
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
    state.instances.put(path, leaf._replace(asked=asked))
    state.pending.put(("person", path), AskPerson(asked))
    return state


def facts(state: State, event: FactsAsked | FactsFound) -> State:
    instance, _ = _instance(state, event)
    if isinstance(event, FactsAsked):
        if ("fact", event.path) in state.pending:
            raise IllegalEvent(f"{event.path!r} has asked already")
        state.pending.put(("fact", event.path), FindFact(event))
        return state
    if ("fact", event.path) not in state.pending:
        raise IllegalEvent(f"{event.path!r} did not ask for a fact")
    # Facts are about a tree: of another tree they are of no use any more.
    known = (*(fact for fact in instance.facts if fact.tree == event.tree), event)
    state.instances.put(event.path, instance._replace(facts=known))
    state.pending.discard(("fact", event.path))
    return state


def cancelling(state: State, event: CancelOrdered) -> State:
    instance, _ = _instance(state, event)
    if instance.cancelling:
        raise IllegalEvent(f"{event.path!r} is being cancelled already")
    effect = state.pending.get(("attempt", event.path))
    if isinstance(effect, RunAttempt):
        state.pending.put(("attempt", event.path), CancelAttempt(effect.asked, effect.by_hand))
    state.instances.put(event.path, instance._replace(cancelling=True))
    return state


def join_queue(state: State, leaf: Leaf) -> State:
    """Give the leaf a ticket for a slot."""
    state.instances.put(leaf.place.path, leaf._replace(ticket=state.tail))
    return take_ticket(state, leaf.place.path)


def take_ticket(state: State, path: Path) -> State:
    """Queue up for a slot; the leaf at this path has the number of the ticket already."""
    state.queue.put(state.tail, path)
    return state._replace(tail=state.tail + 1)


def leave_queue(state: State, leaf: Leaf) -> int:
    """Take back the ticket of the leaf; the new head of the queue."""
    state.queue.discard(leaf.ticket)
    head = state.head
    while head < state.tail and head not in state.queue:
        head += 1
    return head


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
