"""The clock of the machine, in the unit of all stored times."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

from podium.core.types import Millis

Clock: TypeAlias = Callable[[], Millis]
"""Tells the time; tests pass one of their own."""


def wall_clock() -> Millis:
    """Milliseconds since 1970, by the clock that people see."""
    return Millis(time.time_ns() // 1_000_000)
