"""The `.workflow/` folder of a gates-format run: its files, and the answers that people may put there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podium.adapters.exporters.gates.labels import GateLabels, file_name, gate_of
from podium.app.run.serve import Service
from podium.core.hash_chain import RunId
from tests.engine.kit import git
from tests.workflow.dialects.kit import ScriptedProject, status

pytestmark = pytest.mark.slow

FLOW = """
workflow: {id: two-steps, name: Two steps}
steps:
  - {id: X-1, name: write-tests, agent: {type: test-writer}, outputs: [test_a.py], gate: XG-1-2}
  - {id: X-2, name: implement, agent: {type: implementor}, outputs: [a.py], gate: XG-2-end}
gates:
  - id: XG-1-2
    name: review-tests
    reviewer: {level: auto, agent_type: reviewer}
    on_pass: {next_step: X-2}
    on_fail: {next_step: X-1, retry_context_path: ".workflow/retry-context/XG-1-2-attempt-{n}.md"}
    max_retries: 2
  - {id: XG-2-end, name: sign-off, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: X-2}, max_retries: 2}
"""
CAST = """
- match: {step: "write_tests#1/review_tests/reviewer"}
  verdict: {decision: reject, score: 3, summary: It proves nothing., findings: [{severity: major, issue: no assert, path: test_a.py}]}
- {match: {step: write_tests}, write: {test_a.py: a test}}
- {match: {step: implement}, write: {a.py: a module}}
"""


def folder_of(project: ScriptedProject, run: RunId) -> Path:
    return project.facade.paths.run_dir(run) / ".workflow"


def texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def waiting(project: ScriptedProject) -> tuple[RunId, Path]:
    """A run that waits for a person at its second gate."""
    run, state = project.run(project.write_workflow(FLOW, cast=CAST))
    assert status(state) == "open"
    return run, folder_of(project, run)


@pytest.mark.req("R201", "R114")
def test_a_run_writes_the_folder_layout_of_the_format(
    project: ScriptedProject, waiting: tuple[RunId, Path]
) -> None:
    _, folder = waiting
    files = texts(folder)

    assert sorted(files) == [
        "audit/two-steps.log",
        "retry-context/XG-1-2-attempt-1.md",
        "signals/X-1-done.json",
        "signals/X-2-done.json",
        "signals/XG-2-end-asked.md",
        "specs/two-steps.yaml",
    ]
    assert files["specs/two-steps.yaml"] == FLOW
    assert json.loads(files["signals/X-1-done.json"])["files"] == ["test_a.py"]
    context = files["retry-context/XG-1-2-attempt-1.md"]
    assert "It proves nothing." in context and "- [major] (test_a.py) no assert" in context
    lines = files["audit/two-steps.log"].splitlines()
    assert [line.split(" ", 1)[1].partition(" (")[0] for line in lines] == ["XG-1-2 fail 1", "XG-1-2 pass"]
    assert 'is the step "implement" good?' in files["signals/XG-2-end-asked.md"]


def test_the_users_own_files_are_not_changed(project: ScriptedProject, waiting: tuple[RunId, Path]) -> None:
    assert (project.root / ".workflow/signals/XG-2-end-asked.md").is_file()
    assert git(project.root, "status", "--porcelain") == ""


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("XG-2-end-pass", "", "passed"),
        ("XG-2-end-pass.json", '{"by": "bea"}', "passed"),
        ("XG-2-end-pass.md", "Well done.", "passed"),
    ],
)
def test_a_person_passes_a_gate_with_a_file(
    project: ScriptedProject, waiting: tuple[RunId, Path], name: str, content: str, expected: str
) -> None:
    run, folder = waiting
    (folder / "signals" / name).write_text(content, "utf-8")

    assert status(project.resume(run)) == expected
    assert sorted(path.name for path in (folder / "signals").iterdir()) == ["X-1-done.json", "X-2-done.json"]
    assert texts(folder)["audit/two-steps.log"].splitlines()[-1].split()[1:3] == ["XG-2-end", "pass"]


@pytest.mark.req("R193")
def test_a_person_fails_a_gate_with_a_file_and_the_next_prompt_has_the_reason(
    project: ScriptedProject, waiting: tuple[RunId, Path]
) -> None:
    run, folder = waiting
    (folder / "signals/XG-2-end-fail.json").write_text('{"feedback": "too slow", "by": "bea"}', "utf-8")

    state = project.resume(run)

    assert status(state) == "open"
    files = texts(folder)
    assert "bea" in retry_prompt(project, run) and "too slow" in retry_prompt(project, run)
    assert "too slow" in files["retry-context/XG-2-end-attempt-1.md"]
    assert "signals/XG-2-end-fail.json" not in files
    assert "signals/XG-2-end-asked.md" in files


def retry_prompt(project: ScriptedProject, run: RunId) -> str:
    return (project.facade.paths.run_dir(run) / "agent_logs/implement/2/prompt.md").read_text("utf-8")


def test_a_fail_file_wins_over_a_pass_file(project: ScriptedProject, waiting: tuple[RunId, Path]) -> None:
    run, folder = waiting
    (folder / "signals/XG-2-end-pass").touch()
    (folder / "signals/XG-2-end-fail").write_text("not yet", "utf-8")

    project.resume(run)

    assert "not yet" in retry_prompt(project, run)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("XG-2-end-pass.json", '{"by": "be'),
        ("XG-2-end-pass.json", ""),
        ("XG-2-end-pass.json", "[]"),
        ("XG-2-end-pass.md", b"\xff"),
        ("XG-2-end-pass.tmp", "whole later"),
        ("XG-1-2-pass", "another gate"),
        ("passed", "no gate"),
    ],
)
def test_a_file_that_is_not_an_answer_is_ignored(
    project: ScriptedProject, waiting: tuple[RunId, Path], name: str, content: str | bytes
) -> None:
    run, folder = waiting
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "signals" / name).write_bytes(data)

    assert status(project.resume(run)) == "open"
    assert (folder / "signals" / name).read_bytes() == data


def test_a_file_older_than_the_question_is_ignored(
    project: ScriptedProject, waiting: tuple[RunId, Path]
) -> None:
    """An approval of the last round must not pass the next one."""
    run, folder = waiting
    file = folder / "signals/XG-2-end-pass"
    file.touch()
    os.utime(file, (1, 1))

    assert status(project.resume(run)) == "open"


def test_a_symbolic_link_is_not_an_answer(project: ScriptedProject, waiting: tuple[RunId, Path]) -> None:
    run, folder = waiting
    (folder / "signals/XG-2-end-pass").symlink_to(project.root / "README.md")

    assert status(project.resume(run)) == "open"


@pytest.mark.req("R191")
def test_after_the_last_retry_a_pass_file_accepts_the_work(project: ScriptedProject) -> None:
    rejections = CAST.partition("- {match")[0].replace("#1", "#2")
    run, state = project.run(project.write_workflow(FLOW, cast=rejections + CAST.removeprefix("\n")))
    folder = folder_of(project, run)
    assert status(state) == "open"
    assert "XG-1-2-pass (accept) or XG-1-2-fail (retry)" in texts(folder)["signals/XG-1-2-asked.md"]

    (folder / "signals/XG-1-2-pass").touch()
    project.resume(run)

    assert [one.path for one in project.view(run).pending] == ["implement#1/sign_off"]


@pytest.mark.req("R117")
def test_a_gate_that_became_a_step_is_answered_by_its_id(project: ScriptedProject) -> None:
    flow = FLOW.replace("on_fail: {next_step: X-2}", "on_fail: {next_step: X-1}")
    run, _ = project.run(project.write_workflow(flow, cast=CAST))
    folder = folder_of(project, run)
    (folder / "signals/XG-2-end-fail").write_text("start over", "utf-8")

    state = project.resume(run)

    assert status(state) == "open"
    assert "start over" in texts(folder)["retry-context/XG-2-end-attempt-1.md"]
    (folder / "signals/XG-2-end-pass").touch()
    assert status(project.resume(run)) == "passed"


def test_the_folder_can_be_rebuilt_from_the_log(
    project: ScriptedProject, waiting: tuple[RunId, Path]
) -> None:
    run, folder = waiting
    before = texts(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()

    project.facade.runtime.rebuild(run)

    assert texts(folder) == before


def test_the_service_notices_an_answer_file(project: ScriptedProject, waiting: tuple[RunId, Path]) -> None:
    run, folder = waiting
    service = Service(project.facade, tell=lambda _: None)
    assert service.ready() == ()

    (folder / "signals/XG-2-end-pass").touch()

    assert service.ready() == ((run, "its inbox has an answer"),)


def test_a_run_of_another_format_has_no_workflow_folder(project: ScriptedProject) -> None:
    run, _ = project.run(project.write_workflow("podium: 1\nsteps: {a: {run: 'true'}}\n"))

    assert not folder_of(project, run).exists()


@pytest.mark.parametrize(
    ("path", "gate"),
    [
        ("a#1/look", "G"),
        ("a~3#2/look", "G"),
        ("a#2/!exhausted", "G"),
        ("alone~2", "H"),
        ("b#1/look", None),
        ("a#1/look/judge", None),
        ("each[1]/a", None),
    ],
)
def test_a_gate_is_found_by_each_of_its_addresses(path: str, gate: str | None) -> None:
    assert gate_of(path, GateLabels("w", "", {}, {"a/look": "G", "alone": "H"})) == gate


@pytest.mark.parametrize("written", ["../../x", ".hidden", "a/b", "", "...", "ü"])
def test_no_id_leads_out_of_its_folder(written: str) -> None:
    assert Path("/f", file_name(written)).resolve().parent == Path("/f")
    assert not file_name(written).startswith(".")
