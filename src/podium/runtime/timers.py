"""Absolute times at which something is due, the earliest first."""

from __future__ import annotations

import heapq

from podium.core.effects import AskPerson, Effect, StartTimer, Watch
from podium.core.messages import Fired
from podium.core.types import Millis, Path


class Timers:
    def __init__(self) -> None:
        self._heap: list[tuple[Millis, Path]] = []
        self._known: set[tuple[Millis, Path]] = set()

    def of(self, effect: Effect) -> None:
        """Set what this effect needs. Twice is once, and what has fired does not come again."""
        match effect:
            case StartTimer(path=path, due=due):
                self._at(path, due)
            case AskPerson(asked=asked):
                self._at(asked.path, asked.expires, asked.remind, asked.escalate)
            case Watch(asked=waited):
                self._at(waited.path, waited.due)
            case _:
                pass

    def _at(self, path: Path, *dues: Millis | None) -> None:
        for due in dues:
            if due is not None and (due, path) not in self._known:
                self._known.add((due, path))
                heapq.heappush(self._heap, (due, path))

    def next(self) -> Millis | None:
        return self._heap[0][0] if self._heap else None

    def due(self, now: Millis) -> Fired | None:
        """One that is due by now. Whether it is still wanted is for the core to say."""
        if not self._heap or self._heap[0][0] > now:
            return None
        due, path = heapq.heappop(self._heap)
        return Fired(path, due)
