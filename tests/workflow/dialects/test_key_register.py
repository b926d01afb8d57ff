"""Every key of every format does what its register says: it changes the native file, is warned about, or is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, converted
from podium.workflow.dialects.detect import TranslatedFile, translate
from podium.workflow.dialects.gates import keys as gates
from podium.workflow.dialects.gates.labels import labels_of
from podium.workflow.dialects.key_register import Key, Part
from podium.workflow.dialects.states import keys as states
from podium.workflow.dialects.steps import keys as steps
from podium.workflow.dialects.supervisor import keys as supervisor
from podium.workflow.merge.merge import merge
from podium.workflow.merge.sources import gather
from podium.workflow.merge.write_yaml import write_document
from podium.workflow.problems import EFFECT_RULE, Problem
from podium.workflow.source.files import read_tree
from tests.workflow.dialects.samples import gates as gates_samples
from tests.workflow.dialects.samples import states as states_samples
from tests.workflow.dialects.samples import steps as steps_samples
from tests.workflow.dialects.samples import supervisor as supervisor_samples
from tests.workflow.dialects.samples.sample import Sample

REGISTERS = {
    "states": (states.REGISTER, states_samples.STATES),
    "steps": (steps.REGISTER, steps_samples.STEPS),
    "gates": (gates.REGISTER, gates_samples.GATES),
    "supervisor": (supervisor.REGISTER, supervisor_samples.SUPERVISOR),
}
ROWS = [
    pytest.param(part, name, samples[part.where], id=f"{form}: {part.where}: {name}")
    for form, (register, samples) in REGISTERS.items()
    for part in register
    for name in part
    if name in samples[part.where].values
]


EXCLUSIVE = {
    "type": "gate_type",
    "gate_type": "type",
    "roles": "role",
    **dict.fromkeys(("prompt_file", "input_file", "input_files"), "prompt"),
}
"""Of these keys a mapping may have only one."""


def translated(folder: Path, document: dict[str, Any]) -> TranslatedFile:
    file = folder / "file.yaml"
    file.write_text(json.dumps(document), "utf-8")
    tree = read_tree(file, folder)
    assert tree.node is not None, tree.problems
    done = translate(tree.node)
    assert done is not None, "no format recognises it"
    return done


def problems_of(done: TranslatedFile, name: str) -> list[Problem]:
    return [problem for problem in done.translation.problems if f'"{name}"' in problem.message]


@pytest.mark.parametrize(("part", "name", "sample"), ROWS)
def test_a_key_does_what_the_register_says(tmp_path: Path, part: Part, name: str, sample: Sample) -> None:
    key = part.keys[name]
    base = {other: value for other, value in sample.base.items() if other not in (name, EXCLUSIVE.get(name))}
    with_key = translated(tmp_path, sample.document({**base, name: sample.values[name]}))
    match key.fate:
        case "refused":
            [problem] = [each for each in problems_of(with_key, name) if key.meaning in each.message]
            assert (problem.warning, problem.hint) == (False, key.instead)
        case "no effect":
            [warning] = [each for each in problems_of(with_key, name) if key.meaning in each.message]
            assert (warning.warning, warning.rule) == (True, EFFECT_RULE)
        case _ if key.meaning.startswith(("nothing:", "the version")):
            assert problems_of(with_key, name) == []
            document = sample.document({**base, name: sample.values[name]})
            assert effect_of(tmp_path, document) == effect_of(tmp_path, sample.document(base))
        case _ if key.meaning.startswith("see "):
            assert problems_of(with_key, name) == []
            inner = with_unknown_key(sample.values[name])
            assert problems_of(translated(tmp_path, sample.document({**base, name: inner})), UNKNOWN) != []
        case _:
            assert problems_of(with_key, name) == []
            if part.where != "the top level of a workflow" or name != "states":
                document = sample.document({**base, name: sample.values[name]})
                assert effect_of(tmp_path, document) != effect_of(tmp_path, sample.document(base))


UNKNOWN = "unknown_key"


def with_unknown_key(value: Any) -> Any:
    """The value with one more key in its innermost mapping, which only a reader of its keys can notice."""
    if isinstance(value, list):
        return [with_unknown_key(value[0]), *value[1:]]
    assert isinstance(value, dict)
    inner = next((name for name, part in value.items() if isinstance(part, dict)), None)
    return {**value, UNKNOWN: 1} if inner is None else {**value, inner: with_unknown_key(value[inner])}


TEMPLATE = """
name: base
steps:
  plan: {role: planner, next: implement}
  check: {role: reviewer, gate: APPROVED, next: implement}
  implement: {role: implementer, terminal: true}
"""


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("", ["plan", "check", "implement"]),
        ("disable: [check]", ["plan", "implement"]),
        (
            "overrides: {extra: {role: planner, position: after plan}}",
            ["plan", "extra", "check", "implement"],
        ),
        (
            "overrides: {extra: {role: planner, position: before implement}}",
            ["plan", "check", "extra", "implement"],
        ),
    ],
)
def test_position_and_disable_change_the_steps_of_a_template(
    tmp_path: Path, change: str, expected: list[str]
) -> None:
    assert list(merged_steps(tmp_path, change)) == expected


def test_overrides_change_a_step_of_a_template(tmp_path: Path) -> None:
    before = merged_steps(tmp_path, "")
    after = merged_steps(tmp_path, "overrides: {plan: {role: architect}}")
    assert (before["plan"]["role"], after["plan"]["role"]) == ("planner", "architect")
    assert after["implement"] == before["implement"]


def merged_steps(folder: Path, change: str) -> dict[str, Any]:
    """The steps of a supervised workflow that extends a template."""
    (folder / ".podium").mkdir(exist_ok=True)
    (folder / "base.yaml").write_text(TEMPLATE, "utf-8")
    text = f"workflow:\n  template: base\n  {change}\n"
    (folder / "flow.yaml").write_text(text, "utf-8")
    merged = merge(gather(folder / "flow.yaml"))
    assert [problem for problem in merged.problems if not problem.warning] == []
    steps: dict[str, Any] = merged.value["steps"]
    return steps


def effect_of(folder: Path, document: dict[str, Any]) -> tuple[str, Any]:
    """What a document means: its native form, and what the files of a run are called."""
    done = translated(folder, document)
    root = read_tree(folder / "file.yaml", folder).node
    return write_document(done.node), labels_of(root) if done.dialect == "gates" and root else None


HARMLESS = [
    pytest.param(part, name, key, samples[part.where], id=f"{form}: {part.where}: {name}")
    for form, (register, samples) in REGISTERS.items()
    for part in register
    for name, key in part.keys.items()
    if key.harmless
]


@pytest.mark.parametrize(("part", "name", "key", "sample"), HARMLESS)
def test_a_value_that_loses_nothing_is_not_warned_about(
    tmp_path: Path, part: Part, name: str, key: Key, sample: Sample
) -> None:
    for value in key.harmless:
        done = translated(tmp_path, sample.document({**sample.base, name: value}))
        assert problems_of(done, name) == []


@pytest.mark.parametrize("form", REGISTERS)
def test_every_key_of_a_format_has_a_sample(form: str) -> None:
    register, samples = REGISTERS[form]
    assert {part.where for part in register} == set(samples)
    missing = {part.where: set(part) - set(samples[part.where].values) for part in register}
    assert {where: names for where, names in missing.items() if names} == EXPECTED_GAPS.get(form, {})


EXPECTED_GAPS: dict[str, dict[str, set[str]]] = {
    # These change a step of a template: see the tests of position, disable and overrides.
    "supervisor": {
        "workflow": {"overrides", "disable"},
        **{part.where: {"position"} for part in supervisor.STEPS.values()},
    }
}


def test_validate_and_convert_name_what_has_no_effect(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        "name: w\nstates:\n  go: {type: single, agent: claude, prompt: Go., transitions: {}}\nlogging:\n  enabled: false\n"
    )
    [warning] = check(file).warnings
    assert (warning.line, warning.col) == (5, 3)
    assert '"enabled" of logging has no effect' in warning.message


AGENT = (
    "states: {go: {type: single, agent: x, prompt: Go., transitions: {success: complete}}}\nagents: {x: %s}\n"
)
SUPERVISED = "workflow: {steps: {plan: {role: planner, next: it}, it: %s}}\n"
STEP = 'version: "1.0"\nname: w\nsteps: [%s]\n'


@pytest.mark.parametrize(
    ("text", "is_warning", "part"),
    [
        (AGENT % "{type: cli, command: claude -p --verbose}", True, '"--verbose" in the command of agent "x"'),
        (AGENT % "{type: cli, command: codex exec --json, token_tracking: {cost_field: c}}", True, '"cost_field" of agent "x"'),
        (AGENT % "{type: cli, command: tool, cost_per_1k: {input: 1}}", True, '"cost_per_1k" of agent "x" has no effect'),
        (SUPERVISED % "{role: planner, context_scope: all}", False, '"all" is not a context_scope'),
        (SUPERVISED % "{role: planner, type: human_gate, gate_type: human}", False, 'both "type" and "gate_type"'),
        (SUPERVISED % "{type: robot}", False, '"robot" is not a kind of step'),
        (SUPERVISED % "{role: planner, retry_policy: {on_failure: panic}}", False, '"panic" is not an on_failure'),
        (SUPERVISED % "{role: reviewer, roles: [reviewer_codex]}", False, 'both "role" and "roles"'),
        ("git: {auto_branch: true, branch_pattern: 'ai/{tsk}'}", False, '"{tsk}" of branch_pattern is not known'),
        (STEP % "{name: A, provider: claude, prompt: hi, max_tokens: 9}", True, '"max_tokens" has no effect'),
        (STEP % "{name: A, provider: claude, prompt: hi, prompt_file: p.md}", False, 'both "prompt" and a file'),
    ],
)  # fmt: skip
def test_what_a_key_cannot_do_here_is_reported(
    tmp_path: Path, text: str, is_warning: bool, part: str
) -> None:
    file = tmp_path / "file.yaml"
    file.write_text(text, "utf-8")
    node = read_tree(file, tmp_path).node
    assert node is not None
    done = translate(node)
    assert done is not None
    [problem] = [each for each in done.translation.problems if part in each.message]
    assert problem.warning is is_warning


@pytest.mark.parametrize(
    ("command", "model"),
    [("claude -p --model opus", "opus"), ("gemini -m=pro {prompt}", "pro"), ("codex exec", None)],
)
def test_the_model_on_a_command_line_is_the_model_of_the_agent(
    tmp_path: Path, command: str, model: str | None
) -> None:
    document = {**json.loads(json.dumps(states_samples.ONE)), "x": {"type": "terminal"}}
    done = translated(tmp_path, {"states": document, "agents": {"x": {"type": "cli", "command": command}}})
    native = write_document(done.node)
    assert (f"model: {model}" in native) is (model is not None)
    assert done.translation.problems == []


def test_a_command_line_that_cannot_be_split_is_left_to_the_reader(tmp_path: Path) -> None:
    file = tmp_path / "flow.yaml"
    file.write_text(
        AGENT % '{type: cli, command: "tool \'open", cost_per_1k: {input: 0, output: 0}}', "utf-8"
    )
    assert "tool 'open" in converted(file)
