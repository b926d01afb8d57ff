"""Applies the events of leaves: attempts, waits, approvals, facts. Called by evolve only."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from podium.core import guidance, ledger
from podium.core.addresses import ROOT
from podium.core.effects import IN_FLIGHT, AskPerson, CancelAttempt, FindFact, RunAttempt, StartTimer, Watch
from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptDoubted,
    AttemptEnded,
    AttemptGuided,
    AttemptLost,
    AttemptQueued,
    AttemptStarted,
    CancelOrdered,
    FactsAsked,
    FactsFound,
    InstanceEvent,
    RetryScheduled,
    SignalReceived,
    ToolAsked,
    WaitEnded,
    WaitStarted,
)
from podium.core.evolve.lifecycle import IllegalEvent, phases_after
from podium.core.model import Agent
from podium.core.payloads import RefusedMember, RunMemory, StepFailure
from podium.core.queries.mailboxes import left_notes, mark_read
from podium.core.queries.memories import memory_of
from podium.core.queries.step_failures import failing_step
from podium.core.queries.steps import AUTO, upgrade_after, upgraded, with_choice
from podium.core.queries.teams import exchanges_after
from podium.core.queries.tool_calls import must_ask
from podium.core.state import Instance, Leaf, Phase, Scope, State, UncountedTries
from podium.core.step_settings import ChildRun
from podium.core.types import MEMORY_FACTS, MERGE_MEMORY, Address, AnswerKind, MicroUsd, Tree

FAILURES_KEPT = 64
ANSWERED: Final[tuple[AnswerKind, ...]] = ("ok", "blocked", "asked")
"""The kinds of answers that come with a price if the agent reports prices at all."""


def start_attempt(state: State, event: AttemptStarted) -> State:
    leaf, phase = _leaf(state, event)
    if event.attempt != leaf.attempt + 1 or leaf.cancelling:
        raise IllegalEvent(f"attempt {event.attempt} of {event.path!r} cannot start now")
    by_hand = is_by_hand(leaf)
    head = leave_queue(state, leaf)
    ledger.reserve_amounts(state, leaf.place, event, timed=_is_timed(leaf))
    working = leaf._replace(
        phase=phase,
        attempt=event.attempt,
        ticket=-1,
        outcome_unknown=False,
        join_status=None,
        guidance=event.guidance or leaf.guidance,
        notes=(*leaf.notes, *event.notes),
    )
    state.instances.put(event.path, working)
    state.pending.put(("attempt", event.path), RunAttempt(event, by_hand))
    return state._replace(
        queue_head=head,
        busy=state.busy + (not by_hand),
        guidance=guidance.after_start(state.guidance, event) if event.guidance else state.guidance,
        notes=mark_read(state.notes, event.notes) if event.notes else state.notes,
    )


def guide_attempt(state: State, event: AttemptGuided) -> State:
    """Add the text to what the leaf received, and to what its attempt is given if it has to be repeated after a crash."""
    leaf, _ = _leaf(state, event)
    if event.refused:
        return state
    state.instances.put(event.path, leaf._replace(guidance=(*leaf.guidance, event.text)))
    effect = state.pending.get(("attempt", event.path))
    if isinstance(effect, RunAttempt):
        started = replace(effect.started, guidance=(*effect.started.guidance, event.text))
        state.pending.put(("attempt", event.path), replace(effect, started=started))
    return state._replace(guidance=guidance.after_guided(state.guidance, event))


def ask_about_tool(state: State, event: ToolAsked) -> State:
    leaf, phase = _leaf(state, event)
    state.instances.put(event.path, leaf._replace(phase=phase, calls=(*leaf.calls, event.call)))
    return state


def end_attempt(state: State, event: AttemptEnded) -> State:
    leaf, phase = _leaf(state, event)
    state = _settle_attempt(state, leaf, event.attempt, event)
    if event.kind in ("failed", "timeout", "error"):
        failure = StepFailure(failing_step(event.path), event.at)
        state = state._replace(failures=(*state.failures, failure)[-FAILURES_KEPT:])
    uncounted = _count_uncounted(leaf.uncounted, event)
    uncounted = uncounted._replace(repeated=uncounted.repeated + 1 if _is_repeated(leaf.answer, event) else 0)
    calls = (*leaf.calls, *(call for call in event.calls if must_ask(state, leaf, call)))
    answered_leaf = leaf._replace(
        phase=phase, answer=event, uncounted=uncounted, member_tree=None, calls=calls
    )
    state.instances.put(event.path, answered_leaf)
    if not event.cost_known and event.kind in ANSWERED and isinstance(leaf.place.step.verb, Agent):
        state = _record_missing_price(state, leaf, event)
    if event.used.usd:
        _charge(state, event.path, event.used.usd)
    if event.asks:
        ledger.count_messages(state, leaf.place.ledger, len(event.asks))
    if event.notes:
        state = state._replace(notes=(*state.notes, *left_notes(state, leaf, event)))
    return state


def _record_missing_price(state: State, leaf: Leaf, event: AttemptEnded) -> State:
    agent = str((event.result or {}).get("agent") or agent_of(state, leaf) or leaf.place.step.name)
    return state if agent in state.unpriced else state._replace(unpriced=(*state.unpriced, agent))


def agent_of(state: State, leaf: Leaf) -> str | None:
    """The agent that the file names for the next attempt; None if the attempt chooses it."""
    verb = leaf.place.step.verb
    assert isinstance(verb, Agent)
    if leaf.uncounted.fallback:
        return verb.fallback[leaf.uncounted.fallback - 1]
    chosen = () if state.started is None else state.started.run.chosen
    step = upgraded(with_choice(leaf.place.step, leaf.place.path, chosen), upgrade_of(leaf))
    own = step.verb.agent  # type: ignore[union-attr]  # it is still an Agent
    return own if isinstance(own, str) and own != AUTO else None


def upgrade_of(leaf: Leaf) -> int:
    """The number of the upgrade that makes the next attempt."""
    return upgrade_after(leaf.place.step, leaf.tries)


def _charge(state: State, path: Address, usd: MicroUsd) -> None:
    """Add a cost to the instance and all enclosing ones, for `steps.x.usd`."""
    while True:
        instance = state.instances[path]
        state.instances.put(path, instance._replace(usd=MicroUsd(instance.usd + usd)))
        if path == ROOT:
            return
        path = instance.place.parent


def doubt_attempt(state: State, event: AttemptDoubted) -> State:
    leaf, phase = _leaf(state, event)
    # It is not known whether the attempt took effect or what it used, so its reservation stays booked as unknown.
    book_lost_attempt(state, event.path)
    answer = AttemptEnded(event.at, event.path, event.attempt, "error", reason="doubted", cost_known=False)
    state = _settle_attempt(state, leaf, event.attempt, replace(answer, cost_known=True))
    state.instances.put(event.path, leaf._replace(phase=phase, outcome_unknown=True, answer=answer))
    return state


def lose_attempt(state: State, event: AttemptLost) -> State:
    """Book the call. The effect stays pending, and no other attempt is affected."""
    if event.attempt != _leaf(state, event)[0].attempt:
        raise IllegalEvent(f"attempt {event.attempt} of {event.path!r} is not in flight")
    book_lost_attempt(state, event.path)
    return state


def book_lost_attempt(state: State, path: Address) -> None:
    """Book a call that a crash interrupted: it was made, but what it used will never be known."""
    effect = state.pending.get(("attempt", path))
    if not isinstance(effect, RunAttempt):
        raise IllegalEvent(f"no attempt of {path!r} is in flight")
    place = state.instances[path].place
    if not isinstance(place.step.verb, ChildRun):  # Its own log tells what it has used.
        ledger.book_lost_call(state, place, effect.started.reserve)


def _settle_attempt(state: State, leaf: Leaf, attempt: int, event: AttemptEnded) -> State:
    path = leaf.place.path
    effect = state.pending.get(("attempt", path))
    if not isinstance(effect, IN_FLIGHT) or attempt != leaf.attempt:
        raise IllegalEvent(f"attempt {attempt} of {path!r} is not in flight")
    by_hand = effect.by_hand
    ledger.settle(state, leaf.place, effect.started.reserve, event, timed=_is_timed(leaf))
    state.pending.discard(("attempt", path))
    return state._replace(busy=state.busy - (not by_hand), usd=MicroUsd(state.usd + event.used.usd))


def _is_repeated(before: AttemptEnded | None, event: AttemptEnded) -> bool:
    """Whether this answer is malformed and equal to the one before."""
    if before is None or not event.digest:
        return False
    return before.kind == event.kind == "malformed" and before.digest == event.digest


def _count_uncounted(uncounted: UncountedTries, event: AttemptEnded) -> UncountedTries:
    match event.kind:
        case "transient":
            return uncounted._replace(transient=uncounted.transient + 1)
        case "malformed":
            return uncounted._replace(repair=uncounted.repair + 1)
        case "quota":
            return uncounted._replace(quota=uncounted.quota + 1)
        case "timeout":
            return uncounted._replace(timeouts=uncounted.timeouts + 1)
        case _:
            return uncounted


def queue_attempt(state: State, event: AttemptQueued | RetryScheduled) -> State:
    leaf, phase = _leaf(state, event)
    if leaf.ticket >= 0:
        raise IllegalEvent(f"{event.path!r} is already in the queue")
    uncounted = leaf.uncounted
    if event.why in ("counted", "answered"):
        # A counted try, and one that goes on with answers, gets the full number of transient and repair tries again.
        uncounted = uncounted._replace(transient=0, repair=0)
    elif event.why == "granted":
        uncounted = uncounted._replace(transient=0, repair=0, granted=uncounted.granted + 1)
    elif event.why == "fallback":
        uncounted = uncounted._replace(fallback=uncounted.fallback + 1)
    counted = event.why in ("counted", "granted")
    if counted and upgrade_after(leaf.place.step, leaf.tries + 1) > upgrade_of(leaf):
        # Another agent takes over, for which no other one has taken over yet.
        uncounted = uncounted._replace(fallback=0)
    if isinstance(leaf.join_status, RefusedMember):
        # The conflicting work is on the head by now, so only a try that starts from the head can agree with it. The best
        # attempt so far lacks that work, so it can no longer be accepted.
        scope = state.instances[leaf.place.parent]
        assert isinstance(scope, Scope)
        leaf = leaf._replace(base=scope.head, answer=None, best=None)
    leaf = leaf._replace(
        phase=phase,
        tries=leaf.tries + counted,
        uncounted=uncounted,
        outcome_unknown=False,
        join_status=leaf.join_status if event.why == "ready" else None,
        feedback=(*leaf.feedback, *event.feedback),
        due=event.due if isinstance(event, RetryScheduled) else None,
        exchanges=leaf.exchanges if isinstance(event, RetryScheduled) else exchanges_after(leaf, event),
    )
    if isinstance(event, RetryScheduled):
        state.instances.put(event.path, leaf)
        state.pending.put(("timer", event.path), StartTimer(event.path, event.due))
        return state
    return join_queue(state, leaf)


def start_waiting(state: State, event: WaitStarted | ApprovalAsked) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, WaitStarted):
        state.instances.put(event.path, leaf._replace(phase=phase, due=event.due))
        state.pending.put(("wait", event.path), Watch(event))
    else:
        state.instances.put(event.path, leaf._replace(phase=phase, approval_request=event, approvals=()))
        state.pending.put(("person", event.path), AskPerson(event))
    return state


def end_wait(state: State, event: WaitEnded | SignalReceived) -> State:
    leaf, phase = _leaf(state, event)
    if isinstance(event, SignalReceived):
        event = WaitEnded(event.at, event.path, "ok", result={"output": event.data})
    answer = AttemptEnded(event.at, event.path, 0, event.kind, reason=event.reason, result=event.result)
    state.instances.put(event.path, leaf._replace(phase=phase, answer=answer))
    state.pending.discard(("wait", event.path))
    return state


def record_approval(state: State, event: ApprovalGiven) -> State:
    leaf, _ = _leaf(state, event)
    assert leaf.approval_request is not None
    earlier = tuple([answer for answer in leaf.approvals if answer.by != event.by])
    if event.action == "approve" and earlier != leaf.approvals:
        raise IllegalEvent(f"{event.by} has already approved {event.path!r}")
    approvals = (*earlier, event)  # While the question is open, a person who approved may still reject.
    enough = event.action != "approve" or len(approvals) >= leaf.approval_request.approvals
    phase: Phase = "answered" if enough else "waiting"
    state.instances.put(event.path, leaf._replace(phase=phase, approvals=approvals))
    if enough:
        state.pending.discard(("person", event.path))
    return state


def record_facts(state: State, event: FactsAsked | FactsFound) -> State:
    instance, _ = instance_of(state, event)
    if isinstance(event, FactsAsked):
        if ("fact", event.path) in state.pending:
            raise IllegalEvent(f"{event.path!r} has already requested a fact")
        state.pending.put(("fact", event.path), FindFact(event))
        return state
    if ("fact", event.path) not in state.pending:
        raise IllegalEvent(f"{event.path!r} has not requested a fact")
    if event.function in MEMORY_FACTS:
        state.pending.discard(("fact", event.path))
        return _record_memory(state, event)
    # A fact holds for one tree; facts about other trees are dropped.
    facts_of_tree = (*(fact for fact in instance.facts if fact.tree == event.tree), event)
    state.instances.put(event.path, instance._replace(facts=facts_of_tree))
    state.pending.discard(("fact", event.path))
    return state


def _record_memory(state: State, event: FactsFound) -> State:
    """Keep the version of a memory that the run uses, or how its changes were merged."""
    name, value = event.argument, event.value
    memory = memory_of(state, name)
    if event.function == MERGE_MEMORY:
        assert memory is not None
        return put_memory(state, replace(memory, merge=value or {}))
    if memory is not None:
        return state  # Another step has asked at the same time, and the first answer counts.
    if value is None:
        return put_memory(state, RunMemory(name, None))
    return put_memory(state, RunMemory(name, value["tip"], Tree(value["tree"])))


def put_memory(state: State, memory: RunMemory) -> State:
    others = tuple(each for each in state.memories if each.name != memory.name)
    return state._replace(memories=(*others, memory))


def cancel(state: State, event: CancelOrdered) -> State:
    instance, _ = instance_of(state, event)
    if instance.cancelling:
        raise IllegalEvent(f"{event.path!r} is already being cancelled")
    effect = state.pending.get(("attempt", event.path))
    if isinstance(effect, RunAttempt):
        state.pending.put(("attempt", event.path), CancelAttempt(effect.started, effect.by_hand))
    state.instances.put(event.path, instance._replace(cancelling=True))
    return state


def join_queue(state: State, leaf: Leaf) -> State:
    """Put the leaf into the queue for a slot."""
    state.instances.put(leaf.place.path, leaf._replace(ticket=state.queue_tail))
    return take_ticket(state, leaf.place.path)


def take_ticket(state: State, path: Address) -> State:
    """Add an entry to the queue for a slot; the leaf at this address already has its number."""
    state.queue.put(state.queue_tail, path)
    return state._replace(queue_tail=state.queue_tail + 1)


def leave_queue(state: State, leaf: Leaf) -> int:
    """Remove the leaf from the queue and return the new head of the queue."""
    state.queue.discard(leaf.ticket)
    head = state.queue_head
    while head < state.queue_tail and head not in state.queue:
        head += 1
    return head


def is_by_hand(leaf: Leaf) -> bool:
    verb = leaf.place.step.verb
    return isinstance(verb, Agent) and verb.by_hand


def _is_timed(leaf: Leaf) -> bool:
    """Whether its attempts are working time: neither those of a person, nor runs elsewhere, which have a time of their own."""
    return not is_by_hand(leaf) and not isinstance(leaf.place.step.verb, ChildRun)


def instance_of(state: State, event: InstanceEvent) -> tuple[Instance, tuple[Phase, ...]]:
    instance = state.instances.get(event.path)
    if instance is None:
        raise IllegalEvent(f"{event.path!r} has not been entered")
    return instance, phases_after(instance, event)


def _leaf(state: State, event: InstanceEvent) -> tuple[Leaf, Phase]:
    instance, phases = instance_of(state, event)
    # The lifecycle table allows these events for leaves only.
    assert isinstance(instance, Leaf)
    return instance, phases[0]
