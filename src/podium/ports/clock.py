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
