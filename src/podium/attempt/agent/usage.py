"""What an attempt has used, and how much its answer resembles the one before."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Final

from podium.attempt.agent.resolve import ResolvedAgent
from podium.core.payloads import Amounts
from podium.core.types import MicroUsd
from podium.ports.agent import AgentResult, PriceOf, Usage

MOST: Final = 10**12
"""Tokens, and millionths of a dollar, that one attempt can have used; whoever tells more has miscounted."""
WORDS: Final = 2000
"""So many words of two answers are compared; comparing takes time with the square of it."""


def used_of(result: AgentResult) -> Amounts:
    if is_refused(result):
        return Amounts()
    tokens = result.usage.input + result.usage.output
    return Amounts(MicroUsd(result.cost or 0), tokens, result.usage.calls)


def is_refused(result: AgentResult) -> bool:
    """A used-up quota that was met before anything was used: the call was not made.

    Only where the agent tells that it has cost nothing: one that tells no price may have worked before it was refused.
    """
    usage = result.usage
    used = usage.input or usage.output or usage.cached
    return result.trouble == "quota" and result.cost == 0 and not used and not result.cut_off


def priced(result: AgentResult, worker: ResolvedAgent, public: PriceOf) -> AgentResult:
    """The cost, and who says so: the agent, else the user's own price, else a public one. Unknown stays unknown."""
    if not _is_possible(result):
        return replace(
            result, usage=Usage(calls=result.usage.calls), cut_off=True, cost=None, cost_source="unknown"
        )
    if result.cost is not None:
        return replace(result, cost_source=result.cost_source or "reported")
    usage = result.usage
    if _is_free(worker):
        return replace(result, cost=MicroUsd(0), cost_source=f"agents.{worker.agent}.price")
    if result.cut_off or not (usage.input or usage.output or usage.cached):
        return replace(result, cost_source="unknown")
    found = _own_price(worker, usage) or _public_price(result, worker, public)
    cost, source = (None, "unknown") if found is None else found
    return replace(result, cost=cost, cost_source=source)


def _is_possible(result: AgentResult) -> bool:
    """One call that is booked with more than there is would forbid every later one, here and by history in other runs."""
    usage = result.usage
    return max(usage.input, usage.output, usage.cached, usage.written, result.cost or 0) <= MOST


def _is_free(worker: ResolvedAgent) -> bool:
    """Then it does not matter how many tokens there were, and whether anybody has counted them."""
    price = worker.config.get("price") or {}
    said = [price.get(key) for key in ("input", "output", "cache_read", "cache_write")]
    return said[:2] == [0, 0] and not any(said)


def _own_price(worker: ResolvedAgent, usage: Usage) -> tuple[MicroUsd, str] | None:
    price = worker.config.get("price") or {}
    fresh, made = price.get("input"), price.get("output")
    if fresh is None or made is None:
        return None
    # Dollars per million tokens are millionths of a dollar per token. What has no price of its own is input.
    read, written = (fresh if price.get(key) is None else price[key] for key in ("cache_read", "cache_write"))
    cost = (usage.input - usage.written) * fresh + usage.written * written + usage.cached * read
    dated = f" of {price['date']}" if price.get("date") else ""
    return MicroUsd(round(cost + usage.output * made)), f"agents.{worker.agent}.price{dated}"


def _public_price(result: AgentResult, worker: ResolvedAgent, public: PriceOf) -> tuple[MicroUsd, str] | None:
    able = worker.installed.type.capabilities
    model = result.model or worker.model
    if not able.vendor or not model:
        return None
    # A service of one's own may have any price, whatever its models are called.
    own = worker.config.get("base_url") if able.any_vendor else None
    return public(str(own or able.vendor), model, result.usage)


def likeness(one: str, other: str) -> int:
    """In percent, by words: 100 for the same answer."""
    if one == other:
        return 100
    first, second = _words(one), _words(other)
    return round(100 * SequenceMatcher(None, first, second, autojunk=False).ratio())


def _words(text: str) -> list[str]:
    return re.findall(r"\S+", text[: WORDS * 20])[:WORDS]
