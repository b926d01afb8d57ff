"""Small records that events are made of: what a run is, what was used, what was judged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from podium.core.fast_dataclass import dataclass
from podium.core.types import MicroUsd, Millis, Path, Tree


@dataclass(frozen=True, slots=True)
class Amounts:
    """What is reserved or was used: money, tokens, calls."""

    usd: MicroUsd = MicroUsd(0)
    tokens: int = 0
    calls: int = 0


@dataclass(frozen=True, slots=True)
class CarriedSpend:
    """What an earlier run has used at a step with limits of its own, in all visits."""

    path: Path
    spent: Amounts = Amounts()
    unknown: MicroUsd = MicroUsd(0)
    time: Millis = Millis(0)


@dataclass(frozen=True, slots=True)
class TypicalUse:
    """The most that a call at a step has used in earlier runs; None where nobody knows."""

    step: str
    """Its address without numbers."""
    usd: MicroUsd | None = None
    tokens: int | None = None


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What `run.x` holds, fixed at the start. `utc_offset` places times of day, in minutes."""

    id: str
    name: str
    branch: str = ""
    base: str = ""
    date: str = ""
    utc_offset: int = 0
    continues: str = ""
    """The run whose results this one takes over where the same is asked."""
    carried: Amounts = Amounts()
    """What that one has spent, also on what is taken over: limits are not reset by going on in another run."""
    carried_unknown: MicroUsd = MicroUsd(0)
    """What it has booked for calls whose price nobody told."""
    carried_time: Millis = Millis(0)
    """How long it has worked."""
    carried_steps: tuple[CarriedSpend, ...] = ()
    """The same for each of its steps that has limits of its own."""
    taken: tuple[tuple[Path, int], ...] = ()
    """Where its answers are taken over, and of how many attempts: these need nothing of any limit."""
    known: tuple[tuple[Path, int], ...] = ()
    """Where else it has answers, and up to which attempt: they are looked for before a limit refuses to ask anew."""
    unpriced: tuple[str, ...] = ()
    """Agents of which it was known before the run that they tell no price."""
    accepts: tuple[str, ...] = ()
    """Agents that may work without a price, as somebody has said before the run; `*` is all."""
    usual: tuple[TypicalUse, ...] = ()
    """What calls have used before, as it was known when the run began."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A reviewer's typed answer, bound to the tree it judged."""

    decision: Literal["approve", "reject", "abort"]
    score: float | None = None
    findings: tuple[Mapping[str, Any], ...] = ()
    tree: Tree | None = None
    summary: str = ""


@dataclass(frozen=True, slots=True)
class RefusedMember:
    """A member whose work did not get through a join."""

    path: Path
    kind: Literal["conflict", "failed"]
    detail: str = ""
