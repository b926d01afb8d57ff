"""The real claude against the model server: what it says is understood, and whatever can happen to it ends well."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.claude import AGENT
from podium.adapters.agents.claude.agent import Claude
from podium.ports.agent import AgentRequest, AgentResult, Progress, Usage
from podium.process.environment import minimal_env
from podium.process.launch import Finished, Launch
from podium.redaction.mask import Mask
from podium.testing.agent_contract import AgentContract, run_launch
from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.live.programs import found

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

KEY = "sk-test-4711-0815-dummy"
SCHEMA = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}


@dataclass(frozen=True, slots=True)
class Told:
    result: AgentResult
    seen: list[Progress]
    finished: Finished
    folder: Path


def ask(
    server: ModelServer, folder: Path, *, timeout_s: float = 60, url: str | None = None, **more: Any
) -> Told:
    """One request, as the launch path makes it: clean surroundings, a home of its own, a dummy key."""
    cwd, home, tmp = (folder / name for name in ("cwd", "home", "tmp"))
    for place in (cwd, home, tmp):
        place.mkdir(exist_ok=True)
    config = {"command": found("claude"), "base_url": url or server.url, **more.pop("config", {})}
    given: dict[str, Any] = {"prompt": "Paint the shed", "env": {"ANTHROPIC_API_KEY": KEY}, **more}
    request = AgentRequest(
        agent="claude", config=config, path="it", step="it", visit=1, attempt=1, project=folder, cwd=cwd,
        home=home, **given,
    )  # fmt: skip
    program, conversation = Claude().prepare(request)
    for name, content in program.files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(content)
    launch = Launch(
        argv=program.argv, cwd=cwd, env=minimal_env({**program.env, "HOME": str(home), "TMPDIR": str(tmp)}),
        marker="podium-live-claude", stdin=program.stdin, timeout_s=timeout_s, grace_s=1,
        mask=Mask({"ANTHROPIC_API_KEY": KEY}),
    )  # fmt: skip
    seen: list[Progress] = []
    finished = run_launch(launch, conversation, seen.append)
    return Told(conversation.finish(finished), seen, finished, cwd)


@pytest.mark.req("R057", "R060", "R061")
class TestRealClaude(AgentContract):
    @pytest.fixture(autouse=True)
    def serving(self) -> Iterator[None]:
        with ModelServer(Rule(match=r"shed 7391", text="It is blue", value={"title": "blue"})) as server:
            self.server = server
            yield

    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        return {"type": "claude", "command": found("claude"), "base_url": self.server.url}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "claude", "auth": "magic"}

    def env(self) -> Mapping[str, str]:
        return {"ANTHROPIC_API_KEY": KEY}


@pytest.mark.req("R061", "R207")
def test_text_tokens_and_cost_are_exactly_what_the_model_said(tmp_path: Path) -> None:
    with ModelServer(Rule(text="1. Look\n2. Paint", usage=Tokens(1000, 200, 300))) as server:
        told = ask(server, tmp_path, system="You are painter 5517.")

    asked = server.requests_to("/v1/messages")
    assert told.result.text == "1. Look\n2. Paint"
    assert told.result.usage == Usage(input=1000, output=200, cached=300)
    assert told.result.cost is not None and told.result.cost > 0
    assert len(asked) == 1, "nothing but the one call"
    assert asked[0].headers["x-api-key"] == f"***{KEY[-4:]}"
    assert "painter 5517" in json.dumps(asked[0].body["system"])
    assert {progress.kind for progress in told.seen} == {"text", "usage"}


def test_a_prompt_that_begins_with_a_slash_or_names_a_file_reaches_the_model_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "cwd").mkdir()
    (tmp_path / "cwd/plan.txt").write_text("PLANTED")
    with ModelServer(Rule(match="/context and @plan.txt", text="read")) as server:
        told = ask(server, tmp_path, prompt="/context and @plan.txt")

    assert told.result.text == "read"
    assert "PLANTED" not in json.dumps([one.body for one in server.requests_to()])


@pytest.mark.req("R111")
def test_a_structured_answer_is_there_or_the_answer_is_malformed(tmp_path: Path) -> None:
    with ModelServer(Rule(match="shed", value={"title": "blue"})) as server:
        good = ask(server, tmp_path, schema=SCHEMA).result
    with ModelServer(Rule(text='{"title": "only said"}')) as server:
        missing = ask(server, tmp_path, schema=SCHEMA).result

    assert (good.trouble, good.value) == (None, {"title": "blue"})
    assert (missing.trouble, missing.has_value) == ("malformed", False)
    assert missing.usage.input > 0, "what was used for nothing is still used"


@pytest.mark.req("R081")
def test_a_tool_that_the_role_does_not_have_is_not_even_offered(tmp_path: Path) -> None:
    with ModelServer(Rule(tools=[("Bash", {"command": "touch ran"})], text="tried")) as server:
        told = ask(server, tmp_path, tools=("read",))

    offered = [tool["name"] for tool in server.requests_to("/v1/messages")[0].body["tools"]]
    assert sorted(offered) == ["Glob", "Grep", "Read"]
    assert not (told.folder / "ran").exists()
    assert told.result.trouble is None


@pytest.mark.parametrize("judge", [False, True])
def test_files_outside_of_its_folder_are_neither_read_nor_written(tmp_path: Path, judge: bool) -> None:
    """By its own tools; the sandbox decides what a shell may do."""
    outside, inside = tmp_path / "outside.txt", tmp_path / "cwd/inside.txt"
    outside.write_text("NOT YOURS")
    inside.parent.mkdir()
    inside.write_text("ALL YOURS")
    tools = [
        ("Read", {"file_path": str(inside)}),
        ("Read", {"file_path": str(outside)}),
        ("Grep", {"pattern": "NOT", "path": str(outside), "output_mode": "content"}),
        ("Write", {"file_path": str(outside), "content": "x"}),
    ]
    with ModelServer(Rule(tools=tools, text="tried")) as server:
        ask(server, tmp_path, judge=judge)

    results = json.dumps(server.requests_to()[-1].body["messages"])
    assert "ALL YOURS" in results
    assert "NOT YOURS" not in results
    assert outside.read_text() == "NOT YOURS"


RESET = int(time.time()) + 3600
WINDOW = {
    "anthropic-ratelimit-unified-status": "rejected",
    "anthropic-ratelimit-unified-reset": str(RESET),
    "anthropic-ratelimit-unified-representative-claim": "five_hour",
}


@pytest.mark.req("R136", "R137")
@pytest.mark.parametrize(
    ("rule", "trouble", "calls"),
    [
        pytest.param(Rule(status=529, error="Overloaded"), "transient", 3, id="529"),
        pytest.param(Rule(status=400, error="bad"), "error", 1, id="400"),
        pytest.param(Rule(text=""), "malformed", 2, id="empty"),
    ],
)
def test_each_fault_has_its_category_and_ends_soon(
    tmp_path: Path, rule: Rule, trouble: str, calls: int | None
) -> None:
    with ModelServer(rule) as server:
        told = ask(server, tmp_path, config={"max_turns": 2})

    assert (told.result.trouble, calls or len(server.requests_to())) == (trouble, len(server.requests_to()))
    assert told.result.detail
    assert told.finished.duration_s < 30
    assert told.finished.survivors == ()


@pytest.mark.req("R126")
def test_it_stops_by_itself_where_its_own_limit_of_money_is(tmp_path: Path) -> None:
    """It looks after each call, so the first one is paid, and the second is not made."""
    tools = [("Read", {"file_path": "README.md"})] * 5
    with ModelServer(Rule(tools=tools, text="read", usage=Tokens(100_000, 1_000))) as server:
        told = ask(server, tmp_path, config={"max_usd": 0.01})

    assert len(server.requests_to()) < 5
    assert told.result.trouble == "failed"
    assert "budget" in told.result.detail
    assert told.result.usage.input > 0


@pytest.mark.req("R137")
def test_a_used_up_window_of_a_login_tells_when_it_opens_again(tmp_path: Path) -> None:
    login = {
        "accessToken": "oat-dummy-0123456789-0123456789",
        "refreshToken": "ort-dummy-0123456789-0123456789",
        "expiresAt": (RESET + 36000) * 1000,
        "scopes": ["user:inference", "user:profile"],
        "subscriptionType": "max",
    }
    with ModelServer(Rule(status=429, error="used up", headers=WINDOW)) as server:
        content = json.dumps({"claudeAiOauth": login}).encode()
        told = ask(server, tmp_path, config={"auth": "login"}, login=content)

    assert (told.result.trouble, told.result.retry_at) == ("quota", RESET * 1000)
    assert server.requests_to()[0].headers["authorization"] == "***6789"


def test_a_line_that_breaks_once_costs_a_second_call_and_nothing_is_lost(tmp_path: Path) -> None:
    with ModelServer(
        Rule(fault="cut", text="x" * 200, times=1), Rule(text="whole", usage=Tokens(70, 9))
    ) as server:
        result = ask(server, tmp_path).result

    assert (result.trouble, result.text) == (None, "whole")
    assert result.usage.input >= 70 and result.usage.output >= 9


def test_nobody_listening_is_transient_and_no_key_is_auth(tmp_path: Path) -> None:
    with ModelServer() as server:
        refused = ask(server, tmp_path, url="http://127.0.0.1:9").result
        unknown = ask(server, tmp_path, env={}).result

    assert refused.trouble == "transient"
    assert unknown.trouble == "auth"
    assert "ANTHROPIC_API_KEY is not set" in unknown.detail


@pytest.mark.parametrize("fault", ["hang", "stall"])
def test_silence_ends_with_the_time_of_the_attempt(tmp_path: Path, fault: Any) -> None:
    with ModelServer(Rule(fault=fault, text="x" * 200)) as server:
        told = ask(server, tmp_path, timeout_s=6)

    assert told.result.trouble == "timeout"
    assert told.finished.duration_s < 60
    assert told.finished.survivors == ()
