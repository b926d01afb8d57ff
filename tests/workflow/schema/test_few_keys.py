"""An unknown key gets a hint: the word of another tool, the nearest key, or all keys of a small map."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.adapters.agents.registry import agent_types
from podium.errors import ConfigurationError
from podium.workflow.load import load
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.file import File
from podium.workflow.schema.other_words import FILE, STEP
from podium.workflow.schema.step import Step
from podium.workflow.scripted.cast import names_list_of, read_cast


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        ("{match: {agent: claude}}", "write step: NAME/MEMBER"),
        ("{match: {place: write}}", "its keys: step, visit, attempt, iteration, prompt"),
        ("{match: {stp: write}}", 'did you mean "step"?'),
        ("{decision: reject}", "write verdict: {decision: reject, score: 4}"),
    ],
)
def test_a_rule_of_a_cast(tmp_path: Path, rule: str, hint: str) -> None:
    cast = tmp_path / "cast.yaml"
    cast.write_text(f"rules: [{rule}]\n", "utf-8")

    with pytest.raises(ConfigurationError) as caught:
        read_cast(cast)

    assert hint in str(caught.value) + str(caught.value.problems)


@pytest.mark.parametrize(
    ("written", "path", "is_meant"),
    [
        ("vote", "vote/claude", True),
        ("vote", "vote~2/claude_2", True),
        ("judge", "write#1/judge/claude", True),
        ("write", "write#1/judge/claude", False),
        ("group", "group/fix", False),
        ("write", "write#1/claude", False),
    ],
)
def test_a_rule_may_name_the_list_of_a_member(written: str, path: str, is_meant: bool) -> None:
    assert names_list_of(written, path, "claude", "") is is_meant


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("steps: {a: {run: x, depends-on: [b]}}", "write needs: [a, b]"),
        ("steps: {a: {run: x, continueOnError: true}}", "write on: {failed: next}"),
        ("steps: {a: {bash: x}}", "write run: COMMAND"),
        ("steps: {a: {sleep: 5m}}", "write wait: {timer: 5m}"),
        ("steps: {a: {agent: claude, prompt: x, mcp_servers: {}}}", "MCP servers are a setting of the agent"),
        ("on: push\nsteps: {a: {run: x}}", "write triggers:"),
        ("nodes: []\nsteps: {a: {run: x}}", "write steps: with a map of steps"),
    ],
)
def test_words_of_other_tools_in_a_workflow(tmp_path: Path, text: str, hint: str) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{text}\n", "utf-8")

    hints = [problem.hint for problem in load(path, agent_types=agent_types(), project=tmp_path).errors]

    assert any(each.startswith(hint) for each in hints), hints


@pytest.mark.parametrize("words", [STEP, FILE])
def test_no_word_of_another_tool_is_a_key_here(words: dict[str, str]) -> None:
    model = Step if words is STEP else File

    assert not set(words) & set(known_keys(model))
