"""How full a window is, in levels, with what to do; unknown stays unsaid (R209)."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.attempt.agent.assess import window_of
from podium.ports.agent import AgentResult
from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import closing, new_project


@pytest.mark.req("R209")
@pytest.mark.parametrize(
    ("used", "health"), [(0, "healthy"), (590, "healthy"), (600, "watch"), (800, "high"), (900, "critical")]
)
def test_levels_are_at_60_80_and_90_percent(used: int, health: str) -> None:
    full = window_of(AgentResult(context=used), {"context_window": "1k"})

    assert full is not None
    assert (full["health"], full["percent"]) == (health, used // 10)
    assert bool(full["advice"]) == (health != "healthy")


def test_the_file_goes_first_then_the_agent_and_else_nothing_is_said() -> None:
    told = AgentResult(context=500, window=1000)

    assert (window_of(told, {}) or {})["percent"] == 50
    assert (window_of(told, {"context_window": 2000}) or {})["percent"] == 25
    assert window_of(AgentResult(context=500), {}) is None
    assert window_of(AgentResult(window=1000), {}) is None


@pytest.mark.slow
@pytest.mark.req("R209")
def test_a_window_that_fills_is_told_in_the_summary(tmp_path: Path) -> None:
    with ModelServer(Rule(text="short", usage=Tokens(850, 9))) as server:
        own = f"{{type: ollama, model: m, base_url: '{server.url}', context_window: 1k}}"
        steps = "steps: {tell: {agent: local, prompt: x, touches: []}}"
        flow = f"podium: 1\nname: f\nagents: {{local: {own}}}\n{steps}\n"
        with closing(new_project(tmp_path / "p", {"flow.yaml": flow})) as project:
            ended = project.podium("run", "flow.yaml")
            summary = project.root / ".podium/runs" / project.run_id() / "run_summary.md"

            assert ended.code == 0, ended.err
            assert "| `tell` | local | 850 | 1,000 | 85% | high | give it less" in summary.read_text()
