"""The real claude, codex and gemini continue a conversation of their role, and each turn is charged once."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podium.testing.models.server import ModelRequest, ModelServer, Received, Rule, Tokens
from tests.e2e.kit import closing, new_project
from tests.live.programs import found

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

FLOW = """\
podium: 1
name: talk
agents:
  it: {{type: {kind}, command: {command}, base_url: "{url}", model: {model}{settings}}}
roles:
  thinker: {{agent: it, touches: [], system: You think., continuity: {{turns: {turns}}}}}
steps:
  first: {{role: thinker, prompt: first question}}
  second: {{role: thinker, prompt: second question}}
  third: {{role: thinker, prompt: third question}}
  alone: {{agent: it, prompt: another question, touches: []}}
"""
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
MODELS = {"claude": "sonnet", "codex": "gpt-5.5", "gemini": "gemini-2.5-flash"}
READS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("Read", {"file_path": "note.txt"}),
    "codex": ("exec_command", {"cmd": "head -c 20 note.txt"}),
    "gemini": ("read_file", {"file_path": "note.txt"}),
}
KEY = "dummy-key-4713-of-nobody"
QUESTIONS = ("first question", "second question", "third question", "another question")


def rules(kind: str) -> tuple[Rule, ...]:
    """The second question takes two calls: one for a tool, and one for the answer."""
    first, second, third, alone = QUESTIONS
    return (
        Rule(match=first, text=f"ZEBRA and {KEY}", usage=Tokens(100, 20, 30)),
        Rule(match=second, tools=[READS[kind]], text="two", usage=Tokens(200, 40, 60)),
        Rule(match=third, text="three", usage=Tokens(700, 140, 210)),
        Rule(match=alone, text="four", usage=Tokens(400, 80, 120)),
    )


class CountingServer(ModelServer):
    """Counts the tokens that it served, by the question that they were for."""

    def __init__(self, *rules: Rule) -> None:
        super().__init__(*rules)
        self.served: dict[str, list[Tokens]] = {question: [] for question in QUESTIONS}

    def choose(self, request: ModelRequest) -> Rule:
        rule = super().choose(request)
        self.served[str(rule.match)].append(rule.usage)
        return rule

    def tokens(self) -> list[dict[str, int]]:
        return [
            {name: sum(getattr(call, name) for call in calls) for name in ("input", "output", "cached")}
            for calls in self.served.values()
        ]


@dataclass(frozen=True, slots=True)
class Talk:
    ends: list[dict[str, Any]]
    session: bytes
    server: CountingServer


def talk(kind: str, folder: Path, turns: int, *rules: Rule, settings: str = "") -> Talk:
    with CountingServer(*rules) as server:
        url = f"{server.url}/v1" if kind == "codex" else server.url
        flow = FLOW.format(
            kind=kind, command=found(kind), url=url, model=MODELS[kind], turns=turns, settings=settings
        )
        made = new_project(folder, {"flow.yaml": flow, "note.txt": "nothing\n"}, **{KEYS[kind]: KEY})  # type: ignore[arg-type]
        with closing(made) as project:
            done = project.podium("run", "flow.yaml", "--sandbox", "limits", timeout_s=150)
            assert done.code == 0, done.err
            ends = [e for e in project.events(project.run_id()) if e["type"] == "AttemptEnded"]
            session = (
                project.root / ".podium/runs" / project.run_id() / "sessions/thinker.json"
            ).read_bytes()
    return Talk(ends, session, server)


@pytest.mark.req("R068", "R070", "R207")
@pytest.mark.parametrize("kind", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("turns", [2, 3])
def test_what_is_booked_for_each_turn_is_what_the_model_server_counted(
    kind: str, turns: int, tmp_path: Path
) -> None:
    """codex reports the sum of its whole thread, and so does claude 2.1.325 if its stored totals are left to it."""
    done = talk(kind, tmp_path / "p", turns, *rules(kind))

    assert [end["result"]["usage"] for end in done.ends] == done.server.tokens()
    asked = [body(one) for one in done.server.requests_to() if one.method == "POST"]
    assert len(asked) == 5
    assert ["first question" in one for one in asked] == [True, True, True, turns > 2, False]
    assert ["second question" in one for one in asked] == [False, True, True, turns > 2, False]
    assert KEY.encode() not in done.session


@pytest.mark.req("R207")
def test_the_cost_of_each_turn_of_claude_is_that_of_its_own_tokens(tmp_path: Path) -> None:
    """All turns use the same tokens, so each costs the same, and none is stopped by what earlier turns cost."""
    same = [Rule(match=question, text="yes", usage=Tokens(100_000, 0)) for question in QUESTIONS]
    done = talk("claude", tmp_path / "p", 3, *same, settings=", max_usd: 0.35")

    costs = [end["used"]["usd"] for end in done.ends]
    assert len(costs) == 4 and len(set(costs)) == 1
    assert 0.1 < costs[0] / 1_000_000 < 0.35


def body(one: Received) -> str:
    return json.dumps(one.body)
