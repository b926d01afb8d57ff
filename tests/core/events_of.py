"""Groups of events for tests."""

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
"""Events of commands that people may send twice; `handle` ignores the second one."""
