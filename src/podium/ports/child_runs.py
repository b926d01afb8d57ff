"""The protocol of what starts and drives runs in other repositories for steps of a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from podium.core.payloads import Amounts
from podium.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildOrder:
    """A run that is wanted. The same name always means the same run, so that a crash starts no second one."""

    name: str
    parent: str
    """The run and the step that want it, for people."""
    folder: Path
    file: str
    inputs: Mapping[str, Any]
    limits: Amounts
    """What it may use; 0 is unlimited."""
    no_human: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEnd:
    status: str
    outcome: str
    reason: str
    outputs: Mapping[str, Any]
    message: str
    used: Amounts
    """With what was reserved for calls whose cost is unknown."""


class ChildRuns(Protocol):
    async def run(self, order: ChildOrder, tell: Callable[[str], None]) -> ChildEnd:
        """Start the run if it does not exist, and drive it until it has ended; `tell` gets one line for each change."""

    async def cancel(self, order: ChildOrder) -> ChildEnd | None:
        """Cancel the run and wait until it has ended; None if it was never started."""


class NoChildRuns:
    """For hosts that have no other projects."""

    async def run(self, order: ChildOrder, tell: Callable[[str], None]) -> ChildEnd:
        raise AssertionError(f"{order.name}: this host starts no other runs")

    async def cancel(self, order: ChildOrder) -> ChildEnd | None:
        return None
