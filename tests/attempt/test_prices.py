"""What a call costs: told by the agent, by the user's own price, by a public table, or not known at all (X2)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.adapters.agents.command.agent import Command
from podium.adapters.prices import public_price
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.agent.usage import is_refused, used_of, with_cost
from podium.attempt.host import no_price
from podium.core.types import MicroUsd
from podium.ports.agent import AgentResult, Usage
from tests.installed import agent

TOLD = AgentResult(usage=Usage(input=1000, output=100, cached=40, written=300))
PRICE = {"input": 2.0, "output": 10.0, "cache_read": 0.5, "cache_write": 3.0, "date": "2026-11-01"}


def worker(kind: str = "command", model: str | None = None, **config: Any) -> ResolvedAgent:
    return ResolvedAgent("mine", kind, None, model, config, agent(kind, Command()), None, None)


@pytest.mark.req("R208")
def test_the_users_own_price_counts_where_tokens_are_told() -> None:
    found = with_cost(TOLD, worker(price=PRICE), no_price)

    assert found.cost == 700 * 2 + 300 * 3 + 40 * 0.5 + 100 * 10
    assert found.cost_source == "agents.mine.price of 2026-11-01"
    assert used_of(found).tokens == 1100


@pytest.mark.parametrize("result", [TOLD, replace(TOLD, usage=Usage(), usage_incomplete=True)])
def test_what_is_said_to_cost_nothing_costs_nothing_whoever_counts(result: AgentResult) -> None:
    found = with_cost(result, worker(price={"input": 0, "output": 0}), no_price)

    assert (found.cost, found.cost_source) == (0, "agents.mine.price")


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(AgentResult(cost=MicroUsd(10**12 + 1)), id="dollars"),
        pytest.param(replace(TOLD, usage=Usage(input=10**30)), id="tokens"),
        pytest.param(replace(TOLD, usage=Usage(cached=10**30), cost=MicroUsd(5)), id="cached"),
    ],
)
def test_more_than_one_attempt_can_have_used_is_unknown_and_not_booked(told: AgentResult) -> None:
    found = with_cost(told, worker(price=PRICE), no_price)

    assert (found.cost, found.cost_source, found.usage_incomplete) == (None, "unknown", True)
    assert used_of(found).tokens == 0


@pytest.mark.req("R130")
@pytest.mark.parametrize(
    ("result", "calls"),
    [
        pytest.param(AgentResult(trouble="quota", cost=MicroUsd(0)), 0, id="refused for nothing"),
        pytest.param(AgentResult(trouble="quota"), 1, id="tells no price"),
        pytest.param(
            AgentResult(trouble="quota", cost=MicroUsd(0), usage=Usage(input=5)), 1, id="in the middle"
        ),
        pytest.param(AgentResult(trouble="quota", cost=MicroUsd(5)), 1, id="paid in part"),
        pytest.param(
            AgentResult(trouble="quota", cost=MicroUsd(0), usage_incomplete=True),
            1,
            id="ended before it could tell",
        ),
        pytest.param(AgentResult(trouble="transient"), 1, id="lost on the way"),
    ],
)
def test_only_what_a_quota_refuses_before_anything_was_used_is_no_call(
    result: AgentResult, calls: int
) -> None:
    assert used_of(result).calls == calls
    assert is_refused(result) == (calls == 0)


def test_cached_tokens_without_a_price_of_their_own_cost_what_others_do() -> None:
    found = with_cost(TOLD, worker(price={"input": 2, "output": 10}), no_price)

    assert found.cost == 1000 * 2 + 40 * 2 + 100 * 10


@pytest.mark.parametrize(
    ("result", "config"),
    [
        pytest.param(TOLD, {}, id="no price"),
        pytest.param(TOLD, {"price": {"input": 2.0}}, id="half a price"),
        pytest.param(AgentResult(), {"price": PRICE}, id="no tokens were told"),
        pytest.param(
            AgentResult(usage=TOLD.usage, usage_incomplete=True),
            {"price": PRICE},
            id="ended before it could tell",
        ),
    ],
)
def test_what_is_not_known_is_unknown_and_not_free(result: AgentResult, config: dict[str, Any]) -> None:
    found = with_cost(result, worker(**config), no_price)

    assert (found.cost, found.cost_source) == (None, "unknown")


def test_what_the_agent_tells_goes_first() -> None:
    found = with_cost(AgentResult(usage=TOLD.usage, cost=MicroUsd(7)), worker(price=PRICE), public_price)

    assert (found.cost, found.cost_source) == (7, "reported")


@pytest.mark.req("R208")
@pytest.mark.parametrize(
    ("kind", "model"), [("codex", "gpt-5.5"), ("gemini", "gemini-2.5-flash"), ("api", "gpt-4o-mini")]
)
def test_a_model_of_the_public_table_has_its_price_and_cached_tokens_are_cheaper(
    kind: str, model: str
) -> None:
    fresh, cached = (
        with_cost(AgentResult(usage=usage), worker(kind, model), public_price)
        for usage in (Usage(input=1000, output=100), Usage(input=100, cached=900, output=100))
    )

    assert fresh.cost is not None and cached.cost is not None
    assert 0 < cached.cost < fresh.cost
    assert fresh.cost_source.startswith("genai-prices ")


def test_the_model_that_has_answered_counts_and_not_the_one_that_was_asked() -> None:
    result = AgentResult(usage=TOLD.usage, model="claude-haiku-4-5-20251001")

    asked = with_cost(AgentResult(usage=TOLD.usage), worker("claude", "claude-opus-4-5"), public_price)
    answered = with_cost(result, worker("claude", "claude-opus-4-5"), public_price)

    assert asked.cost is not None and answered.cost is not None and answered.cost < asked.cost


@pytest.mark.parametrize(
    ("kind", "model", "config"),
    [
        ("codex", "model-of-nobody", {}),
        ("api", "gpt-4o-mini", {"base_url": "http://127.0.0.1:8000/v1"}),
        ("command", "gpt-4o-mini", {}),
    ],
)
def test_a_model_or_a_service_that_the_table_does_not_have_is_unknown(
    kind: str, model: str, config: dict[str, Any]
) -> None:
    assert with_cost(TOLD, worker(kind, model, **config), public_price).cost is None
