"""Agents of the Agent Client Protocol: what they ask is answered, and whatever they do wrong is understood."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.acp.agent import Acp
from podium.adapters.agents.shared.broker import DUMMY_KEY, URL
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, Progress, Usage
from podium.process.environment import minimal_env
from podium.process.launch import Launch
from podium.process.run import run
from podium.testing.agent_contract import parse_output, run_program

STAND_IN = Path(__file__).with_name("acp_stand_in.py")


def asked(folder: Path, mode: str, **more: Any) -> AgentRequest:
    for name in ("project", "cwd", "home"):
        (folder / name).mkdir(exist_ok=True)
    config = {"command": (sys.executable, "-I", str(STAND_IN), mode), **more.pop("config", {})}
    return AgentRequest(
        agent="a", config=config, path="it", step="it", visit=1, attempt=1, prompt="Paint 7391",
        project=folder / "project", cwd=folder / "cwd", home=folder / "home", **more,
    )  # fmt: skip


def answered(folder: Path, mode: str, **more: Any) -> tuple[AgentResult, list[Progress]]:
    request = asked(folder, mode, **more)
    program, _ = Acp().prepare(request)
    said, finished = run_program(program, request)
    return parse_output(Acp(), request, [said], finished)


@pytest.mark.req("R057", "R060", "R207")
def test_a_dialogue_gives_text_value_and_usage(tmp_path: Path) -> None:
    result, seen = answered(tmp_path, "well")

    assert (result.text, result.value, result.trouble) == ('{"title": "blue"}', {"title": "blue"}, None)
    assert (result.usage, result.cost, result.session) == (Usage(10, 2, 4), None, "s1")
    assert seen == [Progress("text", '{"title": '), Progress("text", '"blue"}')]


@pytest.mark.req("R207")
def test_usage_and_cost_are_those_that_the_agent_reports(tmp_path: Path) -> None:
    result, _ = answered(tmp_path, "costs")

    assert result.usage == Usage(input=33, output=9, written=3)
    assert (result.cost, result.context, result.window) == (750_000, 40, 200)


@pytest.mark.req("R184")
def test_a_key_whose_api_is_known_stays_with_the_broker(tmp_path: Path) -> None:
    own = {
        "key": ["GOOSE_KEY", "OTHER"],
        "expose": ["OTHER"],
        "server_tools": ["web_search"],
        "service": {
            "url": "https://goose.example/v1",
            "variable": "GOOSE_URL",
            "header": "Authorization",
            "calls": ["POST /chat"],
        },
    }
    keys = {"GEMINI_API_KEY": "k-123456", "GOOSE_KEY": "g-123456", "OTHER": "o-123456"}
    vendor = {"key": "GEMINI_API_KEY", "env": ["GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:1234/"]}

    gemini, _ = Acp().prepare(asked(tmp_path, "well", config=vendor, env=keys, brokered=True))
    goose, _ = Acp().prepare(asked(tmp_path, "well", config=own, env=keys, brokered=True))
    direct, _ = Acp().prepare(asked(tmp_path, "well", config=vendor, env=keys))

    assert gemini.service is not None and goose.service is not None
    assert (gemini.service.upstream, gemini.service.headers) == (
        "http://127.0.0.1:1234",
        {"x-goog-api-key": "k-123456"},
    )
    assert gemini.env == {"GEMINI_API_KEY": DUMMY_KEY, "GOOGLE_GEMINI_BASE_URL": URL}
    assert goose.service.headers == {"Authorization": "Bearer g-123456"}
    assert (goose.service.server_tools, gemini.service.server_tools) == (
        frozenset({"web_search"}),
        frozenset(),
    )
    assert goose.env == {"GOOSE_KEY": DUMMY_KEY, "GOOSE_URL": URL, "OTHER": "o-123456"}
    assert (direct.service, direct.env) == (None, {"GEMINI_API_KEY": "k-123456"})


@pytest.mark.req("R184")
@pytest.mark.parametrize(
    ("keys", "fact"),
    [
        (["GOOSE_KEY"], "its API is not known, so the agent itself would get GOOSE_KEY"),
        (["GEMINI_API_KEY", "GOOSE_KEY"], "the broker serves GEMINI_API_KEY only, so the agent itself would"),
        (["GOOSE_KEY", "OPENAI_API_KEY"], "the broker serves OPENAI_API_KEY only, so the agent itself would"),
    ],
)
def test_a_key_that_the_broker_cannot_use_is_passed_on_only_if_the_file_says_so(
    tmp_path: Path, keys: list[str], fact: str
) -> None:
    env = dict.fromkeys(keys, "k-123456")
    with pytest.raises(ConfigurationError, match=fact) as refused:
        Acp().prepare(asked(tmp_path, "well", config={"key": keys}, env=env, brokered=True))
    assert refused.value.hint == (
        "describe the API under service, or let the agent have the key: expose: [GOOSE_KEY]"
    )

    config = {"key": keys, "expose": ["GOOSE_KEY"]}
    program, _ = Acp().prepare(asked(tmp_path, "well", config=config, env=env, brokered=True))
    assert program.env["GOOSE_KEY"] == "k-123456"
    assert "k-123456" not in [value for name, value in program.env.items() if name != "GOOSE_KEY"]
    direct, _ = Acp().prepare(asked(tmp_path, "well", config={"key": keys}, env=env))
    assert direct.env == env


def test_an_api_without_an_address_is_named(tmp_path: Path) -> None:
    config = {"key": "GOOSE_KEY", "service": {"header": "x-key"}}
    with pytest.raises(ConfigurationError, match="service has no url"):
        Acp().prepare(asked(tmp_path, "well", config=config, env={"GOOSE_KEY": "g-123456"}, brokered=True))


@pytest.mark.parametrize(
    ("more", "allowed"),
    [
        ({}, {"read", "edit", "execute"}),
        ({"judge": True}, {"read"}),
        ({"tools": ("read", "web")}, {"read", "fetch"}),
        ({"tools": ()}, set()),
    ],
)
@pytest.mark.req("R081")
def test_permission_is_given_by_the_tools_of_the_role(tmp_path: Path, more: Any, allowed: set[str]) -> None:
    """A kind that is not named is never allowed, and what a client may lend (files) is not there."""
    result, seen = answered(tmp_path, "asks", **more)

    given = json.loads((tmp_path / "cwd/asked.json").read_text())
    assert {kind for kind, option in given.items() if option == "allow_once"} == allowed
    assert {option for kind, option in given.items() if kind not in allowed} <= {"reject_once"}
    assert result.text == '{"title": "blue"}'
    assert result.usage.calls == 2
    assert Progress("file", "asked.json") in seen


@pytest.mark.parametrize(
    ("mode", "trouble", "told"),
    [
        ("refusal", "refused", "refused"),
        ("max_tokens", "truncated", "maximum length"),
        ("max_turn_requests", "failed", "calls"),
        ("cancelled", "transient", "cancelled"),
        ("sleepy", "malformed", '"sleepy"'),
        ("die", "transient", "out of memory"),
        ("killed", "transient", "exit code -9"),
        ("early", "error", "to initialize, with exit code 3"),
        ("auth", "auth", "authenticate: web"),
        ("401", "auth", "status 401 (of the vendor)"),
        ("429", "quota", "status 429"),
        ("503", "transient", "status 503"),
        ("418", "error", "status 418"),
    ],
)
@pytest.mark.req("R063", "R136")
def test_each_trouble_is_told_apart(tmp_path: Path, mode: str, trouble: str, told: str) -> None:
    result, _ = answered(tmp_path, mode)

    assert result.trouble == trouble, result
    assert told in result.detail


def test_noise_on_its_line_is_noted_and_passed_over(tmp_path: Path) -> None:
    result, seen = answered(tmp_path, "noise")

    assert result.trouble is None
    assert seen[0] == Progress(
        "note", "it printed a line that is not part of the protocol: DEBUG not of the protocol\n"
    )


def test_usage_that_nobody_told_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    result, _ = answered(tmp_path, "uncounted")

    assert (result.usage, result.cost) == (Usage(), None)


def test_an_agent_that_wants_a_login_gets_the_one_that_is_named(tmp_path: Path) -> None:
    assert answered(tmp_path, "well", config={"authenticate": "web"})[0].trouble is None


def test_an_agent_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    result, _ = answered(tmp_path, "well", config={"command": "no-such-agent-4711"})

    assert (result.trouble, "no-such-agent-4711" in result.detail) == ("unavailable", True)


@pytest.mark.req("R141")
def test_one_that_hangs_is_ended_with_its_client(tmp_path: Path) -> None:
    request = asked(tmp_path, "hang")
    program, conversation = Acp().prepare(request)
    launch = Launch(
        argv=program.argv, cwd=request.cwd, env=minimal_env({"HOME": str(request.home)}), stdin=program.stdin,
        marker="podium-test-acp", timeout_s=1.5, grace_s=0.5,
    )  # fmt: skip

    finished = anyio.run(run, launch)

    assert finished.timed_out and finished.survivors == ()
    assert conversation.finish(finished).trouble == "timeout"


@pytest.mark.parametrize(
    ("more", "fact"),
    [
        ({"config": {"command": ()}}, "must be a list"),
        ({"model": "m"}, "has no {model}"),
        ({"config": {"command": ("x", "{model}")}}, "no model is set"),
        ({"config": {"home": {"a": 1}}}, "map of paths to texts"),
        ({"tools": ("knit",)}, '"knit"'),
    ],
)
def test_settings_that_cannot_be_used_are_said(tmp_path: Path, more: Any, fact: str) -> None:
    with pytest.raises(ConfigurationError, match=fact.replace("{", r"\{")):
        Acp().prepare(asked(tmp_path, "well", **more))
