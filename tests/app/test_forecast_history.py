"""What earlier runs used is what `plan`, `simulate` and the line before a run take for likely; free agents cost nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.forecast.plan import likely_use, plan
from podium.app.forecast.simulate import forecast
from podium.app.run.cost_history import Use
from podium.core.model import Agent
from podium.workflow.defaults import ESTIMATE
from tests.workflow.compiling import compile_text, only_step, verb_of

STEPS = "steps: {a: {agent: claude, prompt: x, touches: []}, b: {agent: claude, prompt: y, touches: []}}"
CHEAP = [Use(tokens=900, usd=usd, time=4_000, agent="claude") for usd in (9_000, 10_000, 11_000)]
HISTORY = {"a": CHEAP, "b": CHEAP}


@pytest.mark.req("C20")
def test_a_simulation_takes_calls_for_as_dear_as_a_plan_does(tmp_path: Path) -> None:
    workflow = compile_text(tmp_path, STEPS)

    simulated = forecast(workflow, seeds=range(40), inputs={}, history=HISTORY)
    planned = plan(workflow, {}, HISTORY)
    at_start = likely_use(workflow, {}, HISTORY)

    assert 0.5 < simulated.usd.median / planned.ranges["usd"].likely < 2
    assert simulated.usd.median < 60_000
    assert 0.3 < simulated.time.median / planned.ranges["time"].likely < 3
    assert at_start is not None and at_start.usd == planned.ranges["usd"].likely


def test_an_unknown_price_of_earlier_calls_leaves_the_estimate(tmp_path: Path) -> None:
    history = {"a": [Use(tokens=None, usd=None, time=4_000, agent="claude")]}

    simulated = forecast(compile_text(tmp_path, STEPS), seeds=range(20), inputs={}, history=history)

    assert simulated.usd.median > 100_000


def test_a_large_file_is_not_simulated_before_its_run(tmp_path: Path) -> None:
    steps = "".join(f"  s{n}: {{run: x}}\n" for n in range(70))

    assert likely_use(compile_text(tmp_path, f"steps:\n{steps}"), {}, {}) is None


FREE = "agents: {mine: {type: command, command: [x], price: {input: 0, output: 0}}}"


@pytest.mark.parametrize(
    ("step", "rest", "usd"),
    [
        ("{agent: mine, prompt: x}", FREE, 0),
        ("{agent: ollama, prompt: x, touches: []}", "", 0),
        ("{agent: mine, prompt: x, estimate: {usd: 0.2}}", FREE, 200_000),
        ("{agent: mine, prompt: x, fallback: [claude]}", FREE, ESTIMATE.usd),
        ("{agent: mine, prompt: x}", FREE.replace("output: 0", "output: 3"), ESTIMATE.usd),
        ("{agent: mine, prompt: x}", FREE.replace(", output: 0", ""), ESTIMATE.usd),
        ("{agent: claude, prompt: x}", "", ESTIMATE.usd),
    ],
)
def test_nothing_is_reserved_for_an_agent_that_is_free(
    step: str, rest: str, usd: int, tmp_path: Path
) -> None:
    """Another agent that may take its place is not."""
    assert verb_of(only_step(tmp_path, step, rest), Agent).estimate.usd == usd


def test_a_simulation_of_a_free_agent_costs_nothing_and_reaches_no_limit(tmp_path: Path) -> None:
    steps = (
        "limits: {usd: 1}\nsteps: {a: {for_each: [1, 2, 3, 4, 5, 6], agent: mine, prompt: x, touches: []}}"
    )

    simulated = forecast(compile_text(tmp_path, f"{FREE}\n{steps}"), seeds=range(30), inputs={})

    assert (simulated.usd.most, simulated.statuses.get("limited", 0)) == (0, 0)
