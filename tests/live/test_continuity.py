"""The real claude, codex and gemini go on in a conversation of their role, and each turn is charged once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.testing.models.server import ModelServer, Received, Rule, Tokens
from tests.e2e.kit import closing, new_project
from tests.live.programs import found

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

FLOW = """\
podium: 1
name: talk
agents:
  it: {{type: {kind}, command: {command}, base_url: "{url}", model: {model}}}
roles:
  thinker: {{agent: it, touches: [], system: You think., continuity: {{turns: 2}}}}
steps:
  first: {{role: thinker, prompt: first question}}
  second: {{role: thinker, prompt: second question}}
  third: {{role: thinker, prompt: third question}}
  alone: {{agent: it, prompt: another question, touches: []}}
"""
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
MODELS = {"claude": "sonnet", "codex": "gpt-5.5", "gemini": "gemini-2.5-flash"}
KEY = "dummy-key-4713-of-nobody"
RULES = (
    Rule(match="first question", text=f"ZEBRA and {KEY}", usage=Tokens(100, 20, 30)),
    Rule(match="second question", text="two", usage=Tokens(200, 40, 60)),
    Rule(match="third question", text="three", usage=Tokens(300, 60, 90)),
    Rule(match="another question", text="four", usage=Tokens(400, 80, 120)),
)


@pytest.mark.req("R068", "R070", "R207")
@pytest.mark.parametrize("kind", ["claude", "codex", "gemini"])
def test_a_role_remembers_as_many_turns_as_it_may_and_each_is_charged_once(kind: str, tmp_path: Path) -> None:
    """codex counts its whole thread anew in each turn; claude and gemini know a conversation by its folder only."""
    with ModelServer(*RULES) as server:
        url = f"{server.url}/v1" if kind == "codex" else server.url
        flow = FLOW.format(kind=kind, command=found(kind), url=url, model=MODELS[kind])
        made = new_project(tmp_path / "p", {"flow.yaml": flow}, **{KEYS[kind]: KEY})  # type: ignore[arg-type]
        with closing(made) as project:
            done = project.podium("run", "flow.yaml", "--sandbox", "limits", timeout_s=150)
            assert done.code == 0, done.err
            ends = [e for e in project.events(project.run_id()) if e["type"] == "AttemptEnded"]
            kept = (project.root / ".podium/runs" / project.run_id() / "sessions/thinker.json").read_bytes()

    assert [end["result"]["usage"] for end in ends] == [
        {"input": 100 * n, "output": 20 * n, "cached": 30 * n} for n in (1, 2, 3, 4)
    ]
    asked = [body(one) for one in server.requests_to() if one.method == "POST"]
    assert len(asked) == 4
    assert ["first question" in one for one in asked] == [True, True, False, False]
    assert ["second question" in one for one in asked] == [False, True, False, False]
    assert KEY.encode() not in kept


def body(one: Received) -> str:
    return json.dumps(one.body)
