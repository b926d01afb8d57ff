"""The scripted agent: which rule speaks, and that what it says is done for real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from podium.adapters.agents.scripted.agent import Scripted
from podium.errors import ConfigurationError, PathViolation
from podium.ports.agent import AgentRequest, AgentResult
from podium.testing.agent_contract import parse_output, run_program


@pytest.fixture
def request_(tmp_path: Path) -> AgentRequest:
    for name in ("project", "cwd", "home"):
        (tmp_path / name).mkdir()
    return AgentRequest(
        agent="w",
        config={"type": "scripted", "script": "cast.yaml"},
        path="each[3]/write~2",
        step="write",
        visit=2,
        attempt=4,
        prompt="Write a poem about rain.",
        nonce="n0nce",
        tree="a" * 40,
        project=tmp_path / "project",
        cwd=tmp_path / "cwd",
        home=tmp_path / "home",
    )


def answered(request: AgentRequest, cast: str) -> AgentResult:
    (request.project / "cast.yaml").write_text(cast)
    program, _ = Scripted().prepare(request)
    said, finished = run_program(program, request)
    return parse_output(Scripted(), request, [said], finished)[0]


@pytest.mark.req("R238")
@pytest.mark.parametrize(
    ("match", "speaks"),
    [
        ("{step: write}", True),
        ("{step: each/write}", True),
        ('{step: "each[3]/write~2"}', True),
        ("{step: other}", False),
        ("{visit: 2, attempt: 4, iteration: 3}", True),
        ("{visit: 1}", False),
        ("{attempt: 1}", False),
        ("{iteration: 1}", False),
        ("{prompt: 'about (rain|snow)'}", True),
        ("{prompt: 'about sun'}", False),
    ],
)
def test_the_first_rule_that_matches_speaks(request_: AgentRequest, match: str, speaks: bool) -> None:
    result = answered(request_, f"- match: {match}\n  text: first\n- text: second\n")

    assert result.text == ("first" if speaks else "second")


def test_a_gate_goes_by_the_visit_and_attempt_of_the_step_it_judges(request_: AgentRequest) -> None:
    request = replace(request_, path="write~2#3/look/w", step="w", visit=1, attempt=1, judge=True)

    result = answered(request, "- match: {step: write/look/w, visit: 2, attempt: 3}\n  verdict: reject\n")

    assert result.value["decision"] == "reject"
    assert result.value["findings"] == [{"severity": "major", "issue": "not good enough"}]


def test_a_verdict_repeats_nonce_and_tree(request_: AgentRequest) -> None:
    result = answered(replace(request_, judge=True), "- verdict: {decision: approve, summary: good}\n")

    assert result.value == {
        "decision": "approve", "score": 9, "findings": [], "summary": "good", "nonce": "n0nce", "tree": "a" * 40,
    }  # fmt: skip


def test_files_are_written_and_deleted_where_it_works(request_: AgentRequest) -> None:
    (request_.cwd / "old.txt").write_text("old")

    result = answered(request_, "- {write: {a/b.txt: new}, delete: [old.txt, gone.txt], text: done}\n")

    assert result.text == "done"
    assert (request_.cwd / "a/b.txt").read_text() == "new"
    assert not (request_.cwd / "old.txt").exists()


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("{delete: [tests/t.sh], write: {tests: x}}", '"tests" cannot be written: Is a directory'),
        ("{write: {tests/t.sh/x: x}}", '"tests/t.sh/x" cannot be written: '),
        ("{delete: [tests]}", '"tests" cannot be deleted: Is a directory'),
    ],
)
def test_a_rule_that_does_not_fit_the_tree_is_told_by_its_path(
    request_: AgentRequest, rule: str, told: str
) -> None:
    (request_.cwd / "tests").mkdir()
    (request_.cwd / "tests/t.sh").write_text("")

    result = answered(request_, f"- {rule}\n")

    assert result.trouble == "error"
    assert told in result.detail and "Traceback" not in result.detail


@pytest.mark.parametrize("path", ["../x", "/tmp/x", ".git/config"])
def test_a_path_that_leaves_the_workspace_is_a_mistake_of_the_cast(request_: AgentRequest, path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^cast.yaml:1: path"):
        answered(request_, f"- write: {{{path}: x}}\n")


def test_mistakes_in_the_cast_are_named_with_their_lines(request_: AgentRequest) -> None:
    with pytest.raises(ConfigurationError, match=r"^cast.yaml:2:\d+: "):
        answered(request_, "- text: x\n- txt: y\n")
    with pytest.raises(ConfigurationError, match=r'^cast.yaml:1: prompt "\(" is not a pattern'):
        answered(request_, "- match: {prompt: '('}\n")


def test_a_cast_that_is_not_there_is_named_and_one_outside_refused(request_: AgentRequest) -> None:
    with pytest.raises(ConfigurationError, match=r'agents\.w\.script names "cast\.yaml"'):
        Scripted().prepare(request_)
    with pytest.raises(PathViolation):
        Scripted().prepare(replace(request_, config={"script": "../cast.yaml"}))


@pytest.mark.req("R238")
@pytest.mark.parametrize(
    ("error", "trouble"),
    [
        ("quota", "quota"),
        ("overloaded", "transient"),
        ("auth", "auth"),
        ("refused", "refused"),
        ("crash", "transient"),
        ("garbled", "malformed"),
    ],
)
def test_trouble_is_acted_out(request_: AgentRequest, error: str, trouble: str) -> None:
    result = answered(request_, f"- {{error: {error}, text: so it is, write: {{x.txt: x}}}}\n")

    assert result.trouble == trouble
    assert (request_.cwd / "x.txt").exists(), "what happens before the trouble has happened"
    if error in ("quota", "overloaded", "auth", "refused"):
        assert result.detail == "so it is"


def test_one_that_says_it_is_blocked_or_ends_badly(request_: AgentRequest) -> None:
    blocked = answered(request_, "- blocked: no key\n")
    failed = answered(request_, "- {exit: 3, text: it broke}\n")

    assert (blocked.trouble, blocked.detail) == ("blocked", "no key")
    assert (failed.trouble, failed.detail) == ("failed", "it broke")


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ("error: auth", "the cast says: auth"),
        ("exit: 7", "the cast says: exit code 7"),
        ("{error: quota, text: come back later}", "come back later"),
    ],
)
def test_one_that_goes_wrong_does_not_say_that_it_is_done(
    request_: AgentRequest, rule: str, told: str
) -> None:
    assert answered(request_, f"- {rule}\n").detail == told


def test_usage_and_cost_are_what_the_rule_says(request_: AgentRequest) -> None:
    said = answered(request_, "- {usage: {input: 100, output: 20}, cost_usd: 0.25}\n")
    silent = answered(request_, "[]")

    assert (said.usage.input, said.usage.output, said.cost) == (100, 20, 250_000)
    assert (silent.usage.input, silent.cost) == (0, 0)


def test_without_a_rule_it_answers_in_the_shape_and_touches_what_it_must(request_: AgentRequest) -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    request = replace(request_, schema=schema, must_touch=("src/**", "docs/*.md"), config={})
    program, _ = Scripted().prepare(request)
    said, finished = run_program(program, request)
    result, seen = parse_output(Scripted(), request, [said], finished)

    assert isinstance(result.value["n"], int)
    assert [progress.kind for progress in seen] == ["file", "file", "text"]
    assert (request_.cwd / "src/changed").exists() and (request_.cwd / "docs/changed.md").exists()


def test_an_advisor_whom_no_rule_speaks_of_halts(request_: AgentRequest) -> None:
    request = replace(request_, schema={"title": "Decision", "type": "object"})

    assert answered(request, "[]").value["action"] == "halt"


@pytest.mark.parametrize(
    ("output", "text"), [("[a, b]", "a\nb"), ("plain", "plain"), ("{a: 1}", '{"a": 1}'), ("null", "null")]
)
def test_an_output_is_also_what_it_says(request_: AgentRequest, output: str, text: str) -> None:
    result = answered(request_, f"- output: {output}\n")

    assert (result.text, result.has_value) == (text, True)
