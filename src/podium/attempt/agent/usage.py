"""The usage and cost of an attempt, and the similarity of two answers."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from podium.attempt.agent.resolve import ResolvedAgent
from podium.core.payloads import Amounts
from podium.core.types import MicroUsd
from podium.ports.agent import AgentResult, PriceOf, Usage

MAX_USAGE: Final = 10**12
"""The most tokens, or millionths of a dollar, that one attempt can use; a higher figure is a miscount."""
MAX_WORDS: Final = 2000
"""Words of each answer that are compared; the time grows with the square."""


def used_of(result: AgentResult) -> Amounts:
    if is_refused(result):
        return Amounts()
    tokens = result.usage.input + result.usage.output
    # An attempt of an agent is one call, for limits and forecasts too, however often its program asks the model.
    return Amounts(MicroUsd(result.cost or 0), tokens, min(1, result.usage.calls))


def is_refused(result: AgentResult) -> bool:
    """Whether the quota was exhausted before the call used anything, so that no call was made.

    The agent must report a cost of zero: one that reports no cost may have worked before it was refused.
    """
    usage = result.usage
    used = usage.input or usage.output or usage.cached
    return result.trouble == "quota" and result.cost == 0 and not used and not result.usage_incomplete


def with_cost(result: AgentResult, worker: ResolvedAgent, public: PriceOf) -> AgentResult:
    """Set the cost and its source: the agent, else the configured price, else a public price, else unknown."""
    if not _is_possible(result):
        return replace(
            result,
            usage=Usage(calls=result.usage.calls),
            usage_incomplete=True,
            cost=None,
            cost_source="unknown",
        )
    if result.cost is not None:
        return replace(result, cost_source=result.cost_source or "reported")
    usage = result.usage
    if _is_free(worker):
        return replace(result, cost=MicroUsd(0), cost_source=f"agents.{worker.agent}.price")
    if result.usage_incomplete or not (usage.input or usage.output or usage.cached):
        return replace(result, cost_source="unknown")
    price = _own_price(worker, usage) or _public_price(result, worker, public)
    cost, source = (None, "unknown") if price is None else price
    return replace(result, cost=cost, cost_source=source)


def _is_possible(result: AgentResult) -> bool:
    """An impossible figure would exhaust every limit, in this run and, through the cost history, in later ones."""
    usage = result.usage
    return max(usage.input, usage.output, usage.cached, usage.written, result.cost or 0) <= MAX_USAGE


def _is_free(worker: ResolvedAgent) -> bool:
    """Whether all prices are zero, so that the cost is known without a token count."""
    price = worker.config.get("price") or {}
    prices = [price.get(key) for key in ("input", "output", "cache_read", "cache_write")]
    return prices[:2] == [0, 0] and not any(prices)


def _own_price(worker: ResolvedAgent, usage: Usage) -> tuple[MicroUsd, str] | None:
    price = worker.config.get("price") or {}
    input_price, output_price = price.get("input"), price.get("output")
    if input_price is None or output_price is None:
        return None
    # Dollars per million tokens are millionths of a dollar per token. Without prices of their own, cache reads and
    # writes cost as much as input.
    read, written = (
        input_price if price.get(key) is None else price[key] for key in ("cache_read", "cache_write")
    )
    cost = (usage.input - usage.written) * input_price + usage.written * written + usage.cached * read
    dated = f" of {price['date']}" if price.get("date") else ""
    return MicroUsd(round(cost + usage.output * output_price)), f"agents.{worker.agent}.price{dated}"


def _public_price(result: AgentResult, worker: ResolvedAgent, public: PriceOf) -> tuple[MicroUsd, str] | None:
    capabilities = worker.installed.type.capabilities
    model = result.model or worker.model
    if not capabilities.vendor or not model:
        return None
    # A service at another base_url has its own prices, even for models of the same name.
    base_url = worker.config.get("base_url") if capabilities.any_vendor else None
    return public(str(base_url or capabilities.vendor), model, result.usage)


def likeness(first: str, second: str) -> int:
    """Similarity by words, in percent; 100 for equal texts."""
    if first == second:
        return 100
    matcher = SequenceMatcher(None, _words(first), _words(second), autojunk=False)
    return round(100 * matcher.ratio())


def _words(text: str) -> list[str]:
    return re.findall(r"\S+", text[: MAX_WORDS * 20])[:MAX_WORDS]
