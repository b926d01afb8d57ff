"""What an attempt has used, and how much its answer resembles the one before."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Any, Final

from podium.core.facts import Amounts
from podium.core.words import MicroUsd
from podium.ports import AgentResult

WORDS: Final = 2000
"""So many words of two answers are compared; comparing takes time with the square of it."""


def used_of(result: AgentResult) -> Amounts:
    tokens = result.usage.input + result.usage.output
    return Amounts(MicroUsd(result.cost or 0), tokens, result.usage.calls)


def priced(result: AgentResult, config: Mapping[str, Any]) -> AgentResult:
    """By the user's own price, where the agent tells its tokens but not its cost. Unknown stays unknown."""
    price, usage = config.get("price"), result.usage
    if result.cost is not None or not price or not (usage.input or usage.output):
        return result
    if price.get("input") is None or price.get("output") is None:
        return result
    # Dollars per million tokens are millionths of a dollar per token.
    cost = usage.input * price["input"] + usage.output * price["output"]
    cost += usage.cached * (price.get("cache_read") or 0)
    return replace(result, cost=MicroUsd(round(cost)))


def likeness(one: str, other: str) -> int:
    """In percent, by words: 100 for the same answer."""
    if one == other:
        return 100
    first, second = _words(one), _words(other)
    return round(100 * SequenceMatcher(None, first, second, autojunk=False).ratio())


def _words(text: str) -> list[str]:
    return re.findall(r"\S+", text[: WORDS * 20])[:WORDS]
