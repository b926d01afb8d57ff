"""What codex 0.166.0 says, understood: lines recorded from the program itself, shortened."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.codex import CREDENTIALS
from podium.adapters.agents.codex.agent import Codex
from podium.adapters.agents.codex.errors import failure_of
from podium.adapters.agents.codex.stream import CodexConversation
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, PriorSession, Progress, Usage
from podium.testing.agent_contract import finished_process, parse_output

SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
STARTED = '{"type":"thread.started","thread_id":"01a1e1f7-7d32"}\n{"type":"turn.started"}\n'
THOUGHT = '{"type":"item.completed","item":{"id":"item_0","type":"reasoning","text":"thinking"}}\n'
CHANGE = (
    '{"type":"item.started","item":{"id":"item_1","type":"file_change","changes":[{"path":"/ws/src/a.py","kind":"add"}],"status":"in_progress"}}\n'
    '{"type":"item.completed","item":{"id":"item_1","type":"file_change","changes":[{"path":"/ws/src/a.py","kind":"add"}],"status":"completed"}}\n'
)
COMMAND = (
    '{"type":"item.started","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -c ls","aggregated_output":"","exit_code":null,"status":"in_progress"}}\n'
    '{"type":"item.completed","item":{"id":"item_2","type":"command_execution","command":"/bin/bash -c ls","aggregated_output":"a.py","exit_code":3,"status":"failed"}}\n'
)
COMPLETED = '{"type":"turn.completed","usage":{"input_tokens":2000,"cached_input_tokens":800,"cache_write_input_tokens":0,"output_tokens":100,"reasoning_output_tokens":40}}\n'


def message(text: str) -> str:
    return (
        json.dumps({"type": "item.completed", "item": {"id": "m", "type": "agent_message", "text": text}})
        + "\n"
    )


def failed(text: str) -> str:
    return json.dumps({"type": "turn.failed", "error": {"message": text}}) + "\n"


def request(**more: Any) -> AgentRequest:
    usual: dict[str, Any] = {
        "config": {},
        "prompt": "Paint",
        "env": {"OPENAI_API_KEY": "k"},
        "cwd": Path("/ws"),
    }
    return AgentRequest(
        agent="codex", path="it", step="it", visit=1, attempt=1,
        project=Path("/project"), home=Path("/home/of/it"), **{**usual, **more},
    )  # fmt: skip


def read(said: str, *, exit_code: int = 0, stderr: bytes = b"", **more: Any) -> AgentResult:
    ended = finished_process(exit_code=exit_code, stderr=stderr)
    return parse_output(Codex(), request(**more), [said.encode()], ended)[0]


def seen(said: str) -> list[Progress]:
    return parse_output(Codex(), request(), [said.encode()], finished_process())[1]


@pytest.mark.req("R060", "R062", "R207", "C5")
def test_a_good_turn_gives_its_text_its_thread_and_its_tokens() -> None:
    result = read(STARTED + THOUGHT + message("I begin") + CHANGE + message("It is done") + COMPLETED)

    assert (result.trouble, result.text, result.session) == (None, "It is done", "01a1e1f7-7d32")
    # What was cached is part of codex's input, what was thought part of its output.
    assert result.usage == Usage(input=1200, output=100, cached=800)
    assert result.cost is None


@pytest.mark.req("R064")
def test_everything_it_does_is_seen_with_its_kind() -> None:
    retry = '{"type":"error","message":"Reconnecting... 1/2 (unexpected status 503)"}\n'
    said = STARTED + THOUGHT + message("I begin") + CHANGE + COMMAND + retry + COMPLETED

    assert [(one.kind, one.text) for one in seen(said)] == [
        ("think", "thinking"),
        ("text", "I begin\n"),
        ("file", "src/a.py"),
        ("run", "ls"),
        ("done", ""),
        ("retry", "Reconnecting... 1/2 (unexpected status 503)"),
        ("usage", "1200 in, 800 cached, 100 out, 40 of them reasoning"),
    ]


def test_the_counters_of_a_thread_are_totals_of_which_the_last_one_counts() -> None:
    later = COMPLETED.replace("2000", "3000").replace("100,", "150,")

    assert read(STARTED + message("a") + COMPLETED + message("b") + later).usage == Usage(
        input=2200, output=150, cached=800
    )


@pytest.mark.req("C20")
@pytest.mark.parametrize(
    ("said", "exit_code", "trouble"),
    [
        pytest.param(STARTED + message("done") + COMPLETED, 1, "error", id="success with an exit code"),
        pytest.param(STARTED + message("done"), 0, "transient", id="no end of the turn"),
        pytest.param(STARTED + message("done"), 1, "transient", id="interrupted"),
        pytest.param(STARTED + COMPLETED, 0, "malformed", id="nothing said"),
        pytest.param(STARTED + message("  \n") + COMPLETED, 0, "malformed", id="only blanks"),
        pytest.param(STARTED + message("I begin") + CHANGE + COMPLETED, 0, "malformed", id="no last word"),
        pytest.param(STARTED + message("done") + failed("x"), 0, "error", id="failed with exit code 0"),
        pytest.param(STARTED + failed("x") + COMPLETED, 0, "error", id="failed and completed"),
        pytest.param("", 2, "error", id="a flag it does not know"),
        pytest.param("", 0, "malformed", id="nothing at all"),
        pytest.param(STARTED + '{"type":"turn.failed"}\n', 1, "error", id="failed without a word"),
    ],
)
def test_success_needs_the_exit_the_last_event_and_a_last_word(
    said: str, exit_code: int, trouble: str
) -> None:
    result = read(said, exit_code=exit_code)

    assert (result.trouble, bool(result.detail)) == (trouble, True)


def test_a_command_that_ends_behind_the_answer_takes_nothing_back() -> None:
    started, ended = COMMAND.splitlines(keepends=True)

    assert read(STARTED + started + message("done") + ended + COMPLETED).text == "done"


@pytest.mark.parametrize(
    ("said", "trouble"),
    [
        ("Reconnecting... 1/2 (exceeded retry limit, last status: 429 Too Many Requests)", "quota"),
        ("Reconnecting... 1/2 (unexpected status 503 Service Unavailable: (no))", "transient"),
        ("Reconnecting... 1/2 (unexpected status 401 Unauthorized: no)", "timeout"),
        ("something else", "timeout"),
    ],
)
def test_time_that_ran_out_in_a_pause_of_the_vendor_is_not_the_workers(said: str, trouble: str) -> None:
    line = json.dumps({"type": "error", "message": said}) + "\n"
    late = finished_process(exit_code=124, timed_out=True)

    def ended(told: str) -> AgentResult:
        return parse_output(Codex(), request(), [told.encode()], late)[0]

    assert ended(STARTED + line).trouble == trouble
    assert ended(STARTED + line + THOUGHT).trouble == "timeout", "it went on afterwards"


def test_a_folder_is_untrusted_by_every_name_it_has(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    program, _ = Codex().prepare(request(cwd=tmp_path / "link"))
    config = tomllib.loads(program.files[".codex/config.toml"].decode())

    assert {Path(name).name for name in config["projects"]} == {"link", "real"}


def test_what_it_said_to_people_is_in_the_detail() -> None:
    result = read("", exit_code=1, stderr=b"unknown configuration field `skills`")

    assert "exit code 1" in result.detail
    assert "unknown configuration field" in result.detail


@pytest.mark.req("R111")
@pytest.mark.parametrize(
    ("text", "value"),
    [('{"title": "Shed"}', {"title": "Shed"}), ('```json\n{"title": "Shed"}\n```', {"title": "Shed"})],
)
def test_the_last_message_is_the_structured_answer(text: str, value: Any) -> None:
    result = read(STARTED + message(text) + COMPLETED, schema=SCHEMA)

    assert (result.trouble, result.has_value, result.value) == (None, True, value)


@pytest.mark.req("R111")
def test_prose_around_a_value_is_no_value() -> None:
    result = read(STARTED + message('Here: {"title": "Shed"}') + COMPLETED, schema=SCHEMA)

    assert (result.trouble, result.has_value) == ("malformed", False)
    assert result.usage.input == 1200, "it is paid all the same"


NOW = datetime(2026, 11, 16, 1, 30, tzinfo=UTC)
LIMIT = "You\N{RIGHT SINGLE QUOTATION MARK}ve hit your usage limit. Visit the settings or try again at "


@pytest.mark.req("R063", "R136")
@pytest.mark.parametrize(
    ("sentence", "trouble"),
    [
        ("unexpected status 401 Unauthorized: no, url: http://x/v1/responses", "auth"),
        ("unexpected status 403 Forbidden: no", "auth"),
        ("Missing environment variable: `OPENAI_API_KEY`.", "auth"),
        ("exceeded retry limit, last status: 429 Too Many Requests", "quota"),
        ("Quota exceeded. Check your plan and billing details.", "quota"),
        (LIMIT + "2:54 AM.", "quota"),
        ("unexpected status 503 Service Unavailable: no", "transient"),
        ("We\N{RIGHT SINGLE QUOTATION MARK}re currently experiencing high demand, which", "transient"),
        ("Selected model is at capacity. Please try a different model.", "transient"),
        ("stream disconnected before completion: stream closed before response.completed", "transient"),
        ("Connection failed: error sending request", "transient"),
        ("Incomplete response returned, reason: max_output_tokens", "truncated"),
        ("Your access token could not be refreshed because your refresh token has expired.", "auth"),
        ("Your authentication session could not be refreshed automatically.", "auth"),
        ("Failed to refresh token: 404 Not Found", "auth"),
        (
            "stream disconnected before completion: Incomplete response returned, reason: max_output_tokens",
            "truncated",
        ),
        (
            "stream disconnected before completion: Incomplete response returned, reason: content_filter",
            "refused",
        ),
        ("The model `x` does not exist or you do not have access to it.", "unavailable"),
        ('{"error": {"message": "bad", "type": "invalid_request_error", "code": "invalid_value"}}', "error"),
        # Words of an answer that only look like a cause.
        ("The prompt says: unexpected status 401", "error"),
        ("", "error"),
    ],
)
def test_each_sentence_of_a_failed_turn_has_its_trouble(sentence: str, trouble: str) -> None:
    assert failure_of(sentence, lambda: NOW).trouble == trouble


@pytest.mark.parametrize(
    ("words", "opens"),
    [
        ("2:54 AM.", NOW.replace(hour=2, minute=55)),
        ("1:00 AM.", NOW.replace(day=17, hour=1, minute=1)),
        ("12:05 PM.", NOW.replace(hour=12, minute=6)),
        ("Nov 22nd, 2026 9:15 PM.", NOW.replace(day=22, hour=21, minute=16)),
        ("Feb 30th, 2027 9:15 PM.", None),
        ("some time.", None),
    ],
)
def test_a_limit_that_tells_its_end_is_waited_for(words: str, opens: datetime | None) -> None:
    found = failure_of(LIMIT + words, lambda: NOW).retry_at

    assert found == (None if opens is None else opens.timestamp() * 1000)


def test_the_end_of_a_limit_is_told_in_the_zone_of_the_machine() -> None:
    here = NOW.astimezone(timezone(timedelta(hours=-5)))

    found = failure_of(LIMIT + "9:00 PM.", lambda: here).retry_at
    assert found == here.replace(hour=21, minute=1).timestamp() * 1000


def test_a_pause_in_seconds_is_counted_from_now() -> None:
    sentence = "rate limit exceeded: Rate limit reached. Please try again in 1.5s."

    assert failure_of(sentence, lambda: NOW).retry_at == NOW.timestamp() * 1000 + 1500


def test_who_is_not_known_to_the_vendor_is_told_what_to_do() -> None:
    said = STARTED + failed("unexpected status 401 Unauthorized: no")

    assert "OPENAI_API_KEY was not accepted" in read(said, exit_code=1).detail
    assert "OPENAI_API_KEY is not set" in read(said, exit_code=1, env={}).detail
    assert "codex login" in read(said, exit_code=1, config={"auth": "login"}).detail


@pytest.mark.req("R071")
def test_the_program_gets_a_home_a_key_and_settings_of_its_own() -> None:
    asked = request(config={"base_url": "http://127.0.0.1:1/v1/", "key": "MY_KEY", "effort": "low"})
    program, _ = Codex().prepare(
        replace(asked, env={"MY_KEY": "secret-1", "OTHER": "x"}, system='A "b"\x7f\n')
    )
    config = tomllib.loads(program.files[".codex/config.toml"].decode())

    assert program.env == {"CODEX_HOME": "/home/of/it/.codex", "MY_KEY": "secret-1"}
    assert program.network == ("127.0.0.1:1",)
    assert config["developer_instructions"] == 'A "b"\x7f\n'
    assert config["projects"]["/ws"]["trust_level"] == "untrusted"
    assert config["shell_environment_policy"]["exclude"] == ["MY_KEY"]
    assert config["model_providers"]["podium"]["env_key"] == "MY_KEY"
    assert not any(config["features"].values())
    assert not [text for text in program.files.values() if b"secret-1" in text]
    assert "--sandbox=workspace-write" in program.argv


def test_a_judge_writes_nothing_and_a_worker_its_folder_only() -> None:
    program, _ = Codex().prepare(request(judge=True))

    assert "--sandbox=read-only" in program.argv


def test_a_login_takes_the_place_of_the_key() -> None:
    program, _ = Codex().prepare(request(config={"auth": "login"}, login=b"{}"))

    assert key_names(CREDENTIALS, {"auth": "login"}) == ()
    assert program.files[".codex/auth.json"] == b"{}"
    assert "OPENAI_API_KEY" not in program.env
    assert "chatgpt.com" in program.network


@pytest.mark.parametrize(
    "config",
    [{"auth": "magic"}, {"effort": "huge"}, {"base_url": "ftp://x"}, {"command": [1]}, {"stall": "soon"}],
)
def test_settings_that_cannot_be_used_are_named(config: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=rf"agents\.codex\.{next(iter(config))} "):
        Codex().prepare(request(config=config))


@pytest.mark.req("R207")
@pytest.mark.parametrize(
    ("earlier", "expected", "incomplete"),
    [
        pytest.param(Usage(input=700, output=60, cached=500), Usage(500, 40, 300), False, id="grows"),
        pytest.param(Usage(input=5000, output=60, cached=500), Usage(0, 40, 300), True, id="shrinks"),
    ],
)
def test_a_continued_thread_is_charged_for_its_last_turn_and_never_for_less_than_nothing(
    earlier: Usage, expected: Usage, incomplete: bool
) -> None:
    """A tool may write to the file from which codex restores the total; the usage is then not known, and not zero."""
    session = PriorSession(id="01a1e1f7-7d32", usage=earlier)
    result = read(STARTED + message("It is done") + COMPLETED, session=session)

    assert (result.usage, result.usage_incomplete) == (expected, incomplete)


@pytest.mark.req("R137")
def test_the_time_that_it_waits_to_retry_tells_when_the_vendor_accepts_calls_again() -> None:
    """codex obeys a Retry-After and never prints it."""
    limited = "exceeded retry limit, last status: 429 Too Many Requests"
    times = iter([NOW, NOW + timedelta(seconds=29.6)])
    now = NOW
    conversation = CodexConversation(request(), now=lambda: now)
    for part in ("Reconnecting... 1/1 (" + limited + ")", limited):
        now = next(times)
        list(conversation.feed(json.dumps({"type": "error", "message": part}).encode() + b"\n"))
    list(conversation.feed(failed(limited).encode()))
    result = conversation.finish(finished_process(exit_code=1))

    assert (result.trouble, result.retry_at) == ("quota", (now + timedelta(seconds=30)).timestamp() * 1000)
