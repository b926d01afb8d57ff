"""Starts queued attempts in order, as far as slots and limits allow.

If the head of the queue lacks money that running attempts have reserved, the queue waits; otherwise cheaper attempts
behind it would starve it.

Under a limit on money, a person is asked before the next call of an agent without a price. Only a call that answered
without a price shows that its agent reports none; a failed call may have lost its price and keeps its reservation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from podium.core import addresses, ledger
from podium.core.addresses import without_numbers
from podium.core.decide import entry
from podium.core.decide.admission import LOOK_AHEAD
from podium.core.decide.attempts import degrade_of, entry_or_end
from podium.core.decide.entry import limit_ending, result_tree, start_of
from podium.core.decide.limit_text import limit_message
from podium.core.events import AttemptStarted, Event, StepEnded
from podium.core.evolve.leaves import agent_of, is_by_hand, upgrade_of
from podium.core.guidance import guidance_for, takes_guidance
from podium.core.model import Agent, Call, Git
from podium.core.payloads import Amounts, TypicalUse
from podium.core.queries.graph import HALTED, PRICE
from podium.core.queries.mailboxes import unread_notes
from podium.core.queries.steps import upgraded
from podium.core.state import Leaf, State
from podium.core.step_settings import ChildRun
from podium.core.types import Address, Millis, Tree


def dispatch(state: State, now: Millis) -> Event | None:
    """Start the next attempt, or end a step that its limits can no longer cover."""
    if state.queue_head == state.queue_tail or state.paused:
        return None
    run = state.root.verb
    assert isinstance(run, Call)
    slots = run.workflow.max_parallel
    for path in _queue_front(state):
        leaf = state.instances[path]
        assert isinstance(leaf, Leaf)
        if leaf.side_child is not None:
            continue  # A person is being asked about it.
        by_hand = is_by_hand(leaf)
        if state.busy >= slots and not by_hand:
            return None
        reuses = leaf.attempt < (state.reused_attempts.get(path) or 0)
        reserve = ledger.NOTHING if reuses else _reserve(state, leaf)
        short = None if reuses else ledger.shortfall(state, leaf.place.ledger, reserve)
        if short is None:
            question = None if _knows_prices(leaf, reserve) else price_event(state, leaf, reserve, now)
            if question == "wait":
                continue
            return question or _start(state, leaf, reserve, now, reuses=reuses)
        book, unit = short
        if book.busy or book.reserved != Amounts():
            return None
        if leaf.attempt < (state.reusable_attempts.get(path) or 0):
            return _start(state, leaf, ledger.NOTHING, now, reuses=True)
        message = limit_message(book, unit, state.at, reserve, in_finally=leaf.place.in_finally)
        if leaf.place.in_finally:
            # `finally` continues without the step, so that it makes no agent call after a limit is reached.
            return StepEnded(now, path, "skipped", "limit", message=message)
        return limit_ending(leaf, book, now, message)
    return None


def _knows_prices(leaf: Leaf, reserve: Amounts) -> bool:
    """Whether no call of an agent follows, or only in a run that asks about prices itself."""
    return not reserve.calls or isinstance(leaf.place.step.verb, ChildRun)


def _queue_front(state: State) -> Iterator[Address]:
    count = 0
    for ticket in range(state.queue_head, state.queue_tail):
        path = state.queue.get(ticket)
        if path is not None:
            yield path
            count += 1
            if count == LOOK_AHEAD:
                return


def _reserve(state: State, leaf: Leaf) -> Amounts:
    """What to reserve for a call: the agent's own cap, else the typical use of the step, else the declared estimate.

    For a run in another repository all that is left within its own limits, since nothing here sees what it spends meanwhile.
    """
    verb = leaf.place.step.verb
    if isinstance(verb, ChildRun):
        return ledger.what_is_left(state, leaf.place.ledger, verb)
    if not isinstance(verb, Agent) or verb.by_hand:
        return ledger.NOTHING
    upgrade = 0 if leaf.uncounted.fallback else upgrade_of(leaf)
    estimate = upgraded(leaf.place.step, upgrade).verb.estimate  # type: ignore[union-attr]  # it is still an Agent
    usd, tokens = estimate.usd, estimate.tokens
    # The cap does not apply to a fallback agent; the typical use is that of the step's own agent.
    typical = None if leaf.uncounted.fallback or upgrade else _typical_use(state, leaf.place.path)
    if typical is not None:
        usd = usd if typical.usd is None else typical.usd
        tokens = tokens if typical.tokens is None else typical.tokens
    if estimate.cap is not None and not leaf.uncounted.fallback:
        usd = estimate.cap
    return Amounts(usd, tokens, 1)


def _typical_use(state: State, path: Address) -> TypicalUse | None:
    assert state.started is not None
    step = without_numbers(path)
    return next((use for use in state.started.run.typical_use if use.step == step), None)


def _start(state: State, leaf: Leaf, reserve: Amounts, now: Millis, *, reuses: bool) -> AttemptStarted:
    step = leaf.place.step
    is_untimed = reuses or isinstance(step.verb, ChildRun)
    time_left = None if is_untimed else ledger.time_left(state, leaf.place.ledger)
    return AttemptStarted(
        at=now,
        path=leaf.place.path,
        attempt=leaf.attempt + 1,
        reserve=reserve,
        base=leaf.base,
        start=_start_tree(state, leaf),
        agent=leaf.uncounted.fallback,
        degrade=degrade_of(state, leaf),
        upgrade=upgrade_of(leaf),
        timeout=time_left
        if step.timeout is None
        else step.timeout
        if time_left is None
        else min(time_left, step.timeout),
        guidance=guidance_for(state, leaf, reuses=reuses) if takes_guidance(leaf) else (),
        reused=reuses,
        notes=unread_notes(state, leaf) if takes_guidance(leaf) and not reuses else (),
    )


def _start_tree(state: State, leaf: Leaf) -> Tree | None:
    """The tree to start from: a retry starts from the last attempt's tree, a landing always from the head."""
    has_tree = leaf.answer is not None and (leaf.answer.tree or leaf.member_tree) is not None
    if has_tree and not isinstance(leaf.place.step.verb, Git):
        return result_tree(state, leaf)
    return start_of(leaf)


ALL: Final = "*"


def price_event(state: State, leaf: Leaf, reserve: Amounts, now: Millis) -> Event | Literal["wait"] | None:
    """The event before a call of an agent without a price: a question, or the end if the answer was no.

    Calls without a reservation are declared to be free and need no question.
    """
    agent = _unpriced(state, leaf) if reserve.usd and _must_ask_price(state, leaf) else None
    if agent is None:
        return None
    assert state.started is not None
    path, about = leaf.place.path, PRICE + agent
    if state.started.no_human:
        message = f'the cost of calls of "{agent}" is not known, and the run may not ask a person'
        return StepEnded(now, path, "error", "no_human", 1, message=message)
    question = state.instances.get(addresses.question(path, about, leaf.attempt))
    if question is None:
        waiting = (at for (kind, at), _ in state.pending.items() if kind == "person")
        is_asked = any(state.instances[at].place.topic == about for at in waiting)
        return "wait" if is_asked else entry_or_end(leaf, entry.question_entry(state, leaf, about, now), now)
    message = f'the cost of calls of "{agent}" is not known, and a person decided to stop'
    return StepEnded(now, path, "error", HALTED, 4, message=message)


def _must_ask_price(state: State, leaf: Leaf) -> bool:
    run = state.root.verb
    assert isinstance(run, Call)
    has_limit = any(book.limits.usd is not None for book in ledger.chain(state, leaf.place.ledger))
    return has_limit and run.workflow.unknown_cost == "ask"


def _unpriced(state: State, leaf: Leaf) -> str | None:
    """The agent of this call, if it is known to report no price and this has not been accepted."""
    assert state.started is not None
    own, facts = agent_of(state, leaf), state.started.run
    # If the file names no agent, the attempt chooses one, which may be one that has reported no price.
    unpriced = (*(agent for agent in facts.unpriced if agent == own), *state.unpriced)
    for agent in unpriced:
        accepted = ALL in facts.accepts or agent in facts.accepts or PRICE + agent in state.waived_rules
        if own in (None, agent) and not accepted:
            return agent
    return None
