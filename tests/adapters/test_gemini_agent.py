"""What gemini is told and what it says, without the program."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.gemini import CREDENTIALS
from podium.adapters.agents.gemini.agent import Gemini
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, Usage
from podium.testing.agent_contract import finished_process, parse_output

SUCCESS = {"type": "result", "timestamp": "2026-01-01T00:00:00.000Z", "status": "success"}
MODELS = {
    "gemini-2.5-pro": {"input_tokens": 214, "output_tokens": 40},
    "gemini-flash-lite": {"input_tokens": 9, "output_tokens": 1},
}
STOPPED = {"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}
STATS = {"total_tokens": 300, "input_tokens": 223, "output_tokens": 41, "cached": 14, "input": 209}


@pytest.fixture
def request_(tmp_path: Path) -> AgentRequest:
    return AgentRequest(
        agent="g", config={}, path="it", step="it", visit=1, attempt=1, prompt="Paint @shed", system="Be 5517",
        nonce="4c1f", project=tmp_path, cwd=tmp_path, home=tmp_path / "home", env={"GEMINI_API_KEY": "k-123"},
    )  # fmt: skip


def said(
    request: AgentRequest, *records: Mapping[str, Any], exit_code: int = 0, stderr: bytes = b""
) -> AgentResult:
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return parse_output(
        Gemini(), request, [data], finished_process(exit_code=exit_code, stdout=data, stderr=stderr)
    )[0]


def text(content: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": content, "delta": True}


def failed(message: str) -> dict[str, Any]:
    return {**SUCCESS, "status": "error", "error": {"type": "unknown", "message": message}}


@pytest.mark.req("R062", "R071")
def test_the_workspace_is_never_trusted_and_the_home_has_every_safe_setting(request_: AgentRequest) -> None:
    program, _ = Gemini().prepare(request_)
    settings = json.loads(program.files[".gemini/settings.json"])

    assert program.env["GEMINI_CLI_TRUST_WORKSPACE"] == "false"
    assert program.env["GOOGLE_GEMINI_BASE_URL"] == "https://generativelanguage.googleapis.com"
    assert program.env["GEMINI_API_KEY"] == "k-123"
    assert program.env["GEMINI_CLI_HOME"] == str(request_.home)
    report = str(request_.home / ".gemini/calls.log")
    assert settings["telemetry"] == {
        "enabled": True,
        "target": "local",
        "outfile": report,
        "logPrompts": False,
    }
    assert settings["general"]["maxAttempts"] == 1
    assert not settings["hooksConfig"]["enabled"] and settings["mcp"] == {"allowed": []}
    assert "--model=gemini-2.5-pro" in program.argv
    assert program.network == ("generativelanguage.googleapis.com",)
    assert not [word for word in program.argv if "k-123" in word]


def test_the_prompt_follows_a_command_of_its_own_and_the_role_is_a_file_that_no_tree_can_shadow(
    request_: AgentRequest,
) -> None:
    program, _ = Gemini().prepare(request_)

    assert program.stdin == b"/podium-4c1f\nPaint @shed"
    assert tomllib.loads(program.files[".gemini/commands/podium-4c1f.toml"].decode())["prompt"]
    assert program.files[".gemini/system-4c1f.md"] == b"Be 5517"
    assert json.loads(program.files[".gemini/settings.json"])["context"]["fileName"] == "system-4c1f.md"


@pytest.mark.req("R081")
@pytest.mark.parametrize(
    ("tools", "judge", "allowed"),
    [
        (None, True, {"list_directory", "read_file", "glob", "grep_search"}),
        (("edit",), False, {"replace", "write_file"}),
        (("run", "read_file"), False, {"run_shell_command", "read_file"}),
        ((), False, {"none"}),
    ],
)
def test_tools_are_offered_and_allowed_by_name(
    request_: AgentRequest, tools: Sequence[str] | None, judge: bool, allowed: set[str]
) -> None:
    request = replace(request_, tools=None if tools is None else tuple(tools), judge=judge)
    program, _ = Gemini().prepare(request)
    rules = tomllib.loads(program.files[".gemini/allowed.toml"].decode())["rule"]

    assert set(json.loads(program.files[".gemini/settings.json"])["tools"]["core"]) == allowed
    assert set(rules[0]["toolName"]) == allowed
    assert {rule["decision"] for rule in rules} == {"allow"}


@pytest.mark.parametrize(
    ("config", "tools", "words"),
    [
        ({"max_turns": 0}, None, "max_turns"),
        ({"base_url": "models.example"}, None, "base_url"),
        ({"command": ["a"]}, None, "command"),
        ({}, ("fly",), '"fly"'),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    request_: AgentRequest, config: Mapping[str, Any], tools: tuple[str, ...] | None, words: str
) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Gemini().prepare(replace(request_, config=config, tools=tools))


@pytest.mark.req("R207", "R211")
def test_the_answer_is_what_follows_the_last_tool_and_all_models_are_counted(request_: AgentRequest) -> None:
    records = (
        {"type": "init", "session_id": "s-1"},
        text("I will look."),
        {"type": "tool_use", "tool_name": "write_file", "parameters": {"file_path": "a.py"}},
        {"type": "tool_result", "status": "success"},
        text("It is "),
        text("blue"),
        {**SUCCESS, "stats": {**STATS, "models": MODELS}},
    )
    result = said(request_, *records)
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    _, seen = parse_output(Gemini(), request_, [data], finished_process(stdout=data))

    assert (result.text, result.trouble, result.session) == ("It is blue", None, "s-1")
    # Thinking stands in no counter but the total.
    assert result.usage == Usage(input=209, output=77, cached=14, calls=2)
    assert result.cost is None
    assert [(one.kind, one.text) for one in seen if one.kind in ("file", "usage")] == [
        ("file", "a.py"),
        ("usage", "gemini-2.5-pro: 214 in, 40 out"),
        ("usage", "gemini-flash-lite: 9 in, 1 out"),
    ]


@pytest.mark.req("R136", "C20")
@pytest.mark.parametrize(
    ("exit_code", "records", "stderr", "trouble", "words"),
    [
        (145, [failed('[API Error: {"error":{"code":401,"message":"bad key"}}]')], "", "auth", "bad key"),
        (173, [failed("[API Error: slow down]\nPlease wait")], "", "quota", "slow down"),
        (244, [failed('[API Error: {"error":{"code":500,"message":"boom"}}]')], "", "transient", "boom"),
        (144, [failed("[API Error: bad]")], "", "error", "bad"),
        (144, [failed('{"error":{"code":400,"message":"API key not valid.","details":[{"reason":"API_KEY_INVALID"}]}}')], "", "auth", "not valid"),
        (1, [failed("[API Error: x is not found]")], "at: /t/e.json ModelNotFoundError: x", "unavailable", "pro"),
        (1, [failed("[API Error: terminated]")], "SocketError: other side closed", "transient", "terminated"),
        (41, [], "Please set an Auth method", "auth", "Auth method"),
        (53, [failed("Reached max session turns")], "", "failed", "turns"),
        (0, [{"type": "error", "message": "blocked due to safety"}, {**SUCCESS, "status": "error"}], "", "refused", "safety"),
        (0, [text("half")], "", "malformed", "in the middle"),
        (0, [text("half"), STOPPED, SUCCESS], "", "truncated", "Loop detected"),
        (0, [{"type": "error", "message": "Model response was truncated"}, {**SUCCESS, "status": "error"}], "", "truncated", "cut off"),
        (0, [SUCCESS], "", "malformed", "said nothing"),
        (1, [], "Unknown argument: x", "error", "Unknown argument"),
    ],
)  # fmt: skip
def test_every_ending_has_its_trouble(
    request_: AgentRequest,
    exit_code: int,
    records: Sequence[Mapping[str, Any]],
    stderr: str,
    trouble: str,
    words: str,
) -> None:
    result = said(request_, *records, exit_code=exit_code, stderr=stderr.encode())

    assert result.trouble == trouble
    assert words in result.detail


def test_a_warning_before_more_of_the_answer_does_not_make_it_incomplete(request_: AgentRequest) -> None:
    assert said(request_, STOPPED, text("whole"), SUCCESS).trouble is None


@pytest.mark.req("C20")
@pytest.mark.parametrize(
    ("report", "trouble"),
    [
        (b"", None),
        (b'  "finish_reasons": [\n   "stop"\n  ],\n  "role": "main"', None),
        (b'  "finish_reasons": [\n   "stop",\n   "length"\n  ],\n  "role": "main"', "truncated"),
        (b'  "finish_reasons": [\n   "length"\n  ]\n\n  "finish_reasons": [\n   "stop"\n  ],', None),
        (b'  "finish_reasons": ["length"],\n "role": "main"\n  "finish_reasons": ["stop"],\n "role": "utility_x"', "truncated"),
        (b'  "text": "\\"finish_reasons\\": [ \\"length\\" ]"', None),
    ],
)  # fmt: skip
def test_its_report_tells_whether_the_last_answer_was_cut_off(
    request_: AgentRequest, report: bytes, trouble: str | None
) -> None:
    program, parser = Gemini().prepare(request_)
    parser.read_report(report)
    list(parser.feed("".join(json.dumps(record) + "\n" for record in (text("half"), SUCCESS)).encode()))

    assert parser.finish(finished_process()).trouble == trouble
    assert program.report == ".gemini/calls.log"


def test_a_failure_that_it_reports_is_believed_even_if_its_exit_code_looks_like_a_signal(
    request_: AgentRequest,
) -> None:
    """bubblewrap exits with 128 + n after signal n, and gemini with 152 after status 408."""
    data = (json.dumps(failed("[API Error: late]")) + "\n").encode()
    result, _ = parse_output(Gemini(), request_, [data], finished_process(exit_code=145, signal=17))
    killed, _ = parse_output(Gemini(), request_, [b""], finished_process(exit_code=137, signal=9))

    assert result.trouble == "auth"
    assert (killed.trouble, killed.detail) == ("transient", "it was ended by signal 9")


def test_a_quota_tells_when_it_opens_by_the_clock_of_the_record(request_: AgentRequest) -> None:
    result = said(
        request_, failed("[API Error: slow\nSuggested retry after 37s.]\nPlease wait"), exit_code=173
    )

    assert result.retry_at == 1767225600_000 + 37_000


def test_a_key_that_is_not_set_is_named(request_: AgentRequest) -> None:
    result = said(replace(request_, env={}, config={"key": "MINE"}), exit_code=41, stderr=b"no auth")

    assert (result.trouble, result.detail) == ("auth", "gemini could not log in: MINE is not set: export it")
    assert key_names(CREDENTIALS, {"key": "MINE"}) == ("MINE",)
