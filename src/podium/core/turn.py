"""One turn: handles a message, makes all decisions that follow, and lists the effects to perform afterwards."""

from __future__ import annotations

from typing import NamedTuple

from podium.core.decide.decide import affected, settle
from podium.core.effects import Effect, EffectKey, key_of
from podium.core.events import Event
from podium.core.evolve.evolve import advance
from podium.core.handle import handle
from podium.core.messages import Message, Refusal
from podium.core.state import State, draft, freeze
from podium.core.types import Address, Millis


class Turn(NamedTuple):
    state: State
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    """Perform them only after the events are stored."""


def turn(state: State, message: Message, now: Millis) -> Turn | Refusal:
    """The settled state and all events of the turn; no events if the message is stale or a duplicate."""
    handled = handle(state, message, now)
    if isinstance(handled, Refusal):
        return handled
    if not handled:
        return Turn(state, (), ())
    touched: list[Address] = []
    state = draft(state)
    for event in handled:
        state = advance(state, event)
        touched.extend(affected(state, event))
    state, decided = settle(state, now, touched)
    state, events = freeze(state), (*handled, *decided)
    return Turn(state, events, new_effects(state, events))


def new_effects(state: State, events: tuple[Event, ...]) -> tuple[Effect, ...]:
    """The still pending effects that these events requested, each once."""
    keys: dict[EffectKey, None] = {}
    for event in events:
        key = key_of(event)
        if key is not None:
            keys[key] = None
    return tuple([effect for key in keys if (effect := state.pending.get(key)) is not None])
