"""How far each step of a picture is, from the view of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from podium.core.addresses import without_attempts, without_numbers, without_visits
from podium.core.types import Address
from podium.views.format import dollars, plural
from podium.views.run.view import RunView, StepView

Tone: TypeAlias = Literal["passed", "failed", "running", "waiting", "idle", "stale"]

SIGNS: Final[Mapping[Tone, str]] = {
    "passed": "✓",
    "failed": "✕",
    "running": "▶",
    "waiting": "?",
    "idle": "·",
    "stale": "↺",
}

_URGENCY: Final[tuple[Tone, ...]] = ("waiting", "running", "failed", "stale", "passed", "idle")
"""A box that holds several steps takes the first of these tones that one of them has."""


class NodeState(NamedTuple):
    tone: Tone
    word: str
    """The outcome or status in words, so that nothing depends on colour."""
    detail: str = ""
    """Attempts, cost, or for a loop how many of its steps have ended."""

    @property
    def sign(self) -> str:
        return SIGNS[self.tone]


def states_of(view: RunView) -> dict[Address, NodeState]:
    """The state of each step by its address without numbers; a step that was not entered is missing."""
    visits: dict[Address, dict[Address, StepView]] = {}
    for step in view.steps:
        if step.role in ("step", "finally") or _is_gate(step):
            # Later visits and attempts take the place of earlier ones; iterations stay apart.
            place = visits.setdefault(_key(step), {})
            place[without_attempts(without_visits(step.path))] = step
    states = {address: _state_of(tuple(steps.values())) for address, steps in visits.items()}
    return {address: _with_open_questions(address, state, view) for address, state in states.items()}


def _key(step: StepView) -> Address:
    return Address(without_numbers(step.path).rstrip("#"))


def _is_gate(step: StepView) -> bool:
    return "#" in step.path and step.role != "gates" and "!" not in step.step


def _state_of(steps: Sequence[StepView]) -> NodeState:
    """The newest visit of each iteration."""
    if len(steps) == 1:
        step = steps[0]
        tone = _tone(step)
        return NodeState(tone, "stale" if tone == "stale" else step.outcome or step.status, _detail(step))
    tones = [_tone(step) for step in steps]
    tone = next(each for each in _URGENCY if each in tones)
    ended = sum(step.status == "ended" for step in steps)
    failed = tones.count("failed")
    detail = f"{ended} of {len(steps)}" + (f", {failed} failed" if failed else "")
    return NodeState(tone, tone if tone != "idle" else "queued", detail)


def _tone(step: StepView) -> Tone:
    if step.stale:
        return "stale"
    if step.status == "waiting":
        return "waiting"
    if step.status != "ended":
        return "idle" if step.status == "queued" else "running"
    if step.outcome in ("passed", "degraded", "partial"):
        return "passed"
    return "idle" if step.outcome in ("skipped", "cancelled") else "failed"


def _detail(step: StepView) -> str:
    parts: list[str] = []
    if step.attempts > 1:
        parts.append(plural(step.tries, "attempt"))
    if step.usd:
        parts.append(dollars(step.usd) + ("?" if step.unknown_calls else ""))
    elif step.unknown_calls:
        parts.append("$?")
    return ", ".join(parts)


def _with_open_questions(address: Address, state: NodeState, view: RunView) -> NodeState:
    """A step in which a question waits is shown as waiting, whatever it does itself."""
    if not any(_is_in(pending.path, address) for pending in view.pending if pending.actions):
        return state
    return state._replace(tone="waiting", word="waiting")


def _is_in(path: Address, address: Address) -> bool:
    place = without_numbers(path)
    return place == address or place.startswith((f"{address}/", f"{address}#"))
