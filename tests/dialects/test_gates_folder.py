"""A run of the gates format as `.workflow/`: what it shows, and what people may answer there."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podium.adapters.exporters.gates.labels import GateLabels, file_name, gate_of
from podium.app.run.serve import Service
from podium.core.hash_chain import RunId
from tests.dialects.kit import Stage, status
from tests.engine.kit import git

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


def folder_of(stage: Stage, run: RunId) -> Path:
    return stage.facade.paths.run_dir(run) / ".workflow"


def texts(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def asked(stage: Stage) -> tuple[RunId, Path]:
    """A run that waits for a person at its second gate."""
    run, state = stage.run(stage.put(FLOW, cast=CAST))
    assert status(state) == "open"
    return run, folder_of(stage, run)


@pytest.mark.req("R201", "R114")
def test_a_run_shows_itself_in_the_layout_of_the_format(stage: Stage, asked: tuple[RunId, Path]) -> None:
    _, folder = asked
    found = texts(folder)

    assert sorted(found) == [
        "audit/two-steps.log",
        "retry-context/XG-1-2-attempt-1.md",
        "signals/X-1-done.json",
        "signals/X-2-done.json",
        "signals/XG-2-end-asked.md",
        "specs/two-steps.yaml",
    ]
    assert found["specs/two-steps.yaml"] == FLOW
    assert json.loads(found["signals/X-1-done.json"])["files"] == ["test_a.py"]
    context = found["retry-context/XG-1-2-attempt-1.md"]
    assert "It proves nothing." in context and "- [major] (test_a.py) no assert" in context
    lines = found["audit/two-steps.log"].splitlines()
    assert [line.split(" ", 1)[1].partition(" (")[0] for line in lines] == ["XG-1-2 fail 1", "XG-1-2 pass"]
    assert 'is the step "implement" good?' in found["signals/XG-2-end-asked.md"]


def test_the_users_own_files_stay_as_they_are(stage: Stage, asked: tuple[RunId, Path]) -> None:
    assert not (stage.root / ".workflow").exists()
    assert git(stage.root, "status", "--porcelain") == ""


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("XG-2-end-pass", "", "passed"),
        ("XG-2-end-pass.json", '{"by": "bea"}', "passed"),
        ("XG-2-end-pass.md", "Well done.", "passed"),
    ],
)
def test_a_person_passes_a_gate_by_a_file(
    stage: Stage, asked: tuple[RunId, Path], name: str, content: str, expected: str
) -> None:
    run, folder = asked
    (folder / "signals" / name).write_text(content, "utf-8")

    assert status(stage.resume(run)) == expected
    assert sorted(path.name for path in (folder / "signals").iterdir()) == ["X-1-done.json", "X-2-done.json"]
    assert texts(folder)["audit/two-steps.log"].splitlines()[-1].split()[1:3] == ["XG-2-end", "pass"]


@pytest.mark.req("R193")
def test_a_person_fails_a_gate_by_a_file_and_the_step_hears_why(
    stage: Stage, asked: tuple[RunId, Path]
) -> None:
    run, folder = asked
    (folder / "signals/XG-2-end-fail.json").write_text('{"feedback": "too slow", "by": "bea"}', "utf-8")

    state = stage.resume(run)

    assert status(state) == "open"
    found = texts(folder)
    assert "bea" in told(stage, run) and "too slow" in told(stage, run)
    assert "too slow" in found["retry-context/XG-2-end-attempt-1.md"]
    assert "signals/XG-2-end-fail.json" not in found
    assert "signals/XG-2-end-asked.md" in found


def told(stage: Stage, run: RunId) -> str:
    return (stage.facade.paths.run_dir(run) / "agent_logs/implement/2/prompt.md").read_text("utf-8")


def test_whoever_says_both_has_said_no(stage: Stage, asked: tuple[RunId, Path]) -> None:
    run, folder = asked
    (folder / "signals/XG-2-end-pass").touch()
    (folder / "signals/XG-2-end-fail").write_text("not yet", "utf-8")

    stage.resume(run)

    assert "not yet" in told(stage, run)


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
def test_what_is_no_answer_is_left_alone(
    stage: Stage, asked: tuple[RunId, Path], name: str, content: str | bytes
) -> None:
    run, folder = asked
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "signals" / name).write_bytes(data)

    assert status(stage.resume(run)) == "open"
    assert (folder / "signals" / name).read_bytes() == data


def test_a_file_that_is_older_than_the_question_answers_nothing(
    stage: Stage, asked: tuple[RunId, Path]
) -> None:
    """An approval of the last round must not let the next one through."""
    run, folder = asked
    file = folder / "signals/XG-2-end-pass"
    file.touch()
    os.utime(file, (1, 1))

    assert status(stage.resume(run)) == "open"


def test_a_link_answers_nothing(stage: Stage, asked: tuple[RunId, Path]) -> None:
    run, folder = asked
    (folder / "signals/XG-2-end-pass").symlink_to(stage.root / "README.md")

    assert status(stage.resume(run)) == "open"


@pytest.mark.req("R191")
def test_after_the_last_retry_a_file_says_whether_to_take_it(stage: Stage) -> None:
    never = CAST.partition("- {match")[0].replace("#1", "#2")
    run, state = stage.run(stage.put(FLOW, cast=never + CAST.removeprefix("\n")))
    folder = folder_of(stage, run)
    assert status(state) == "open"
    assert "XG-1-2-pass (accept) or XG-1-2-fail (retry)" in texts(folder)["signals/XG-1-2-asked.md"]

    (folder / "signals/XG-1-2-pass").touch()
    stage.resume(run)

    assert [one.path for one in stage.view(run).pending] == ["implement#1/sign_off"]


@pytest.mark.req("R117")
def test_a_gate_of_its_own_is_known_by_its_id_too(stage: Stage) -> None:
    flow = FLOW.replace("on_fail: {next_step: X-2}", "on_fail: {next_step: X-1}")
    run, _ = stage.run(stage.put(flow, cast=CAST))
    folder = folder_of(stage, run)
    (folder / "signals/XG-2-end-fail").write_text("start over", "utf-8")

    state = stage.resume(run)

    assert status(state) == "open"
    assert "start over" in texts(folder)["retry-context/XG-2-end-attempt-1.md"]
    (folder / "signals/XG-2-end-pass").touch()
    assert status(stage.resume(run)) == "passed"


def test_the_folder_comes_back_from_the_log(stage: Stage, asked: tuple[RunId, Path]) -> None:
    run, folder = asked
    before = texts(folder)
    for path in folder.rglob("*"):
        if path.is_file():
            path.unlink()

    stage.facade.runtime.rebuild(run)

    assert texts(folder) == before


def test_a_service_hears_a_dropped_file(stage: Stage, asked: tuple[RunId, Path]) -> None:
    run, folder = asked
    service = Service(stage.facade, tell=lambda _: None)
    assert service.ready() == ()

    (folder / "signals/XG-2-end-pass").touch()

    assert service.ready() == ((run, "its inbox has an answer"),)


def test_a_run_of_another_format_has_no_such_folder(stage: Stage) -> None:
    run, _ = stage.run(stage.put("podium: 1\nsteps: {a: {run: 'true'}}\n"))

    assert not folder_of(stage, run).exists()


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
def test_a_gate_is_found_by_every_address_it_has(path: str, gate: str | None) -> None:
    assert gate_of(path, GateLabels("w", "", {}, {"a/look": "G", "alone": "H"})) == gate


@pytest.mark.parametrize("written", ["../../x", ".hidden", "a/b", "", "...", "ü"])
def test_no_id_leads_out_of_its_folder(written: str) -> None:
    assert Path("/f", file_name(written)).resolve().parent == Path("/f")
    assert not file_name(written).startswith(".")
