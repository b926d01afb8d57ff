"""Any program as an agent: its argv, its exit codes, and what it may tell about what it used (R059)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.command.agent import Command
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult
from podium.testing.agent_contract import finished_process, parse_output, run_program


def request(folder: Path, config: dict[str, Any], **more: Any) -> AgentRequest:
    given: dict[str, Any] = {"prompt": "Do it", "project": folder, "cwd": folder, "home": folder, **more}
    return AgentRequest(agent="c", config=config, path="it", step="it", visit=1, attempt=1, **given)


def ended(
    folder: Path, stdout: str = "", *, exit_codes: dict[Any, str] | None = None, **end: Any
) -> AgentResult:
    asked = request(folder, {"command": ["x"], "exit_codes": exit_codes or {}})
    data = stdout.encode()
    return parse_output(Command(), asked, [data], finished_process(stdout=data, **end))[0]


@pytest.mark.req("R059", "C20")
def test_a_shim_gets_the_prompt_on_stdin_and_answers_on_stdout(tmp_path: Path) -> None:
    asked = request(tmp_path, {"command": "tr a-z A-Z"}, system="Be loud.")

    program, _ = Command().prepare(asked)
    said, finished = run_program(program, asked)
    result, seen = parse_output(Command(), asked, [said], finished)

    assert program.argv == ("tr", "a-z", "A-Z")
    assert result.text == "BE LOUD.\n\nDO IT"
    assert result.cost is None, "unknown is not zero"
    assert [progress.text for progress in seen] == ["BE LOUD.\n"]


def test_placeholders_name_files_of_the_attempts_own_home(tmp_path: Path) -> None:
    command = [
        "tool",
        "--model={model}",
        "--in",
        "{prompt_file}",
        "--system",
        "{system_file}",
        "-s",
        "{schema_file}",
    ]
    asked = request(
        tmp_path,
        {"command": command, "args": ["{other}", "-v"]},
        system="{model}",
        model="{prompt_file}",
        schema={"type": "string"},
    )

    program, _ = Command().prepare(asked)

    assert program.argv == (
        "tool", "--model={prompt_file}", "--in", f"{tmp_path}/prompt.md", "--system", f"{tmp_path}/system.md",
        "-s", f"{tmp_path}/schema.json", "{other}", "-v",
    )  # fmt: skip
    assert program.stdin is None
    assert program.files["prompt.md"] == b"Do it"
    assert program.files["system.md"] == b"{model}"
    assert json.loads(program.files["schema.json"]) == {"type": "string"}


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({}, "agents.c.command is missing"),
        ({"command": []}, "agents.c.command is missing"),
        ({"command": "tool 'x"}, "cannot be split"),
        ({"command": [1]}, "list of texts"),
        ({"command": "tool {prompt}"}, "use {prompt_file}"),
        ({"command": "tool {system}"}, "use {system_file}"),
        ({"command": "tool {model}"}, "no model is named"),
        ({"command": "tool {schema_file}"}, "declares no schema"),
        ({"command": "tool", "exit_codes": {"75": "later"}}, "gives 75 the meaning later"),
        ({"command": "tool", "exit_codes": {"x": "ok"}}, "gives x the meaning ok"),
        ({"command": "tool", "exit_codes": [75]}, "is not a map"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path: Path, config: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        Command().prepare(request(tmp_path, config))

    assert said in refused.value.message


@pytest.mark.req("R059", "C21")
@pytest.mark.parametrize(
    ("code", "trouble"),
    [
        (0, None),
        (1, "transient"),
        (2, "error"),
        (3, "error"),
        (124, "timeout"),
        (126, "unavailable"),
        (127, "unavailable"),
    ],
)
def test_exit_codes_mean_what_the_shims_contract_says(tmp_path: Path, code: int, trouble: str | None) -> None:
    assert ended(tmp_path, "text", exit_code=code).trouble == trouble


def test_a_program_may_give_its_exit_codes_other_meanings(tmp_path: Path) -> None:
    meanings: dict[Any, str] = {75: "quota", "77": "auth", 1: "failed", 9: "ok"}

    found = {
        code: ended(tmp_path, "t", exit_codes=meanings, exit_code=code).trouble for code in (75, 77, 1, 9, 2)
    }

    assert found == {75: "quota", 77: "auth", 1: "failed", 9: None, 2: "error"}
    chosen = ended(tmp_path, "t", exit_codes={140: "auth"}, exit_code=140, signal=12)
    assert chosen.trouble == "auth"


def test_what_it_told_on_stderr_is_the_reason(tmp_path: Path) -> None:
    result = ended(tmp_path, "half", exit_code=1, stderr=b"no network\n")

    assert (result.text, result.detail) == ("half", "it ended with exit code 1:\nno network")
    assert ended(tmp_path, exit_code=137, signal=9).detail == "it was ended by signal 9"


def test_an_envelope_tells_usage_cost_and_trouble(tmp_path: Path) -> None:
    """R060"""
    envelope = {
        "podium": 1, "text": "hi", "value": {"a": 1}, "usage": {"input": 5, "output": 2, "cached": 1},
        "cost_usd": 0.01, "session": "s1",
    }  # fmt: skip
    good = ended(tmp_path, json.dumps(envelope))
    bare = ended(tmp_path, '{"podium": 1, "value": [1]}')
    quota = ended(
        tmp_path,
        '{"podium": 1, "trouble": "quota", "detail": "later", "retry_at": 1700000000.5}',
        exit_code=1,
    )
    silent = ended(tmp_path, '{"podium": 1, "text": "x"}', exit_code=2, stderr=b"bad call")

    assert (good.text, good.value, good.cost, good.session) == ("hi", {"a": 1}, 10_000, "s1")
    assert (good.usage.input, good.usage.output, good.usage.cached, good.usage.calls) == (5, 2, 1, 1)
    assert (bare.text, bare.value, bare.cost) == ("[1]", [1], None)
    assert (quota.trouble, quota.detail, quota.retry_at) == ("quota", "later", 1_700_000_000_500)
    assert (silent.trouble, silent.detail) == ("error", "bad call")


@pytest.mark.parametrize(
    "wrong",
    [
        {"usage": 3}, {"usage": {"input": -1}}, {"usage": {"input": "5"}}, {"cost_usd": "free"}, {"cost_usd": -1},
        {"cost_usd": True}, {"cost_usd": 1e305}, {"retry_at": 1e306}, {"retry_at": "soon"}, {"text": 1}, {"detail": []}, {"session": 2}, {"trouble": "bored"},
    ],
)  # fmt: skip
def test_an_envelope_is_foreign_data(tmp_path: Path, wrong: dict[str, Any]) -> None:
    result = ended(tmp_path, json.dumps({"podium": 1, "text": "x", **wrong}))

    assert result.trouble == "malformed"
    assert str(next(iter(wrong))) in result.detail


@pytest.mark.parametrize(
    "told",
    [
        '{"podium": 1, "trouble": "quota", "cost_usd": NaN}',
        '{"podium": 1, "trouble": "quota", "cost_usd": 1e999}',
        '{"podium": 1, "trouble": "quota", "retry_at": 1800000000000000000000}',
        '{"podium": 1, "trouble": "quota", "trouble": "auth"}',
    ],
)
def test_the_trouble_of_an_envelope_that_cannot_be_read_does_not_pass_for_an_answer(
    tmp_path: Path, told: str
) -> None:
    result = ended(tmp_path, told)

    assert result.trouble == "malformed"
    assert result.detail.startswith("the answer is not a JSON value that can be used: ")


def test_json_without_the_mark_is_an_answer_and_no_envelope(tmp_path: Path) -> None:
    result = ended(tmp_path, '{"text": "x", "cost_usd": 5}')

    assert result.has_value and result.cost is None


FIELDS = {
    "text": "result",
    "input": "usage.input_tokens",
    "output": "usage.output_tokens",
    "cost_usd": "total",
    "session": "ids.0",
}


def read_with_fields(folder: Path, output: str, **more: Any) -> AgentResult:
    asked = request(folder, {"command": ["x"], "fields": FIELDS}, **more)
    data = output.encode()
    return parse_output(Command(), asked, [data], finished_process(stdout=data))[0]


@pytest.mark.req("R061")
def test_fields_name_where_the_printed_object_has_answer_usage_cost_and_session(tmp_path: Path) -> None:
    printed = {
        "result": "done",
        "usage": {"input_tokens": 12, "output_tokens": 3},
        "total": 0.5,
        "ids": ["s-1"],
    }

    result = read_with_fields(tmp_path, json.dumps(printed))

    assert (result.text, result.usage.input, result.usage.output) == ("done", 12, 3)
    assert (result.cost, result.session) == (500_000, "s-1")


def test_an_answer_inside_the_printed_object_is_read_as_the_step_declares(tmp_path: Path) -> None:
    printed = json.dumps({"result": '{"title": "x"}'})
    assert read_with_fields(tmp_path, printed, schema={"type": "object"}).value == {"title": "x"}
    prose = json.dumps({"result": "no JSON here"})
    assert read_with_fields(tmp_path, prose, schema={"type": "object"}).trouble == "malformed"
    assert read_with_fields(tmp_path, prose).trouble is None


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ("plain words", "not one JSON object"),
        ('{"answer": "x"}', 'no text at "result"'),
        ('{"result": {"a": 1}}', 'no text at "result"'),
        ('{"result": "x", "usage": {"input_tokens": "many"}}', '"usage" is not a map of whole numbers'),
        ('{"result": "x", "ids": [["s"]]}', '"session" is not text'),
    ],
)
def test_output_without_the_named_fields_is_malformed(tmp_path: Path, output: str, detail: str) -> None:
    result = read_with_fields(tmp_path, output)
    assert result.trouble == "malformed"
    assert detail in result.detail


@pytest.mark.req("R061")
def test_the_prompt_is_an_argument_where_the_user_allows_it(tmp_path: Path) -> None:
    config = {"command": ["echo", "-n", "{prompt}"], "prompt_argument": True}
    asked = request(tmp_path, config, system="Be brief.", prompt="Say $HOME {model}")

    program, _ = Command().prepare(asked)
    output, finished = run_program(program, asked)

    assert program.stdin is None
    assert parse_output(Command(), asked, [output], finished)[0].text == "Be brief.\n\nSay $HOME {model}"
