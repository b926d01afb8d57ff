"""Asks an agent that is a service, within the time of the attempt."""

from __future__ import annotations

import math

import anyio

from podium.core.types import Millis
from podium.ports.agent import AgentResult, Caller, Request, Usage

TEXT_ONLY = (
    "it answers in text and cannot change files, and this step must change {what}; give the step to another agent, "
    "or write its answer with output: {{file: ...}}"
)


async def called(caller: Caller, request: Request, limit: Millis | None) -> AgentResult:
    """A cancellation from outside goes through; the end of its time is an answer."""
    if request.must_touch:
        detail = TEXT_ONLY.format(what=", ".join(request.must_touch))
        return AgentResult(trouble="unavailable", detail=detail, usage=Usage(calls=0))
    with anyio.move_on_after(math.inf if limit is None else limit / 1000):
        return await caller.call(request)
    return AgentResult(trouble="timeout", detail="its time ran out")
