"""The end of a scope's own work, before gates, retries, people and `finally` have had their say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from podium.core.types import Outcome, Path, Reason


class Done(NamedTuple):
    outcome: Outcome
    reason: Reason = ""
    exit: int = 0
    message: str = ""
    leaves: bool = False
    hard: Path | None = None
    result: Mapping[str, Any] | None = None
    score: float | None = None
    feedback: tuple[Path, ...] = ()
    final: bool = False
    """Somebody decided to stop here: no further attempt of the scope."""
