"""What a simulated world has to answer: the effects that a run asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from podium.core.events import (
    ApprovalAsked,
    AttemptEnded,
    AttemptStarted,
    FactsAsked,
    JoinAsked,
    JoinEnded,
    WaitEnded,
    WaitStarted,
)
from podium.core.messages import Approve, Signal
from podium.core.state import State
from podium.core.types import Millis, Tree


@dataclass(frozen=True, slots=True)
class DelayedReport:
    """A message that arrives after that time."""

    after: Millis
    message: AttemptEnded | WaitEnded | Approve | Signal


class World(Protocol):
    """Answers depend on what is asked, never on when: the same world can then be replayed in another order."""

    def base(self) -> Tree | None:
        """The tree a run starts from."""

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport: ...

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        """The answer of the n-th of those who are asked, from 0. None: no answer."""

    def wait(self, asked: WaitStarted, state: State) -> DelayedReport | None: ...

    def fact(self, asked: FactsAsked, state: State) -> Any: ...

    def join(self, asked: JoinAsked, state: State) -> JoinEnded: ...
