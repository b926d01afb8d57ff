"""The interface of a simulated world, which answers the effects of a run."""

from __future__ import annotations

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
from podium.core.queries.graph import workflow_of
from podium.core.state import State
from podium.core.types import Millis, Tree
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class DelayedReport:
    """A message that arrives after the given time."""

    after: Millis
    message: AttemptEnded | WaitEnded | Approve | Signal


class World(Protocol):
    """Answers must depend on the question, never on its time, so that a world can be replayed in another order."""

    def base(self) -> Tree | None:
        """The tree that a run starts from."""

    def attempt(self, started: AttemptStarted, state: State) -> DelayedReport: ...

    def person(self, question: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        """The answer of the n-th person asked, counted from 0; None if there is no answer."""

    def wait(self, wait: WaitStarted, state: State) -> DelayedReport | None: ...

    def fact(self, query: FactsAsked, state: State) -> Any: ...

    def join(self, request: JoinAsked, state: State) -> JoinEnded: ...


def name_of_person(question: ApprovalAsked, state: State, number: int) -> str:
    """Who answers; where several must, different people, and of a group its members."""
    if not question.by:
        return f"person{number + 1}"
    groups = workflow_of(state, state.instances[question.path].place).people if question.approvals > 1 else {}
    people = tuple(dict.fromkeys(name for each in question.by for name in groups.get(each, (each,))))
    return people[number % len(people)]
