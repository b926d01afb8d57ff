"""Groups of events that tests speak about."""

from __future__ import annotations

from typing import Final

from podium.core.events import (
    CancelAsked,
    GuidanceGiven,
    JumpAsked,
    LimitRaised,
    RunPaused,
    RunRecovered,
    RunResumed,
)

REPEATABLE: Final = (CancelAsked, GuidanceGiven, JumpAsked, LimitRaised, RunPaused, RunRecovered, RunResumed)
"""What people may say twice; `handle` sees to it that it makes no difference."""
