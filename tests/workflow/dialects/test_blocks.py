"""Every YAML block of the documents that described this system has an expected result, and produces it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, converted, resolved
from podium.core.messages import Approve
from podium.views.run.view import RunView
from podium.workflow.source.yaml import load
from tests.workflow.dialects.blocks import COUNT, blocks
from tests.workflow.dialects.expected import gates as expected_gates
from tests.workflow.dialects.expected import states as expected_states
from tests.workflow.dialects.expected import steps as expected_steps
from tests.workflow.dialects.expected import supervisor as expected_supervisor
from tests.workflow.dialects.expected import supervisor_files
from tests.workflow.dialects.expected.kinds import Contradicts, Expectation, Key, Loads, Runs
from tests.workflow.dialects.kit import ScriptedProject, status

pytestmark = pytest.mark.slow

EXPECTATIONS: tuple[Expectation, ...] = (
    *expected_gates.EXPECTATIONS,
    *expected_states.EXPECTATIONS,
    *expected_steps.EXPECTATIONS,
    *expected_supervisor.EXPECTATIONS,
    *supervisor_files.EXPECTATIONS,
)


def parametrize(kind: type[Expectation]) -> pytest.MarkDecorator:
    selected = [expected for expected in EXPECTATIONS if isinstance(expected, kind)]
    return pytest.mark.parametrize(
        "expected", selected, ids=[" ".join(map(str, expected.key)) for expected in selected]
    )


def test_every_block_has_exactly_one_expectation() -> None:
    texts_by_key = blocks()
    assert len(texts_by_key) == COUNT
    assert sorted(expected.key for expected in EXPECTATIONS) == sorted(texts_by_key)


@pytest.mark.req("R005", "C8")
@parametrize(Runs)
def test_a_foreign_workflow_and_its_native_form_both_run_to_the_expected_end(
    expected: Runs, project: ScriptedProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """R239-R245."""
    text = expected.text(blocks())
    for name, value in expected.env.items():
        monkeypatch.setenv(name, value)
    first = run_block(project, expected, text)
    assert top_level_steps(first.steps) == list(expected.steps)
    assert first.status == expected.status
    assert first.artifacts.keys() >= set(expected.artifacts)
    other = ScriptedProject(tmp_path / "other")
    file = write_files(other, expected, text)
    native = run_file(other, expected, other.convert(file))
    assert (top_level_steps(native.steps), native.status) == (top_level_steps(first.steps), first.status)
    # Members that run in parallel end in any order.
    assert sorted(native.steps) == sorted(first.steps)
    assert native.artifacts == first.artifacts
    other.facade.close()


@parametrize(Loads)
def test_a_foreign_setting_role_or_template_is_loaded_from_its_place_in_a_project(
    expected: Loads, project: ScriptedProject
) -> None:
    project.write(expected.path, expected.text(blocks()[expected.key]))
    for name, text in texts(expected.files):
        project.write(name, text)
    user = project.write_workflow(expected.user)
    assert [problem.render() for problem in check(user).errors] == []
    document = load(resolved(user), name="resolved").value
    for path, value in expected.gives.items():
        resolved_value = document
        for key in path.split("/"):
            resolved_value = resolved_value[int(key) if key.isdigit() else key]
        assert resolved_value == value, path
    native = converted(project.root / expected.path)
    assert [part for part in expected.also if part not in native] == []


@parametrize(Contradicts)
def test_a_contradictory_block_is_refused_with_the_reason(
    expected: Contradicts, project: ScriptedProject
) -> None:
    file = project.write_workflow(expected.text(blocks()[expected.key]))
    assert any(expected.message in problem.message for problem in check(file).errors)
    assert re.fullmatch(r"C\d+", expected.decision)


def texts(files: Mapping[str, str | Key]) -> Iterator[tuple[str, str]]:
    for name, text in files.items():
        yield name, text if isinstance(text, str) else blocks()[text]


class Result:
    def __init__(self, steps: Any, end: str, artifacts: Any) -> None:
        self.steps, self.status, self.artifacts = steps, end, artifacts


def run_block(project: ScriptedProject, expected: Runs, text: str) -> Result:
    return run_file(project, expected, write_files(project, expected, text))


def write_files(project: ScriptedProject, expected: Runs, text: str) -> Path:
    for name, content in texts(expected.files):
        if not content.startswith("#!"):
            project.write(name, content)
            continue
        program = project.root.parent / "programs" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(content, "utf-8")
        program.chmod(0o755)
    return project.write_workflow(text, cast=expected.cast)


def run_file(project: ScriptedProject, expected: Runs, file: Path) -> Result:
    run, state = project.run(file, expected.inputs)
    for answer in expected.answers:
        view = project.view(run)
        project.say(run, approval(view, answer))
        state = project.resume(run)
    return Result(project.ended_steps(run), status(state), project.artifacts(run))


def approval(view: RunView, answer: str) -> Any:
    action, _, words = answer.partition(": ")
    return Approve(view.pending[0].path, action, "ann", words)


def top_level_steps(steps: list[tuple[str, int, str]]) -> list[str]:
    """The top-level steps, with the outcome where it is not `passed` and the number of a later visit."""
    rows = [row for row in steps if "/" not in row[0] and "[" not in row[0] and "#" not in row[0]]
    return [
        step + (f"~{visit}" if visit > 1 else "") + ("" if outcome == "passed" else f":{outcome}")
        for step, visit, outcome in rows
    ]
