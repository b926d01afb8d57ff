"""The messages a run receives: commands from people, and reports about effects.

Reports about an effect are the events themselves (AttemptTaken, AttemptGuided, AttemptEnded, AttemptLost, WaitEnded,
FactsFound, JoinEnded); `handle` checks them against the pending effects and sets their time to that of the turn. A refusal is a value, not an event.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, TypeAlias

from podium.core.events import (
    AttemptEnded,
    AttemptGuided,
    AttemptLost,
    AttemptTaken,
    FactsFound,
    JoinEnded,
    ToolAsked,
    WaitEnded,
)
from podium.core.payloads import RunFacts
from podium.core.types import Address, Millis, Tree, Unit
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Start:
    run: RunFacts
    inputs: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    tree: Tree | None = None
    no_human: bool = False


@dataclass(frozen=True, slots=True)
class Fired:
    path: Address
    due: Millis


@dataclass(frozen=True, slots=True)
class Recover:
    epoch: int


@dataclass(frozen=True, slots=True)
class Approve:
    """A person's answer. `action` is one that the question offers; `tree` is the tree the person reviewed."""

    path: Address
    action: str
    by: str
    text: str = ""
    answer: Any = None
    tree: Tree | None = None
    reused: str = ""
    """The earlier run from which the engine takes the answer."""
    how: str = ""
    """How the answer came: terminal, command, file, python, web, mcp or the name of a channel; empty if unknown."""
    opened: tuple[str, ...] = ()
    """What of the evidence this person is known to have opened, such as `diff`."""
    proof: Mapping[str, str] | None = None
    """The proof of presence; the sender to the core has verified it."""


@dataclass(frozen=True, slots=True)
class Signal:
    name: str
    data: Any = None
    by: str = ""


@dataclass(frozen=True, slots=True)
class Cancel:
    by: str
    reason: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Jump:
    """Return to an earlier step of a running sequence; a late veto also returns to its gate this way."""

    scope: Address
    step: str
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Pause:
    by: str


@dataclass(frozen=True, slots=True)
class Resume:
    by: str


@dataclass(frozen=True, slots=True)
class Guide:
    by: str
    text: str


@dataclass(frozen=True, slots=True)
class Tell:
    """Leave a note for a step, `deliver`, or for a member of its team, `deliver/qa`; the next attempt gets it."""

    by: str
    to: Address
    text: str


@dataclass(frozen=True, slots=True)
class RaiseLimit:
    ledger: Address
    unit: Unit
    to: int
    by: str


@dataclass(frozen=True, slots=True)
class Refusal:
    code: str
    message: str


Report: TypeAlias = (
    AttemptTaken
    | AttemptGuided
    | ToolAsked
    | AttemptEnded
    | AttemptLost
    | WaitEnded
    | FactsFound
    | JoinEnded
    | Fired
    | Recover
)
Command: TypeAlias = Start | Approve | Signal | Cancel | Jump | Pause | Resume | Guide | Tell | RaiseLimit
Message: TypeAlias = Report | Command
