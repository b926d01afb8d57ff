"""The settings of `adaptive`: how the agents of steps with `agent: auto` are chosen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass

Policy: TypeAlias = Literal["rule", "thompson", "first"]
DAY_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True)
class Adaptive:
    policy: Policy = "rule"
    last: int = 90 * DAY_MS
    """Older visits do not count."""
    min_samples: int = 10
    """With fewer visits of its own, an agent is only explored."""
    success: float = 0.7
    cost: float = 0.3
    """The weights of the two parts of a score."""
    edge: float = 0.05
    """How much better than the standard another agent must score."""
    max_deviation: float = 0.2
    """By what share of the standard's success another agent may succeed less often."""
    explore_first: float = 0.25
    """The share of visits that try an agent while some agent has too few samples."""
    explore_later: float = 0.05
    half_life: int = 60
    """After so many visits, one counts half."""
    interval: int = 7 * DAY_MS
    """Figures are read at the start of each interval, so that runs within it choose alike."""
    locked: Mapping[str, str] = field(default_factory=dict)
    """The agents of roles that are not chosen."""
    source: Literal["project", "all"] = "project"
    """Whether rows count that were pulled from other projects."""


_PLAIN: Final = ("policy", "last", "min_samples", "edge", "max_deviation", "half_life", "interval", "locked")


def adaptive_of(written: Mapping[str, Any]) -> Adaptive:
    """The settings of a workflow, with defaults; `written` was checked by the schema."""
    values = {name: written[name] for name in _PLAIN if written.get(name) is not None}
    weights, explore = written.get("weights") or {}, written.get("explore") or {}
    named = {
        "success": weights.get("success"),
        "cost": weights.get("cost"),
        "explore_first": explore.get("first"),
        "explore_later": explore.get("later"),
        "source": written.get("from"),
    }
    return Adaptive(**values, **{name: value for name, value in named.items() if value is not None})
