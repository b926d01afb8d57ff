"""What a run has used of its limits, for the run that continues it: in total, and at each step with its own limits.

It is computed from the events alone, since the definition may have changed. Rule: an attempt that was active when the
run was left counts as called, with an unknown cost.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from podium.core.addresses import FINALLY, ROOT, without_numbers, without_visit
from podium.core.events import (
    AttemptDoubted,
    AttemptEnded,
    AttemptLost,
    AttemptStarted,
    Event,
    RunRecovered,
    RunStarted,
)
from podium.core.model import Agent, Call, Workflow
from podium.core.payloads import Amounts, CarriedSpend
from podium.core.policy import NO_LIMITS
from podium.core.queries.steps import all_steps
from podium.core.types import Address, MicroUsd, Millis
from podium.fast_dataclass import dataclass

_BEGINS: Final = re.compile(r"[/\[#]")
"""What follows the address of a step in the addresses of those inside it."""


def carried(workflow: Workflow, events: Iterable[Event]) -> dict[str, Any]:
    """The fields of `RunFacts` that say it, for a run of this workflow."""
    spending = _Spending(workflow)
    for event in events:
        spending.take(event)
    spending.leave()
    free = workflow.unknown_cost == "count_tokens"
    books = {path: book.carried(path, free=free) for path, book in spending.books.items()}
    run = books.pop(ROOT)
    return {
        "carried": run.spent,
        "carried_unknown": run.unknown,
        "carried_time": run.time,
        "carried_steps": tuple(book for book in books.values() if book != CarriedSpend(book.path)),
    }


@dataclass(slots=True)
class _Book:
    usd: int = 0
    tokens: int = 0
    calls: int = 0
    unknown: int = 0
    worked: int = 0
    busy: int = 0
    since: int = 0

    def add(self, used: Amounts, unknown: int) -> None:
        self.usd += used.usd
        self.tokens += used.tokens
        self.calls += used.calls
        self.unknown += unknown

    def carried(self, path: Address, *, free: bool) -> CarriedSpend:
        spent = Amounts(MicroUsd(self.usd), self.tokens, self.calls)
        return CarriedSpend(path, spent, MicroUsd(0 if free else self.unknown), Millis(self.worked))


class _Spending:
    """Adds up a log, event by event."""

    def __init__(self, workflow: Workflow) -> None:
        steps = tuple(all_steps(workflow))
        self._limited = {
            at for at, step, _ in steps if step.limits != NO_LIMITS or isinstance(step.verb, Call)
        }
        self._by_hand = {at for at, step, _ in steps if isinstance(step.verb, Agent) and step.verb.by_hand}
        self._flying: dict[Address, AttemptStarted] = {}
        self._at = 0
        self.books: dict[Address, _Book] = {}

    def take(self, event: Event) -> None:
        match event:
            case RunStarted(run=run):
                self._open(CarriedSpend(ROOT, run.carried, run.carried_unknown, run.carried_time))
                for past in run.carried_steps:
                    self._open(past)
            case AttemptStarted():
                self._flying[event.path] = event
                self._work(event.path, event.at, 1)
            case AttemptEnded():
                started = self._flying.pop(event.path)
                left = 0 if event.cost_known else max(0, started.reserve.usd - event.used.usd)
                self._book(event.path, event.used, left)
                self._work(event.path, event.at, -1)
            case AttemptDoubted():
                self._lose(event.path)
                del self._flying[event.path]
                self._work(event.path, event.at, -1)
            case AttemptLost():
                self._lose(event.path)
            case RunRecovered():
                self._pause(event.at)
                for path in event.lost:
                    self._lose(path)
            case _:
                pass
        self._at = max(self._at, event.at)

    def leave(self) -> None:
        """The run is left as it is."""
        self._pause(self._at)
        for path in self._flying:
            self._lose(path)

    def _open(self, past: CarriedSpend) -> None:
        if past.path == ROOT or without_numbers(past.path) in self._limited:
            book = self.books.setdefault(past.path, _Book())
            book.add(past.spent, past.unknown)
            book.worked += past.time

    def _around(self, path: Address) -> Iterator[tuple[Address, _Book]]:
        """The books in which this attempt counts."""
        yield ROOT, self.books[ROOT]
        for end in (*(match.start() for match in _BEGINS.finditer(path)), len(path)):
            owner = without_visit(Address(path[:end]))
            if without_numbers(owner) in self._limited:
                yield owner, self.books.setdefault(owner, _Book())

    def _book(self, path: Address, used: Amounts, unknown: int) -> None:
        for _, book in self._around(path):
            book.add(used, unknown)

    def _lose(self, path: Address) -> None:
        reserve = self._flying[path].reserve
        self._book(path, Amounts(MicroUsd(0), reserve.tokens, reserve.calls), reserve.usd)

    def _work(self, path: Address, at: int, more: int) -> None:
        """A person's own work takes no working time, and clean-up has time of its own."""
        if without_numbers(path) in self._by_hand:
            return
        for owner, book in self._around(path):
            if FINALLY in _BEGINS.split(path[len(owner) :]):
                continue
            if not book.busy:
                book.since = at
            book.busy += more
            if not book.busy:
                book.worked += at - book.since

    def _pause(self, at: int) -> None:
        """No process worked between the last event and this moment."""
        for book in self.books.values():
            if book.busy:
                book.worked += max(0, self._at - book.since)
                book.since = at
