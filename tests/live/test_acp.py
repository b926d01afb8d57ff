"""The real gemini as an agent of the Agent Client Protocol, in a whole run against the model server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import closing, new_project
from tests.live.programs import found
from tests.live.sandbox_kit import needs_bubblewrap

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

KEY = "dummy-key-4714-of-nobody"
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"enableAutoUpdate": False, "maxAttempts": 1},
}
FLOW = """\
podium: 1
name: shed
limits: {{unknown_cost: count_tokens}}
agents:
  it:
    type: acp
    command: [{command}, --acp, --model, "{{model}}"]
    model: gemini-2.5-flash
    key: GEMINI_API_KEY
    env: ["GOOGLE_GEMINI_BASE_URL={url}", GEMINI_CLI_NO_RELAUNCH=true, GEMINI_CLI_TRUST_WORKSPACE=true]
    home: {{.gemini/settings.json: {settings}}}
steps:
  paint: {{agent: it, prompt: "Paint shed 7391", touches: ["*.txt"]}}
  look: {{run: [grep, -q, blue, shed.txt]}}
"""


@pytest.mark.req("R057", "R187")
def test_gemini_paints_by_the_protocol_and_its_key_stands_nowhere(tmp_path: Path) -> None:
    write = ("write_file", {"file_path": "shed.txt", "content": "blue\n"})
    rule = Rule(match="shed 7391", tools=[write], text=f"painted with {KEY}", usage=Tokens(100, 20))
    with ModelServer(rule) as server:
        flow = FLOW.format(command=found("gemini"), url=server.url, settings=json.dumps(json.dumps(SETTINGS)))
        with closing(new_project(tmp_path / "p", {"flow.yaml": flow}, GEMINI_API_KEY=KEY)) as project:
            done = project.podium("run", "flow.yaml", "--sandbox", "limits", timeout_s=150)

            assert done.code == 0, done.err
            (end, _) = [e for e in project.events(project.run_id()) if e["type"] == "AttemptEnded"]
            everything = b"".join(
                path.read_bytes() for path in (project.root / ".podium").rglob("*") if path.is_file()
            )
            assert [*project.marked(), *project.inhabitants(), *project.leftovers()] == []
    assert end["result"]["files"] == ["shed.txt"]
    assert end["result"]["usage"] == {"input": 200, "output": 40, "cached": 0}
    assert not end["cost_known"]
    assert KEY.encode() not in everything
    assert "painted with ***" in end["result"]["text"]


@pytest.mark.req("R057", "R184")
def test_in_a_sandbox_the_key_of_an_acp_agent_stays_with_the_broker(tmp_path: Path) -> None:
    needs_bubblewrap()
    look = ("run_shell_command", {"command": "env"})
    write = ("write_file", {"file_path": "shed.txt", "content": "blue\n"})
    with ModelServer(Rule(match="shed 7391", tools=[look, write], text="painted")) as server:
        flow = FLOW.format(command="gemini", url=server.url, settings=json.dumps(json.dumps(SETTINGS)))
        with closing(new_project(tmp_path / "p", {"flow.yaml": flow}, GEMINI_API_KEY=KEY)) as project:
            # The sandbox shows the programs on the PATH.
            project.env["PATH"] = f"{Path(found('gemini')).parent}:{os.environ['PATH']}"
            done = project.podium("run", "flow.yaml", "--no-human", timeout_s=150)

            assert done.code == 0, done.err
            logs = (project.root / ".podium/runs" / project.run_id()).rglob("egress.jsonl")
            decisions = [json.loads(line) for log in logs for line in log.read_text().splitlines()]
    calls = server.requests_to("enerateContent")
    assert {call.headers["x-goog-api-key"] for call in calls} == {f"***{KEY[-4:]}"}
    assert {decision["way"] for decision in decisions if decision["allowed"]} == {"broker"}
    assert KEY not in json.dumps([call.body for call in calls])
