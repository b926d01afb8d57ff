"""Holds the calls of tools that people have to approve, and passes on what was decided.

The engine gets a question for each held call, and comes back with the decision. A call that nobody drives, as in a test of one
attempt, is never decided.
"""

from __future__ import annotations

from collections.abc import Callable

import anyio

from podium.core.events import AttemptStarted, ToolAsked
from podium.core.payloads import ToolCall, ToolDecision
from podium.core.types import Address, Millis


def not_reported(event: ToolAsked) -> None:
    """For attempts that no engine drives."""


class ApprovalDesk:
    def __init__(self) -> None:
        self._held: dict[tuple[Address, ToolCall], anyio.Event] = {}
        self._decided: dict[tuple[Address, ToolCall], ToolDecision] = {}
        self.report: Callable[[ToolAsked], None] = not_reported
        """Without it, as on a worker of a cluster, no call is held: the attempt ends and is repeated."""

    def open_calls(self) -> tuple[tuple[Address, ToolCall], ...]:
        return tuple(self._held)

    async def ask(self, started: AttemptStarted, call: ToolCall, wait_s: float) -> ToolDecision | None:
        """What was decided about the call; None if that took too long."""
        if self.report is not_reported:
            return None  # Nobody would hear of it before the attempt has ended.
        key = started.path, call
        event = self._held[key] = anyio.Event()
        self.report(ToolAsked(Millis(0), started.path, started.attempt, call))
        try:
            with anyio.move_on_after(wait_s):
                await event.wait()
        finally:
            del self._held[key]
        return self._decided.pop(key, None)

    def decide(self, path: Address, decision: ToolDecision) -> None:
        event = self._held.get((path, decision.call))
        if event is not None:
            self._decided[path, decision.call] = decision
            event.set()
