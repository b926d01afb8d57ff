"""Which guidance from people an attempt receives.

Guidance goes to the agents that are working, as far as they can take it, else to the next attempt that starts. It stays
with its step: later attempts of the same visit receive it too. If the step does not pass, the guidance is open again for the next attempt. In a run that continues another, an attempt
that may reuse a result receives exactly what that result was given, because any other text would be another request; a
step that works again receives everything that its visits received before.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.addresses import without_visits
from podium.core.effects import RunAttempt
from podium.core.events import AttemptGuided, AttemptStarted, StepEnded
from podium.core.model import Agent
from podium.core.state import Leaf, State
from podium.core.types import Address


def takes_guidance(leaf: Leaf) -> bool:
    """Whether its attempts get guidance: not those of reviewers, of advisers, and with a literal prompt."""
    verb = leaf.place.step.verb
    if not isinstance(verb, Agent) or verb.judge or verb.stdin is not None:
        return False
    return leaf.place.role != "advice"


def guidable(state: State, text: str) -> Iterator[Leaf]:
    """The leaves whose agents are working and have not received this text."""
    for (kind, path), effect in state.pending.items():
        if kind == "attempt" and isinstance(effect, RunAttempt) and not effect.by_hand:
            leaf = state.instances[path]
            assert isinstance(leaf, Leaf)
            if takes_guidance(leaf) and text not in leaf.guidance:
                yield leaf


def guidance_for(state: State, leaf: Leaf, *, reuses: bool) -> tuple[str, ...]:
    """The guidance of the leaf's next attempt."""
    path, attempt = leaf.place.path, leaf.attempt
    if reuses:
        return tuple(_carried(state, path, attempt + 1))
    may_reuse = attempt < (state.reusable_attempts.get(path) or 0)
    carried = _carried(state, path, attempt + 1 if may_reuse else None)
    return tuple(dict.fromkeys((*carried, *leaf.guidance, *state.guidance)))


def _carried(state: State, path: Address, attempt: int | None) -> Iterator[str]:
    """What the earlier run sent to this attempt; without a number, to any attempt of any visit of the step."""
    assert state.started is not None
    for sent in state.started.run.guidance:
        if attempt is None:
            if without_visits(sent.path) == without_visits(path):
                yield from sent.texts
        elif (sent.path, sent.attempt) == (path, attempt):
            yield from sent.texts


def after_start(open_texts: tuple[str, ...], event: AttemptStarted) -> tuple[str, ...]:
    """What is still open after an attempt has received its guidance."""
    return tuple(text for text in open_texts if text not in event.guidance)


def after_guided(open_texts: tuple[str, ...], event: AttemptGuided) -> tuple[str, ...]:
    """What is still open after a working agent was given guidance."""
    if event.refused or event.stays_open:
        return open_texts
    return tuple(text for text in open_texts if text != event.text)


def after_end(open_texts: tuple[str, ...], received: tuple[str, ...], event: StepEnded) -> tuple[str, ...]:
    """What is open after the end of a step that received guidance."""
    if event.outcome == "passed":
        return open_texts
    return tuple(dict.fromkeys((*received, *open_texts)))
