"""Settings of calls that a person approves, and of answers whose shape is open."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workflow.compiling import compile_text, errors, only_step, step_of


@pytest.mark.parametrize(
    ("written", "hold"), [("[run, edit]", 300_000), ("{tools: [run, edit], wait: 1m}", 60_000)]
)
def test_calls_of_tools_wait_for_a_person_while_they_are_held(
    tmp_path: Path, written: str, hold: int
) -> None:
    step = only_step(tmp_path, f"{{agent: claude, prompt: Go, approve_tools: {written}}}")
    assert (step.settings.approve.patterns, step.settings.approve.wait_ms) == (("run", "edit"), hold)


def test_any_json_is_a_contract_whose_fields_may_be_read(tmp_path: Path) -> None:
    text = 'steps:\n  a: {agent: claude, prompt: Go, output: {schema: json, file: a.json}}\n  b: {run: [echo, "${{ steps.a.output.x }}"]}\n'
    step = step_of(compile_text(tmp_path, text), "a")
    assert (step.output.kind, step.output.file) == ("json", "a.json")


def test_nothing_is_said_about_approved_calls_of_an_agent_that_does_not_exist(tmp_path: Path) -> None:
    written = "steps:\n  a: {agent: ghost, prompt: Go, approve_tools: [run]}\n"
    assert [message for _, message in errors(tmp_path, written) if "approve" in message] == []
    assert errors(tmp_path, written) != []
