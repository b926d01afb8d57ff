"""Why the agent of a step with `agent: auto` was chosen, as a line and as data."""

from __future__ import annotations

from typing import Any

from podium.core.payloads import Chosen


def choice_text(chosen: Chosen) -> str:
    """`implement: codex (auto, chance 75%): 0.73 against claude's 0.56 ...`."""
    odds = "" if chosen.chance >= 1 else f", chance {chosen.chance:.0%}"
    return f"{chosen.step}: {chosen.agent} (auto{odds}): {chosen.why}"


def choice_data(chosen: Chosen) -> dict[str, Any]:
    return {
        "step": chosen.step,
        "agent": chosen.agent,
        "standard": chosen.standard,
        "policy": chosen.policy,
        "why": chosen.why,
        "chance": chosen.chance,
    }
