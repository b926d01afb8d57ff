"""Claude Code as an agent: what it is started with, and what its lines mean (R061, R136)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.claude import CREDENTIALS
from podium.adapters.agents.claude.agent import Claude
from podium.adapters.agents.claude.stream import ClaudeConversation
from podium.core.types import Millis
from podium.credentials import key_names, tokens_of
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, PriorSession, ProgramSpec, Progress, Usage
from podium.testing.agent_contract import finished_process, parse_output

KEY = "sk-test-0000"
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}
USED = {
    "claude-sonnet-5": {"inputTokens": 200, "outputTokens": 40, "cacheReadInputTokens": 30},
    "claude-haiku-4-5": {"inputTokens": 1, "outputTokens": 2, "cacheCreationInputTokens": 5},
}
GOOD = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "api_error_status": None,
    "result": "done",
    "stop_reason": "end_turn",
    "total_cost_usd": 0.00125,
    "usage": {"input_tokens": 0, "output_tokens": 0},
    "modelUsage": USED,
    "terminal_reason": "completed",
}
FAILED = {**GOOD, "is_error": True, "stop_reason": "stop_sequence", "total_cost_usd": 0, "modelUsage": {}}


def request(folder: Path, **more: Any) -> AgentRequest:
    given: dict[str, Any] = {"config": {}, "prompt": "Do it", "env": {"ANTHROPIC_API_KEY": KEY}, **more}
    return AgentRequest(
        agent="claude",
        path="it",
        step="it",
        visit=1,
        attempt=1,
        project=folder,
        cwd=folder,
        home=folder,
        **given,
    )


def prepared(folder: Path, **more: Any) -> ProgramSpec:
    return Claude().prepare(request(folder, **more))[0]


def content(program: ProgramSpec) -> str:
    text: str = json.loads(program.stdin or b"")["message"]["content"]
    return text


def flag(program: ProgramSpec, name: str) -> str | None:
    return next((word.partition("=")[2] for word in program.argv if word.startswith(f"{name}=")), None)


def said(
    folder: Path, *records: Any, schema: Any = None, model: str | None = None, **end: Any
) -> AgentResult:
    return heard(folder, *records, schema=schema, model=model, **end)[0]


def heard(folder: Path, *records: Any, **end: Any) -> tuple[AgentResult, list[Progress]]:
    asked = request(folder, schema=end.pop("schema", None), model=end.pop("model", None))
    data = "".join(json.dumps(record) + "\n" for record in records).encode()
    return parse_output(Claude(), asked, [data], finished_process(stdout=data, **end))


def message(name: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": 100, "cache_read_input_tokens": 7, "output_tokens": 1}
    told = {"id": name, "model": "claude-sonnet-5", "content": list(blocks), "usage": usage}
    return {"type": "assistant", "message": told, **more}


def made_up(error: str) -> dict[str, Any]:
    """The message that claude itself writes where a call has failed."""
    told = {
        "id": "x",
        "model": "<synthetic>",
        "content": [{"type": "text", "text": "API Error"}],
        "usage": {},
    }
    return {"type": "assistant", "message": told, "error": error}


@pytest.mark.req("R061")
def test_nothing_of_the_repository_configures_it_and_nothing_calls_home(tmp_path: Path) -> None:
    program = prepared(tmp_path)

    assert {"--setting-sources=", "--strict-mcp-config", "--disable-slash-commands"} <= set(program.argv)
    assert flag(program, "--model") == "sonnet", "its own choice is the dearest"
    for name in (
        "DISABLE_AUTOUPDATER",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
        "CLAUDE_CODE_DISABLE_ATTACHMENTS",
    ):
        assert program.env[name] == "1"
    assert program.env["CLAUDE_CONFIG_DIR"] == str(tmp_path / ".claude")
    assert program.network == ("api.anthropic.com",)


def test_a_prompt_that_looks_like_a_command_reaches_the_model(tmp_path: Path) -> None:
    assert content(prepared(tmp_path, prompt="/clear it")) == "\n/clear it"
    assert content(prepared(tmp_path, prompt="clear it")) == "clear it"


@pytest.mark.req("R081")
@pytest.mark.parametrize(
    ("tools", "judge", "there", "allowed"),
    [
        (None, False, "Read,Glob,Grep,Edit,Write,NotebookEdit,Bash", "Bash"),
        (None, True, "Read,Glob,Grep", None),
        (("read", "edit", "run", "web", "Bash(ls *)"), True, "Read,Glob,Grep", None),
        (("read", "Read(/data/**)"), False, "Read,Glob,Grep", "Read(/data/**)"),
        (("edit",), False, "Edit,Write,NotebookEdit", None),
        (("Bash(git diff *)", "Bash(ls *)"), False, "Bash", "Bash(git diff *),Bash(ls *)"),
        ((), False, "", None),
    ],
)
def test_a_roles_tools_are_all_that_it_has(
    tmp_path: Path, tools: tuple[str, ...] | None, judge: bool, there: str, allowed: str | None
) -> None:
    program = prepared(tmp_path, tools=tools, judge=judge)

    assert flag(program, "--tools") == there
    assert flag(program, "--allowedTools") == allowed
    assert flag(program, "--permission-mode") == ("dontAsk" if judge else "acceptEdits")


@pytest.mark.parametrize(
    "more",
    [
        {"tools": ("hammer",)},
        {"config": {"auth": "magic"}},
        {"config": {"max_turns": 0}},
        {"config": {"max_usd": 0}},
        {"config": {"max_usd": "much"}},
        {"config": {"base_url": "nowhere"}},
        {"config": {"command": [""]}},
    ],
)
def test_what_cannot_be_used_is_refused(tmp_path: Path, more: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        prepared(tmp_path, **more)


@pytest.mark.req("X2")
def test_a_sum_of_money_is_a_matter_for_the_program_itself(tmp_path: Path) -> None:
    assert flag(prepared(tmp_path, config={"max_usd": 0.5}), "--max-budget-usd") == "0.5"
    assert flag(prepared(tmp_path), "--max-budget-usd") is None


def test_a_key_comes_from_the_variable_that_the_file_names_and_goes_to_the_url_it_names(
    tmp_path: Path,
) -> None:
    config = {"key": "MODELS_KEY", "base_url": "http://127.0.0.1:1"}
    program = prepared(tmp_path, config=config, env={"MODELS_KEY": KEY})

    assert key_names(CREDENTIALS, config) == ("MODELS_KEY",)
    assert program.env["ANTHROPIC_API_KEY"] == KEY
    assert program.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert program.network == ("127.0.0.1:1",)


def test_a_login_is_a_file_of_the_attempts_own_home_and_no_key_goes_along(tmp_path: Path) -> None:
    login = b'{"claudeAiOauth": {"accessToken": "oat-0123456789-0123456789", "expiresAt": 1}}'
    program, _ = Claude().prepare(request(tmp_path, config={"auth": "login"}, login=login))

    assert program.files[".claude/.credentials.json"] == login
    assert "ANTHROPIC_API_KEY" not in program.env
    assert key_names(CREDENTIALS, {"auth": "login"}) == ()
    assert list(tokens_of({"claude": login}).values()) == ["oat-0123456789-0123456789"]
    odd = tokens_of({"claude": b"not json, but-perhaps-a-secret-all-the-same"})
    assert list(odd.values()) == ["but-perhaps-a-secret-all-the-same"]


def test_a_schema_of_an_object_goes_to_its_own_mechanism_and_others_are_asked_for_in_words(
    tmp_path: Path,
) -> None:
    assert json.loads(flag(prepared(tmp_path, schema=SCHEMA), "--json-schema") or "") == SCHEMA
    assert flag(prepared(tmp_path, schema={}), "--json-schema") is None
    assert said(tmp_path, {**GOOD, "result": "[1]"}, schema={}).value == [1]


@pytest.mark.req("R111")
def test_success_without_the_structured_answer_is_malformed(tmp_path: Path) -> None:
    there = said(tmp_path, {**GOOD, "structured_output": {"title": "x"}}, schema=SCHEMA)
    missing = said(tmp_path, {**GOOD, "result": '{"title": "only said"}'}, schema=SCHEMA)

    assert (there.trouble, there.value) == (None, {"title": "x"})
    assert (missing.trouble, missing.has_value) == ("malformed", False)


@pytest.mark.req("R207")
def test_tokens_and_cost_are_those_of_all_models_and_not_of_the_zeros_after_a_broken_stream(
    tmp_path: Path,
) -> None:
    result = said(tmp_path, message("m1"), GOOD)

    assert result.usage == Usage(input=206, output=42, cached=30, written=5)
    assert result.cost == 1250
    assert said(tmp_path, GOOD, model="their-own-model").cost is None, (
        "claude guesses the price of a stranger"
    )


@pytest.mark.req("R207")
def test_what_was_used_before_it_was_killed_is_not_lost(tmp_path: Path) -> None:
    """One call is told in several messages of the same id."""
    text, tool = (
        {"type": "text", "text": "a"},
        {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}},
    )
    result = said(
        tmp_path, message("m1", text), message("m1", tool), message("m2", text), exit_code=124, timed_out=True
    )

    assert (result.trouble, result.cost) == ("timeout", None)
    assert result.usage == Usage(input=200, output=2, cached=14, calls=2)
    assert result.usage_incomplete


@pytest.mark.req("R136")
@pytest.mark.parametrize(
    ("status", "error", "trouble"),
    [
        (401, "authentication_failed", "auth"),
        (403, "authentication_failed", "auth"),
        (429, "rate_limit", "quota"),
        (500, "server_error", "transient"),
        (529, "server_error", "transient"),
        (404, "model_not_found", "unavailable"),
        (400, "unknown", "error"),
        (413, "invalid_request", "error"),
        (None, "server_error", "transient"),
        (None, "authentication_failed", "auth"),
        (None, "unknown", "transient"),
        (None, "something_new", "error"),
        (None, "max_output_tokens", "truncated"),
    ],
)
def test_a_failed_call_is_told_by_its_status_and_else_by_its_word(
    tmp_path: Path, status: int | None, error: str, trouble: str
) -> None:
    end = {**FAILED, "api_error_status": status, "result": "it failed"}
    result = said(tmp_path, made_up(error), end, exit_code=1)

    assert (result.trouble, result.retry_at) == (trouble, None)
    assert "it failed" in result.detail.splitlines()[0]


@pytest.mark.req("R137")
def test_a_used_up_window_tells_when_it_opens_again(tmp_path: Path) -> None:
    window = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": 1794796318}}
    result = said(tmp_path, window, made_up("rate_limit"), {**FAILED, "api_error_status": 429}, exit_code=1)

    assert (result.trouble, result.retry_at) == ("quota", 1794796318000)


@pytest.mark.req("R137")
@pytest.mark.parametrize(("delay_ms", "expected"), [(30_000, 1_030_000), (1197.8, None)])
def test_the_pause_before_its_last_retry_tells_when_the_vendor_accepts_calls_again(
    tmp_path: Path, delay_ms: float, expected: int | None
) -> None:
    """claude obeys a Retry-After; its own pauses before two retries are shorter, and say nothing of the vendor."""
    retry = {"type": "system", "subtype": "api_retry", "error_status": 429, "retry_delay_ms": delay_ms}
    conversation = ClaudeConversation(request(tmp_path), structured=False, clock=lambda: Millis(1_000_000))
    for record in (retry, made_up("rate_limit"), {**FAILED, "api_error_status": 429}):
        list(conversation.feed(json.dumps(record).encode() + b"\n"))
    result = conversation.finish(finished_process(exit_code=1))

    assert (result.trouble, result.retry_at) == ("quota", expected)


@pytest.mark.req("C20")
@pytest.mark.parametrize(
    ("end", "exit_code", "trouble"),
    [
        ({**GOOD}, 1, "error"),
        ({**FAILED}, 0, "error"),
        ({**GOOD, "subtype": "error_during_execution"}, 0, "error"),
        ({**GOOD, "subtype": "error_during_execution", "is_error": True, "terminal_reason": "aborted_tools"}, 1, "transient"),
        ({**GOOD, "subtype": "error_max_turns", "is_error": True, "errors": ["too many"]}, 1, "failed"),
        ({**FAILED, "stop_reason": "refusal"}, 1, "refused"),
        ({**GOOD, "result": ""}, 0, "malformed"),
        ({**GOOD, "stop_reason": "max_tokens"}, 0, "truncated"),
        ({"type": "result"}, 0, "error"),
        (message("m1"), 0, "malformed"),
        (message("m1"), 1, "error"),
    ],
)  # fmt: skip
def test_it_went_well_only_if_all_signs_agree(
    tmp_path: Path, end: dict[str, Any], exit_code: int, trouble: str
) -> None:
    result = said(tmp_path, end, exit_code=exit_code)

    assert result.trouble == trouble
    assert result.detail


@pytest.mark.req("C20")
def test_the_parts_of_an_answer_that_was_continued_are_joined(tmp_path: Path) -> None:
    def text(words: str) -> dict[str, Any]:
        return {"type": "text", "text": words}

    tool = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    result, seen = heard(
        tmp_path,
        message("m1", text("I look first.")),
        message("m1", tool),
        {"type": "user", "parent_tool_use_id": None, "tool_use_result": {"stdout": ""}},
        message("m2", text('{"a": "one ')),
        message("m9", text("of a helper"), parent_tool_use_id="t1"),
        message("m3", text('two"}')),
        {**GOOD, "result": 'two"}'},
    )

    assert (result.trouble, result.text, result.value) == (None, '{"a": "one two"}', {"a": "one two"})
    assert [one.text for one in seen if one.kind == "note"] == [
        "the answer reached its maximum length; claude lets its model continue it"
    ]


def test_who_is_not_known_to_the_vendor_is_told_what_to_do(tmp_path: Path) -> None:
    asked = request(tmp_path, env={})
    data = "".join(json.dumps(line) + "\n" for line in (made_up("authentication_failed"), FAILED)).encode()
    result, _ = parse_output(Claude(), asked, [data], finished_process(stdout=data, exit_code=1))

    assert result.trouble == "auth"
    assert "ANTHROPIC_API_KEY is not set" in result.detail


def test_what_it_does_is_seen_while_it_does_it(tmp_path: Path) -> None:
    write = {"type": "tool_use", "name": "Write", "input": {"file_path": "a.txt", "content": "x"}}
    _, seen = heard(
        tmp_path,
        {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 529},
        message("m1", {"type": "text", "text": "I write"}, write),
        {"type": "user", "tool_use_result": {"type": "create", "filePath": "a.txt"}},
        {"type": "user", "tool_use_result": {"filePath": "b.txt", "structuredPatch": [{}]}},
        {"type": "user", "tool_use_result": "Error: no"},
        made_up("rate_limit"),
        GOOD,
    )

    assert [(progress.kind, progress.text) for progress in seen] == [
        ("retry", "call 1 failed (529); trying again"),
        ("text", "I write\n"),
        ("edit", "a.txt"),
        ("usage", "100 in, 7 cached, 1 out"),
        ("file", "a.txt"),
        ("file", "b.txt"),
        ("done", ""),
        ("usage", "206 in, 30 cached, 42 out"),
    ]


TURN = b'{"type":"user","message":{"content":"what is a cost-state?"}}'


@pytest.mark.req("R207")
@pytest.mark.parametrize(
    "totals",
    [
        b'{"type":"cost-state","totalCostUSD":0.4,"modelUsage":{}}',
        b'{"totalCostUSD":-5,"type":"cost\\u002dstate"}',
        b'{"type":"\\u0063ost-state","note":"\xff"}',
        b'{"type":"cost-state","deep":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["plain", "escaped", "not UTF-8", "deep"],
)
def test_a_continued_conversation_is_handed_over_without_the_totals_of_its_earlier_turns(
    tmp_path: Path, totals: bytes
) -> None:
    """claude 2.1.325 would count on from them, and each turn would be booked again with the next one."""
    content = b"\n".join([TURN, totals, TURN, b""])
    session = PriorSession(id="abc", files={".claude/projects/-old/abc.jsonl": content})
    files = prepared(tmp_path, session=session, resumable=True).files

    (name,) = [name for name in files if name.endswith("/abc.jsonl")]
    assert files[name] == b"\n".join([TURN, TURN, b""])
