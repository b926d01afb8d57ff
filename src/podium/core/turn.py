"""One turn: a message, all that follows from it, and what has to be done about it once it is stored."""

from __future__ import annotations

from typing import NamedTuple

from podium.core.decide.decide import affected, settle
from podium.core.effects import Effect, EffectKey, key_of
from podium.core.events import Event
from podium.core.evolve.evolve import advance
from podium.core.handle import handle
from podium.core.messages import Message, Refusal
from podium.core.state import State, draft, freeze
from podium.core.types import Millis, Path


class Turn(NamedTuple):
    state: State
    events: tuple[Event, ...]
    effects: tuple[Effect, ...]
    """To be performed only after the events are stored."""


def turn(state: State, message: Message, now: Millis) -> Turn | Refusal:
    """The settled state, with all events of the turn; nothing at all if the message is stale or comes twice."""
    said = handle(state, message, now)
    if isinstance(said, Refusal):
        return said
    if not said:
        return Turn(state, (), ())
    touched: list[Path] = []
    state = draft(state)
    for event in said:
        state = advance(state, event)
        touched.extend(affected(state, event))
    state, decided = settle(state, now, touched)
    state, events = freeze(state), (*said, *decided)
    return Turn(state, events, new_effects(state, events))


def new_effects(state: State, events: tuple[Event, ...]) -> tuple[Effect, ...]:
    """The effects that these events asked for and that are still wanted, each once."""
    keys: dict[EffectKey, None] = {}
    for event in events:
        key = key_of(event)
        if key is not None:
            keys[key] = None
    return tuple([effect for key in keys if (effect := state.pending.get(key)) is not None])
