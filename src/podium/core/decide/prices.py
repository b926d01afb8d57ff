"""Agents whose calls have no price: under a limit on money a person is asked before the next call of one.

Only a call that came to its answer without a price tells something about its agent. One that failed or was cut short may
have lost its price with the rest; what was reserved for it stays booked, and nobody is asked.
"""

from __future__ import annotations

from typing import Final, Literal

from podium.core import addresses, ledger
from podium.core.decide import entry
from podium.core.decide.attempts import or_limit
from podium.core.events import Event, StepEnded
from podium.core.evolve.leaves import agent_of
from podium.core.model import Call
from podium.core.payloads import Amounts
from podium.core.queries.graph import HALTED, PRICE
from podium.core.state import Leaf, State
from podium.core.types import Millis

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
