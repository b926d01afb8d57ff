"""How full the window of an agent was at its last call, and what to do about it (R209)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.ports.agent import AgentResult
from podium.workflow.schema.scalars import tokens

LEVELS: Final = (
    (90, "critical", "split the step, or give it less: the next answer may not fit"),
    (80, "high", "give it less: context.budget, shorter feedback, or continuity: fresh"),
    (60, "watch", "nothing yet; if it goes on growing, start afresh or pack less"),
    (0, "healthy", ""),
)
"""From so many percent on: the level and the recommendation."""


def window_of(result: AgentResult, config: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where the agent does not tell what its last call read, or nobody the size of its window."""
    size = tokens(config["context_window"]) if config.get("context_window") else result.window
    if result.context is None or not size:
        return None
    percent = round(100 * result.context / size)
    level, advice = next((level, advice) for least, level, advice in LEVELS if percent >= least)
    return {"used": result.context, "window": size, "percent": percent, "health": level, "advice": advice}
