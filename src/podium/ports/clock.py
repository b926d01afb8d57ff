"""The clock of the machine, in milliseconds like all stored times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from podium.core.types import Millis

Clock: TypeAlias = Callable[[], Millis]
"""Returns the current time; tests pass a fake."""


def wall_clock() -> Millis:
    """Milliseconds since 1970, by the system clock."""
    return Millis(time.time_ns() // 1_000_000)


class SkippingClock:
    """A clock that can be put forward, for runs in which nothing is real: a test does not wait for a timer."""

    def __init__(self) -> None:
        self._ahead = 0

    def __call__(self) -> Millis:
        return Millis(wall_clock() + self._ahead)

    def skip_to(self, due: Millis) -> None:
        self._ahead += max(0, due - self())
