"""Jumps of the steps format: what leaves a loop, a branch or a handler, and results that are read from elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import check, converted

FILES = sorted((Path(__file__).parents[2] / "e2e/steps_files").glob("*.yaml"))
STEPS = 'version: "1.0"\nname: t\nsteps:\n'


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_and_its_native_form_are_both_valid(tmp_path: Path, path: Path) -> None:
    file = tmp_path / "flow.yaml"
    for text in (path.read_text("utf-8"), converted(path)):
        file.write_text(text, "utf-8")
        assert [problem.render() for problem in check(file).errors] == []


@pytest.mark.parametrize(
    ("steps", "part"),
    [
        (
            "  - {name: P, parallel: [{name: L, while: {condition: {env_set: X}, steps: [{name: I, command: [a], on: {failure: {error: x}}}]}}]}\n",
            "else: break",
        ),
        ("  - {name: P, parallel: [{name: I, command: [a], on: {failure: {goto: _error}}}]}\n", "else: fail"),
        (
            "  - {name: P, parallel: [{name: I, command: [a], on: {failure: {end: true}}}]}\n",
            "else: next",
        ),
        (
            "  - {name: P, parallel: [{name: L, while: {condition: {env_set: X}, steps: [{name: I, command: [a], on: {success: {error: x}}}]}}]}\n",
            "passed: {fail: x}",
        ),
        (
            "  - {name: A, command: [a], when: {env_set: X}}\n  - {name: B, command: [b, '${steps.A.output}']}\n",
            "skipped: b",
        ),
        (
            "  - {name: W, while: {condition: {not: {step_ok: I}}, steps: [{name: I, command: [a]}]}}\n",
            "set: {i_outcome: \"${{ 'passed' }}\"}",
        ),
        (
            "  - {name: C, provider: claude, prompt: hi, model: m, when: {env_set: X}, on: {failure: {goto: D}}}\n  - {name: D, command: [b, '${steps.C.exit_code}', '${steps.C.output}']}\n",
            "c_exit_code",
        ),
    ],
)
def test_a_jump_is_translated(tmp_path: Path, steps: str, part: str) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(f"{STEPS}{steps}", "utf-8")
    assert part in converted(file)


def test_a_result_of_a_loop_in_a_branch_is_not_read_outside_of_it(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    loop = "{name: L, for_each: {items: [x], steps: [{name: I, command: [a]}]}}"
    file.write_text(
        f"{STEPS}  - {{name: P, parallel: [{loop}]}}\n  - {{name: B, command: [b], when: {{step_ok: I}}}}\n",
        "utf-8",
    )
    [problem] = check(file).errors
    assert 'the result of "I", which is in a loop inside parallel' in problem.message


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("${#1}", 'write "$${#1}" for the text "${#1}"'),
        ("${steps.S.output}", '"S" prints nothing'),
        ("${steps.S.code}", "available: item"),
    ],
)
def test_what_is_not_defined_is_named_with_what_to_write(tmp_path: Path, word: str, hint: str) -> None:
    file = tmp_path / "flow.yaml"
    steps = f"  - {{name: S, set_context: {{a: b}}}}\n  - {{name: C, command: [echo, '{word}']}}\n"
    file.write_text(f"{STEPS}{steps}", "utf-8")
    [problem] = check(file).errors
    assert (problem.message, hint in problem.hint) == (f'"{word}" is not defined', True)


def test_a_predicate_without_its_step_is_reported_once(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        f"{STEPS}  - {{name: A, command: [a], when: {{exit_code: {{op: '==', value: 0}}}}}}\n", "utf-8"
    )
    assert [problem.message for problem in check(file).errors] == ['"exit_code" has no "step"']
