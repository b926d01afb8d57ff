"""Who gets the next free slot: first come, first served, as far as money and file claims allow.

The head of the queue blocks while money it needs is only held by others: cheap followers must not starve it. A
claim blocks only what overlaps it, so a bounded number of followers may overtake a waiting claim; those never
overlap it, so it cannot starve either.

Under a limit on money, a person is asked before the next call of an agent without a price. Only a call that answered
without a price shows that its agent has none; one that failed may have lost its price, and keeps its reservation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from podium.core import addresses, ledger
from podium.core.addresses import ROOT, address
from podium.core.decide import entry
from podium.core.decide.attempts import degrade_of, or_limit
from podium.core.decide.entry import limited, result_tree, start_of
from podium.core.decide.joins import merges_members
from podium.core.events import AttemptStarted, Event, StepEnded
from podium.core.evolve.leaves import agent_of, is_by_hand
from podium.core.expressions.nodes import Node
from podium.core.globs import globs_overlap
from podium.core.model import Agent, Call, Git
from podium.core.payloads import Amounts, TypicalUse
from podium.core.queries.evaluate import ask_value
from podium.core.queries.graph import HALTED, PRICE
from podium.core.state import Claim, Leaf, Scope, State
from podium.core.types import Millis, Path, Tree

LOOK_AHEAD = 32


def dispatch(state: State, now: Millis) -> Event | None:
    """Start the next attempt, or refuse one that can never be paid."""
    if state.head == state.tail or state.paused:
        return None
    run = state.root.verb
    assert isinstance(run, Call)
    slots = run.workflow.max_parallel
    waiting: list[Claim] = []
    for path in _first(state):
        leaf = state.instances[path]
        assert isinstance(leaf, Leaf)
        if leaf.aside is not None:
            continue  # Somebody is being asked whether it may.
        by_hand = is_by_hand(leaf)
        if state.busy >= slots and not by_hand:
            return None
        claim = _claim(state, leaf, now)
        if isinstance(claim, StepEnded):
            return claim
        if claim and _clashes(state, claim, waiting):
            waiting.append(claim)
            continue
        taken = leaf.attempt < (state.taken.get(path) or 0)
        reserve = ledger.NOTHING if taken else _reserve(state, leaf)
        poor = None if taken else ledger.poor_in(state, leaf.place.ledger, reserve)
        if poor is None:
            objecting = objection(state, leaf, reserve, now) if reserve.calls else None
            if objecting == "wait":
                continue
            return objecting or _start(state, leaf, reserve, claim, now, taken=taken)
        book, unit = poor
        if book.busy or book.held != Amounts():
            return None
        if leaf.attempt < (state.known.get(path) or 0):
            return _start(state, leaf, ledger.NOTHING, claim, now, taken=True)
        if leaf.place.shield:
            # Clean-up goes on without what can no longer be paid: `finally` makes no agent call after a limit.
            return StepEnded(now, path, "skipped", "limit", message=f"the limit of {unit} is reached")
        return limited(leaf, book, now, unit)
    return None


def _first(state: State) -> Iterator[Path]:
    seen = 0
    for ticket in range(state.head, state.tail):
        path = state.queue.get(ticket)
        if path is not None:
            yield path
            seen += 1
            if seen == LOOK_AHEAD:
                return


def _claim(state: State, leaf: Leaf, now: Millis) -> Claim | StepEnded:
    """The files this attempt may change while others work beside it; () where nobody's work is merged with its own."""
    step = leaf.place.step
    if step.touches == () or not isinstance(step.verb, Agent) or step.verb.judge:
        return ()
    if not _works_beside_others(state, leaf):
        return ()
    if step.touches is None:
        return "all"
    value = step.touches if isinstance(step.touches, Node) else list(step.touches)
    answer = ask_value(state, leaf, value, now)
    if isinstance(answer, StepEnded):
        return answer
    if isinstance(answer, tuple) and isinstance(answer[0], list | tuple):
        return tuple(str(glob) for glob in answer[0])
    return "all"


def _works_beside_others(state: State, leaf: Leaf) -> bool:
    path = leaf.place.path
    while path != ROOT:
        scope = state.instances[state.instances[path].place.parent]
        if isinstance(scope, Scope) and (merges_members(scope) or scope.place.order == "dag"):
            return True
        path = scope.place.path
    return False


def _clashes(state: State, claim: Claim, waiting: list[Claim]) -> bool:
    return any(_overlap(claim, other) for _, other in state.claims.items()) or any(
        _overlap(claim, other) for other in waiting
    )


def _overlap(a: Claim, b: Claim) -> bool:
    if a == "all" or b == "all":
        return True
    return any(globs_overlap(one, other) for one in a for other in b)


def _reserve(state: State, leaf: Leaf) -> Amounts:
    """The agent's own cap, else what its calls have used before, else what is declared."""
    verb = leaf.place.step.verb
    if not isinstance(verb, Agent) or verb.by_hand:
        return ledger.NOTHING
    known = verb.estimate
    usd, tokens = known.usd, known.tokens
    # Neither cap nor history says anything about another agent.
    past = None if leaf.soft.fallback else _past(state, leaf.place.path)
    if past is not None:
        usd = usd if past.usd is None else past.usd
        tokens = tokens if past.tokens is None else past.tokens
    if known.cap is not None and not leaf.soft.fallback:
        usd = known.cap
    return Amounts(usd, tokens, 1)


def _past(state: State, path: Path) -> TypicalUse | None:
    assert state.started is not None
    step = address(path)
    return next((one for one in state.started.run.usual if one.step == step), None)


def _start(
    state: State, leaf: Leaf, reserve: Amounts, claim: Claim, now: Millis, *, taken: bool
) -> AttemptStarted:
    step = leaf.place.step
    works = isinstance(step.verb, Agent) and not step.verb.judge and leaf.place.role != "advice"
    left = None if taken else ledger.time_left(state, leaf.place.ledger)
    return AttemptStarted(
        at=now,
        path=leaf.place.path,
        attempt=leaf.attempt + 1,
        reserve=reserve,
        base=leaf.base,
        start=_start_tree(state, leaf),
        agent=leaf.soft.fallback,
        degrade=degrade_of(state, leaf),
        timeout=left if step.timeout is None else step.timeout if left is None else min(left, step.timeout),
        guidance=state.guidance if works else (),
        claim=None if claim == "all" else claim,
        taken=taken,
    )


def _start_tree(state: State, leaf: Leaf) -> Tree | None:
    """A retry goes on from what the last attempt left; landing always starts from the head itself."""
    if leaf.answer is not None and leaf.answer.tree is not None and not isinstance(leaf.place.step.verb, Git):
        return result_tree(state, leaf)
    return start_of(leaf)


ALL: Final = "*"


def objection(state: State, leaf: Leaf, reserve: Amounts, now: Millis) -> Event | Literal["wait"] | None:
    """What comes before a call: a question, what its answer means, or nothing.

    Nobody is asked about calls for which nothing is reserved: they are declared to be free.
    """
    agent = _unpriced(state, leaf) if reserve.usd and _is_bound(state, leaf) else None
    if agent is None:
        return None
    assert state.started is not None
    path, about = leaf.place.path, PRICE + agent
    if state.started.no_human:
        message = f'what calls of "{agent}" cost is not known, and nobody may be asked'
        return StepEnded(now, path, "error", "no_human", 1, message=message)
    told = state.instances.get(addresses.question(path, about, leaf.attempt))
    if told is None:
        waiting = (at for (kind, at), _ in state.pending.items() if kind == "person")
        asked = any(state.instances[at].place.about == about for at in waiting)
        return "wait" if asked else or_limit(leaf, entry.question(state, leaf, about, now), now)
    message = f'what calls of "{agent}" cost is not known, and nobody wanted to go on'
    return StepEnded(now, path, "error", HALTED, 4, message=message)


def _is_bound(state: State, leaf: Leaf) -> bool:
    run = state.root.verb
    assert isinstance(run, Call)
    limited = any(book.limits.usd is not None for book in ledger.chain(state, leaf.place.ledger))
    return limited and run.workflow.unknown_cost == "ask"


def _unpriced(state: State, leaf: Leaf) -> str | None:
    """The agent of this call, if it is known to tell no price and nobody has accepted that."""
    assert state.started is not None
    own, facts = agent_of(leaf), state.started.run
    # Who works where no agent is named is found out by the attempt; then it may be the one that was noticed.
    found = (*(agent for agent in facts.unpriced if agent == own), *state.unpriced)
    for agent in found:
        accepted = ALL in facts.accepts or agent in facts.accepts or PRICE + agent in state.excused
        if own in (None, agent) and not accepted:
            return agent
    return None
