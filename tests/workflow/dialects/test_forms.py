"""Rarely used forms of the other formats, and their native translation."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import converted
from podium.errors import ConfigurationError

STEPS = 'version: "1.0"\nname: t\nsteps:\n'


def native(tmp_path: Path, text: str) -> str:
    path = tmp_path / "flow.yaml"
    path.write_text(text)
    return converted(path)


@pytest.mark.parametrize(
    ("step", "part"),
    [
        ("command: [a, 3, '${env.LANG}']", 'run: [a, "3", "${{ env.LANG }}"]'),
        (
            "command: [a, '${steps.Ask.exit_code}', '${steps.Ask.duration}']",
            "(0 if steps.ask.outcome == 'passed' else 1)",
        ),
        ("command: [a], input_file: 'in/${context.x}.txt'", 'stdin: "workspace/in/${{ vars.x }}.txt"'),
        ("command: [a], input_file: artifacts/Ask/said.txt", "stdin: workspace/artifacts/Ask/said.txt"),
        (
            "command: [a], input_file: workspace/artifacts/Ask/said.txt",
            "stdin: workspace/artifacts/Ask/said.txt",
        ),
        ("provider: claude, input_file: artifacts/Ask/said.txt", "stdin: workspace/artifacts/Ask/said.txt"),
        (
            "provider: claude, prompt_file: p.md, input_files: [a.txt, b.txt]",
            "stdin: [workspace/p.md, workspace/a.txt, workspace/b.txt]",
        ),
        ("provider: claude, input_file: src/main.py", "stdin: workspace/src/main.py"),
        ("provider: claude, prompt: 'Say ${context.x}'", "stdin: \"${{ join(['Say ', vars.x], '') }}\""),
        ("command: [a], on: {failure: {goto: _error}}", "else: fail"),
        (
            "command: [a], on: {success: {goto: _end}}, retry: {attempts: 4}",
            "retry: {attempts: 4, backoff: 2s}",
        ),
        ("command: [a, {b: c}]", "b: c"),
        ("provider: house, prompt: hi", "run: [house-shim]"),
        (
            "provider: house, prompt: hi, model: '${context.x}', max_tokens: '${context.n}'",
            'run: [house-shim, "--model", "${{ vars.x }}", "--max-tokens", "${{ vars.n }}"]',
        ),
        ("for_each: {items: {a: 1}, steps: [{name: I, command: [a]}]}", "for_each: {a: 1}"),
        ("command: [a], on: {failure: {goto: _start}}", "else: ask"),
        ("command: [a], on: {timeout: {end: true}}", "timeout: end"),
        ("command: [a], when: {file_exists: '${context.f}'}", "exists(join(['workspace/', vars.f], ''))"),
        (
            "command: [a], when: {file_exists: artifacts/Ask/said.txt}",
            "exists('workspace/artifacts/Ask/said.txt')",
        ),
        ("command: [a], when: {any: []}", 'when: "false"'),
        ("command: [a], when: {all: []}", 'when: "true"'),
        ("command: [a], when: {equals: {left: 3, right: true}}", "'3' == 'true'"),
        (
            "command: [a], when: {any: [{all: [{step_ok: Ask}, {env_set: A}]}, {env_set: B}]}",
            ") or 'B' in env",
        ),
        ("command: [a], when: {not: {all: [{env_set: A}, {env_set: B}]}}", "not ('A' in env and 'B' in env)"),
        ("set_context: {count: 3, l: [1], t: '${context.x}'}", 'count: "3"'),
        (
            "for_each: {items: '${context.l}', as: File, steps: [{name: I, command: [a, '${File.name}']}]}",
            "file.name",
        ),
        (
            "for_each: {items: [1], steps: [{name: I, command: [a], on: {failure: {error: x}}}]}",
            "set: {jump: fail, jump_message: x}",
        ),
        (
            "for_each: {items: [1], steps: [{name: I, command: [a], on: {failure: {goto: _error}}}]}",
            "set: {jump: fail, jump_message: I failed}",
        ),
        ("while: {condition: {env_set: A}, steps: [{name: I, command: [a]}]}", "max: 1000"),
        (
            "command: [a], on: {success: {goto: S}, failure: {error: x}}, catch: {steps: [{name: C, command: [a]}]}",
            "on: {passed: s, else: c}",
        ),
        ("parallel: {steps: [{name: I, command: [a]}]}", "parallel: true"),
    ],
)
def test_a_step_is_translated_to_its_native_form(tmp_path: Path, step: str, part: str) -> None:
    ask = "  - {name: Ask, provider: gemini, prompt: hi, output_file: said.txt}\n"
    assert part in native(tmp_path, f"{STEPS}{ask}  - {{name: S, {step}}}\n")


@pytest.mark.parametrize("path", ["/etc/passwd", "../../x"])
def test_a_condition_on_a_file_outside_the_project_is_refused(tmp_path: Path, path: str) -> None:
    with pytest.raises(ConfigurationError, match="leaves the project"):
        native(tmp_path, f"{STEPS}  - {{name: S, command: [a], when: {{file_exists: {path}}}}}\n")


def test_a_steps_format_file_keeps_its_limits_environment_and_context(tmp_path: Path) -> None:
    text = (
        "timeout: 90\nenv: [LANG]\ncontext: {a: 1}\nsteps: [{name: A, command: [a], when: {env_set: CI}}]\n"
    )
    translated = native(tmp_path, text)
    assert "limits: {time: 90s}" in translated
    assert "env: [LANG, CI]" in translated
    assert 'vars: {a: "1"}' in translated


def test_a_gate_without_input_judges_the_state_before_it(tmp_path: Path) -> None:
    text = """
states:
  go: {type: orchestrator-task, transitions: {success: look}}
  look: {type: single, agent: claude, prompt: Well, transitions: {proceed: complete}}
  first: {type: single, agent: claude, transitions: {retry: go}}
logging: {enabled: true}
"""
    translated = native(tmp_path, text)
    assert "role: orchestrator" in translated
    assert "of: go" in translated
    first = native(
        tmp_path, "states: {look: {type: single, agent: claude, transitions: {proceed: complete}}}\n"
    )
    assert "of:" not in first


def test_the_only_file_that_no_state_writes_becomes_the_input_of_the_workflow(tmp_path: Path) -> None:
    text = """
orchestrator: {agent: gemini}
states:
  go: {type: orchestrator-task, persona: orchestrator, input: [a.md, "more/*.md"], transitions: {success: complete}}
"""
    translated = native(tmp_path, text)
    assert 'context: ["${{ inputs.story }}", more/*.md]' in translated
    assert "default: a.md" in translated
    assert "agent: gemini" in translated


def test_states_format_settings_without_states_are_a_configuration(tmp_path: Path) -> None:
    assert "type: claude" in native(tmp_path, "agents: {a: {type: cli, command: claude -p}}\n")
    translated = native(
        tmp_path, "agents: {a: {type: cli, cost_per_1k: {input: free}}}\npersonas: {w: p.md}\n"
    )
    assert "price: {input: free}" in translated
    assert "system: p.md" in translated


def test_a_step_of_a_child_template_may_change_nothing(tmp_path: Path) -> None:
    translated = native(
        tmp_path, "name: t\nextends: _base\nsteps: {plan: {next: look}, look: {type: human_gate}}\n"
    )
    assert "plan: {}" in translated
    assert "after: plan" in translated
