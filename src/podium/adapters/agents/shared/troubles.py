"""Troubles that all agents have in common: answers that were cut off, requests that were rejected.

A request that a service rejected before its model did anything does not count as a call and costs nothing: its result has
`Usage(calls=0)` and a cost of zero, which is known. Otherwise what was reserved for the call would stay booked as an
unknown cost (issue 16).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from podium.core.types import MicroUsd
from podium.ports.agent import AgentResult, AgentTrouble, Usage
from podium.process.launch import Finished

TRUNCATED: Final = (
    "the answer was cut off at its maximum length, so it is not complete; a shorter one would fit"
)
"""The reason for the trouble `truncated`, for people and for the next attempt."""
REJECTIONS: Final[frozenset[AgentTrouble]] = frozenset({"auth", "unavailable", "error", "quota"})
"""Troubles that mean, if a first call had one, that its model was never asked."""
BUSY: Final = frozenset({503, 529})
MAYBE_SERVED: Final = frozenset({408, 499})
"""A time limit on the way; the model may have worked."""
MAX_STDERR: Final = 2000
"""Characters of the end of stderr in a message."""


def is_rejection(status: int) -> bool:
    """Whether a service that answers with this status has not called its model."""
    return status in BUSY or (400 <= status < 500 and status not in MAYBE_SERVED)


def not_served(result: AgentResult) -> AgentResult:
    """The result of a request whose model was never asked."""
    return replace(result, usage=Usage(calls=0), usage_incomplete=False, cost=MicroUsd(0))


def with_stderr(message: str, finished: Finished) -> str:
    """A message with the end of what the program printed to stderr."""
    stderr = finished.stderr.tail(MAX_STDERR).strip()
    return f"{message}:\n{stderr}" if stderr else message
