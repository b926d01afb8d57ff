"""Requests that a service rejected before its model did anything: they are no calls, and they cost nothing.

Their results have `Usage(calls=0)` and a cost of zero, which is known. Without that, what was reserved for the call would
stay booked as an unknown cost (issue 16).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from podium.core.types import MicroUsd
from podium.ports.agent import AgentResult, AgentTrouble, Usage

REJECTIONS: Final[frozenset[AgentTrouble]] = frozenset({"auth", "unavailable", "error", "quota"})
"""Troubles that mean, if a first call had one, that its model was never asked."""
BUSY: Final = frozenset({503, 529})
MAYBE_SERVED: Final = frozenset({408, 499})
"""A time limit on the way; the model may have worked."""


def is_rejection(status: int) -> bool:
    """Whether a service that answers with this status has not called its model."""
    return status in BUSY or (400 <= status < 500 and status not in MAYBE_SERVED)


def not_served(result: AgentResult) -> AgentResult:
    return replace(result, usage=Usage(calls=0), usage_incomplete=False, cost=MicroUsd(0))
