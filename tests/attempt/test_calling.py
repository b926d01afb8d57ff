"""Agents that are services, in real attempts: text in, text out, bounded in time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from podium.redaction.mask import Mask
from podium.testing.models.server import ModelRequest as Question
from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.attempt.agent_attempts import Asked, Clock
from tests.attempt.runs import Played, bench
from tests.git.kit import Project
from tests.installed import built_in

KEY = "dummy-key-4713-of-nobody"


class Bound(ModelServer):
    """Fills in what a verdict must repeat, as a model reads it in its prompt."""

    def choose(self, asked: Question) -> Rule:
        rule = super().choose(asked)
        found = dict(re.findall(r"^(nonce|tree): (\w+)$", asked.text, re.MULTILINE))
        return (
            replace(rule, value={**rule.value, **found}) if found and isinstance(rule.value, dict) else rule
        )


def play(project: Project, folder: Path, flow: str, server: ModelServer) -> tuple[Asked, Played]:
    agents = f"""
agents:
  local: {{type: ollama, model: small, base_url: "{server.url}"}}
  away: {{type: api, model: small-1, base_url: "{server.url}/v1", key: AWAY_KEY, price: {{input: 2, output: 10}}}}
"""
    made = bench(
        project,
        folder,
        agents + flow,
        now=Clock(),
        mask=Mask({"AWAY_KEY": KEY}),
        host_env={"PATH": "/usr/bin:/bin", "AWAY_KEY": KEY},
    ).given(agents=built_in("ollama", "api"))
    asked = Asked(made.workflow, made.host, made.root, answers={"it#1/!exhausted": "fail"})
    return asked, asked.play()


@pytest.mark.req("R058", "R066", "R207")
@pytest.mark.parametrize(("agent", "usd"), [("local", 0), ("away", 100 * 2 + 20 * 10)])
def test_the_answer_of_a_service_is_the_output_of_its_step(
    project: Project, tmp_path: Path, agent: str, usd: int
) -> None:
    flow = f"steps: {{it: {{agent: {agent}, prompt: Sum it up, output: {{schema: {{title: string}}}}}}}}"
    with ModelServer(Rule(value={"title": "short"}, usage=Tokens(100, 20, 0))) as server:
        asked, played = play(project, tmp_path, flow, server)

    answer, result = played.answer("it"), played.result("it")
    assert played.ending("it").outcome == "passed", result
    assert result["output"] == {"title": "short"}
    assert (answer.cost_known, answer.used.usd, answer.used.tokens, answer.used.calls) == (True, usd, 120, 1)
    assert json.loads(asked.log("it", 1, "attempt.json"))["exit_code"] is None
    files = [path for path in (project.root / ".podium").rglob("*") if path.is_file()]
    assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_step_that_must_change_files_is_not_given_to_a_service(project: Project, tmp_path: Path) -> None:
    flow = 'steps: {it: {agent: local, prompt: Write it, touches: ["src/**"], retry: none}}'
    with ModelServer(Rule()) as server:
        _, played = play(project, tmp_path, flow, server)
        assert server.requests == []

    answer = played.answer("it")
    assert (answer.kind, answer.used.calls) == ("unavailable", 0)
    assert "cannot change files" in played.result("it")["message"]


@pytest.mark.parametrize("agent", ["local", "away"])
def test_the_time_of_an_attempt_bounds_a_service_that_hangs(
    project: Project, tmp_path: Path, agent: str
) -> None:
    flow = f"steps: {{it: {{agent: {agent}, prompt: Sum it up, timeout: 1s, retry: none}}}}"
    with ModelServer(Rule(fault="hang")) as server:
        _, played = play(project, tmp_path, flow, server)

    assert played.answers("it")[0].kind == "timeout"


@pytest.mark.req("R111")
def test_a_service_can_review(project: Project, tmp_path: Path) -> None:
    flow = """
steps:
  it: {run: "echo 1 > src/n.txt", gates: [{name: look, review: [local]}]}
"""
    verdict = {"decision": "approve", "score": 8, "findings": [], "summary": "fine"}
    with Bound(Rule(value=verdict)) as server:
        _, played = play(project, tmp_path, flow, server)

    assert played.ending("it").outcome == "passed", played.events
