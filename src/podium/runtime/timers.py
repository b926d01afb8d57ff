"""Absolute times at which something is due, the earliest first."""

from __future__ import annotations

import heapq

from podium.core.effects import AskPerson, Effect, StartTimer, Watch
from podium.core.messages import Fired
from podium.core.types import Address, Millis


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[Millis, Address]] = []
        self._set: set[tuple[Millis, Address]] = set()

    def of(self, effect: Effect) -> None:
        """Set the timers of an effect; a timer that was set before, or has fired, is not set again."""
        match effect:
            case StartTimer(path=path, due=due):
                self._at(path, due)
            case AskPerson(request=question):
                self._at(question.path, question.expires, question.remind, question.escalate)
            case Watch(wait=waited):
                self._at(waited.path, waited.due)
            case _:
                pass

    def _at(self, path: Address, *dues: Millis | None) -> None:
        for due in dues:
            if due is not None and (due, path) not in self._set:
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
