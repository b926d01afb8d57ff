"""Absolute times at which something is due, the earliest first."""

from __future__ import annotations

import heapq
from collections.abc import Iterator

from podium.core.effects import AskPerson, Effect, StartTimer, Watch
from podium.core.messages import Fired
from podium.core.types import Address, Millis


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[Millis, Address]] = []
        self._set: set[tuple[Millis, Address]] = set()

    def of(self, effect: Effect) -> None:
        """Set the timers of an effect; a timer that was set before, or has fired, is not set again."""
        for path, due in dues_of(effect):
            if (due, path) not in self._set:
                self._set.add((due, path))
                heapq.heappush(self._heap, (due, path))

    def next(self) -> Millis | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now: Millis) -> Fired | None:
        """The next timer that is due; the core decides whether it still matters."""
        if not self._heap or self._heap[0][0] > now:
            return None
        due, path = heapq.heappop(self._heap)
        return Fired(path, due)


def dues_of(effect: Effect) -> Iterator[tuple[Address, Millis]]:
    """The times at which something is due for an effect."""
    match effect:
        case StartTimer(path=path, due=due):
            yield path, due
        case AskPerson(request=question):
            dues = (question.expires, question.remind, question.escalate)
            yield from ((question.path, due) for due in dues if due is not None)
        case Watch(wait=waited) if waited.due is not None:
            yield waited.path, waited.due
        case _:
            pass
