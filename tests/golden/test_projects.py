"""Projects that an old version wrote, moved to another folder: the current code shows, verifies and finishes their runs.

The archives and answers in `projects/` were written by the commit that the answers name. They are added, never edited.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from podium.app.run.start import workflow_of
from podium.core.codec import EVENTS
from podium.core.evolve.evolve import fold
from podium.runtime.records import events_of
from podium.wiring import open_project
from tests.e2e.kit import Project, closing
from tests.golden.packed import (
    NAMES,
    answer_now,
    as_before,
    comparable,
    stored_answer,
    stored_answers,
    stored_runs,
    unpack,
)

VIEWS = ("state.json", "log.jsonl", "state_log.jsonl", "token_usage.jsonl")
STORED_KINDS = 30
"""Of the 31 kinds of events of 627f720, all but LimitRaised, which no command of that version causes."""
CORRECTED_VIEWS = {"recovered": ("log.jsonl", "state_log.jsonl", "token_usage.jsonl")}
"""Views of a workflow's run that 627f720 wrote wrongly: it left out the call that was lost with its process."""
Enter: TypeAlias = Callable[[str], Path]


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Unpacks a project and makes it the current folder, with a cache and a configuration folder of its own."""
    for kind in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{kind.upper()}_HOME", str(tmp_path / kind))
    monkeypatch.setenv("PODIUM_USER", "ann")

    def unpack_here(name: str) -> Path:
        root = unpack(name, tmp_path)
        monkeypatch.chdir(root)
        return root

    return unpack_here


class Unpacked(NamedTuple):
    name: str
    root: Path


@pytest.fixture(scope="module", params=NAMES)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Unpacked:
    """Each project once, for tests that leave it as it was."""
    return Unpacked(request.param, unpack(request.param, tmp_path_factory.mktemp("shared")))


@pytest.fixture
def unpacked(shared: Unpacked, monkeypatch: pytest.MonkeyPatch) -> Unpacked:
    """A shared project that is the current folder."""
    monkeypatch.chdir(shared.root)
    return shared


@pytest.mark.req("R149", "X14")
def test_every_question_gets_the_stored_answer(unpacked: Unpacked) -> None:
    for stored in stored_answers(unpacked.name):
        current = answer_now(*stored.question)

        assert current.exit_code == stored.exit_code, stored.question
        assert comparable(current) == comparable(stored), stored.question


def test_every_stored_log_folds_to_the_outcomes_that_were_shown(unpacked: Unpacked) -> None:
    project = open_project(unpacked.root)
    for head in project.runtime.heads():
        workflow = workflow_of(project, head)
        assert workflow.fingerprint == head.fingerprint

        state = fold(workflow, events_of(project.runtime.events(head.run)))

        view = stored_answer(unpacked.name, "show", head.run, "--json")
        assert view["outcome"] == (None if state.ended is None else state.ended.outcome)
        outcomes = {step["path"]: step["outcome"] for step in view["steps"]}
        endings = {path: instance.ending for path, instance in state.instances.items() if path in outcomes}
        assert endings.keys() == outcomes.keys()
        for path, ending in endings.items():
            assert outcomes[path] == (None if ending is None else ending.outcome), path
    project.runtime.close()


def test_the_views_of_a_run_are_rebuilt_from_its_log(unpacked: Unpacked) -> None:
    for run in stored_answer(unpacked.name, "runs", "--json"):
        views = _machine_readable(unpacked.root / ".podium/runs" / run["run"])
        for path in views:
            path.unlink()

        rebuilt = answer_now("show", run["run"], "--rebuild", "--json")

        if run["outcome"] is not None:
            assert as_before(rebuilt.content) == as_before(
                stored_answer(unpacked.name, "show", run["run"], "--json")
            )
        if _count_lines(views) == run["seq"]:
            corrected = CORRECTED_VIEWS.get(run["workflow"], ())
            same = {path: text for path, text in views.items() if path.name not in corrected}
            assert {path: path.read_text("utf-8") for path in same} == same


def _machine_readable(folder: Path) -> dict[Path, str]:
    """Views that programs read; the pages for people may be reworded."""
    gates_files = [path for path in folder.glob(".workflow/*/*") if path.suffix != ".md"]
    paths = [*(folder / name for name in VIEWS), *gates_files]
    return {path: path.read_text("utf-8") for path in paths if path.exists()}


def _count_lines(views: dict[Path, str]) -> int:
    """The number of events when the views were last written; a killed process may have recorded more."""
    return sum(text.count("\n") for path, text in views.items() if path.name == "log.jsonl")


def test_the_stored_logs_have_almost_every_kind_of_event() -> None:
    kinds = {
        event["type"]
        for name in NAMES
        for stored in stored_answers(name)
        if stored.question[0] == "events"
        for event in stored.content
    }

    assert kinds <= EVENTS.keys()
    assert len(kinds) >= STORED_KINDS


def passes(name: str, run: str, *command: str) -> dict[str, Any]:
    """The view of a stored run after a command that ends it: it passed, and its new events follow the stored ones."""
    assert answer_now(*command).exit_code == 0
    return check_passed(name, run)


def check_passed(name: str, run: str) -> dict[str, Any]:
    view: dict[str, Any] = answer_now("show", run, "--json").content
    assert (view["status"], view["outcome"]) == ("passed", "passed")
    assert answer_now("verify", run, "--json").content["ok"]
    before = stored_answer(name, "events", run, "--json")
    assert answer_now("events", run, "--json").content[: len(before)] == before
    return view


def output_of(view: dict[str, Any], path: str) -> Any:
    return next(step["output"] for step in view["steps"] if step["path"] == path)


def test_a_run_that_waits_for_an_approval_is_approved_and_lands(enter: Enter) -> None:
    """The old version recorded guidance while the run was waiting; the next agent step gets it."""
    root, run = enter("parked"), stored_runs("parked")["approval"]

    passes("parked", run, "approve", run)

    assert (root / "draft.txt").read_text("utf-8") == "a polished draft with a date\n"


def test_a_question_is_answered_by_its_inbox_file(enter: Enter) -> None:
    root, run = enter("parked"), stored_runs("parked")["question"]
    file = next(root.glob(f".podium/inbox/{run}+choose.yaml"))
    text = file.read_text("utf-8").replace("value:\n", "value: sqlite\n")
    file.write_text(text.replace("by:\n", "by: bea\n"), "utf-8")

    view = passes("parked", run, "resume", run)

    assert view["outputs"] == {"choice": "sqlite"}


def test_a_run_that_waits_for_a_signal_gets_it(enter: Enter) -> None:
    run = stored_runs("parked")["signal"]
    enter("parked")

    view = passes("parked", run, "signal", run, "confirmed", "--data", "yes")

    assert output_of(view, "tell") == "yes"


def test_work_by_hand_is_collected_from_the_folder_that_the_old_version_laid_out(enter: Enter) -> None:
    root, run = enter("parked"), stored_runs("parked")["by_hand"]
    (question,) = (entry for entry in stored_answer("parked", "inbox", "--json") if entry["run"] == run)
    (root / question["folder"] / "work/signature.txt").write_text("ann\n", "utf-8")

    passes("parked", run, "approve", run)

    assert "+ann" in answer_now("diff", run).content


@pytest.mark.parametrize(
    ("workflow", "action", "times"),
    [
        ("advice", "proceed", 2),
        ("exhausted", "retry", 1),
        ("protected", "approve", 1),
        ("veto", "approve", 1),
    ],
)
def test_the_questions_of_the_engine_are_answered(
    workflow: str, action: str, times: int, enter: Enter
) -> None:
    root, run = enter("questions"), stored_runs("questions")[workflow]
    # Now the draft is long and the judge approves; when the old version ran, neither was the case.
    (root / "cast.yaml").write_text('- {match: {step: draft}, write: {draft.txt: "long\\n"}}\n', "utf-8")

    for _ in range(times - 1):
        assert answer_now("approve", run, "--action", action).exit_code == 6
    passes("questions", run, "approve", run, "--action", action)


def test_a_paused_run_is_resumed_and_lands(enter: Enter) -> None:
    root, run = enter("paused"), stored_runs("paused")["paused"]

    passes("paused", run, "resume", run)

    assert (root / "draft.txt").exists()
    assert (root / "diary.txt").read_text("utf-8").split() == ["build", "pack"]


@pytest.mark.slow
def test_a_killed_run_is_resumed_by_another_process_and_does_nothing_twice(
    tmp_path: Path, enter: Enter
) -> None:
    """Only the command that was running when the process was killed runs a second time.

    The process was killed before it read guidance from its queue in the database; the next agent step gets it.
    """
    root, run = enter("killed"), stored_runs("killed")["killed"]
    (root / "flags/finish_build").touch()
    with closing(Project(tmp_path)) as project:
        resumed = project.podium("resume", run)

        assert resumed.code == 0, resumed.err
        assert project.leftovers() == []
    view = check_passed("killed", run)
    assert [(step["path"], step["attempts"]) for step in view["steps"]] == [
        ("draft", 1),
        ("note", 1),
        ("build", 1),
        ("polish", 1),
        ("land", 1),
    ]
    assert (root / "draft.txt").read_text("utf-8") == "a draft with a date\n"
    diary = (root / "diary.txt").read_text("utf-8").split()
    assert diary == ["think", "think", "upload", "note", "build", "build"]


def test_a_step_that_may_have_taken_effect_runs_again_after_consent(enter: Enter) -> None:
    root, run = enter("killed"), stored_runs("killed")["doubted"]
    (root / "flags/finish_upload").touch()

    passes("killed", run, "approve", run, "--action", "rerun")

    assert (root / "diary.txt").read_text("utf-8").split().count("upload") == 2


def test_a_new_run_reuses_the_results_of_an_old_one(enter: Enter) -> None:
    enter("reused")

    assert answer_now("fork", "@3", "--from", "close", "-i", "size=huge", "--yes").exit_code == 0

    earlier = stored_answer("reused", "runs", "--json")[2]["run"]
    view = answer_now("show", "@1", "--json").content
    reused = {step["path"] for step in view["steps"] if step["reused"] == earlier}
    assert view["status"] == "passed"
    assert reused == {"plan", "draft", "measure", "review/judge", "ask"}


def test_a_recording_is_replayed_without_the_agent_that_was_recorded(enter: Enter) -> None:
    root = enter("recorded")
    assert shutil.which("helper") is None

    assert answer_now("run", "flow.yaml", "--replay", "tapes", "--sandbox", "limits").exit_code == 0

    stored = stored_answer("recorded", "show", stored_runs("recorded")["recorded"], "--json")
    view = answer_now("show", "@1", "--json").content
    assert [step["path"] for step in view["steps"]] == [step["path"] for step in stored["steps"]]
    assert view["tree"] == stored["tree"]
    assert (root / "hello.txt").read_text("utf-8") == "hello, please come in\n"


def test_a_parked_replay_in_a_moved_project_does_not_find_its_recordings(enter: Enter) -> None:
    """The folder of --replay is stored as an absolute path, the only one that resuming a run depends on."""
    enter("replayed")
    run = stored_runs("replayed")["replayed"]

    assert answer_now("approve", run).exit_code == 1

    steps = answer_now("show", run, "--json").content["steps"]
    assert [(step["outcome"], step["reason"]) for step in steps] == [
        ("passed", ""),
        ("passed", ""),
        ("error", "configuration"),
    ]


def test_a_conversation_is_continued_in_the_stored_session(enter: Enter) -> None:
    enter("talk")
    run = stored_runs("talk")["talk"]

    view = passes("talk", run, "approve", run)

    assert view["outputs"] == {"choice": "session s-1"}


def test_a_gate_of_the_gates_format_is_passed_by_a_file_in_its_folder(enter: Enter) -> None:
    root, run = enter("gates_format"), stored_runs("gates_format")["two_steps"]
    folder = root / ".podium/runs" / run / ".workflow"
    (folder / "signals/XG-2-end-pass").touch()

    passes("gates_format", run, "resume", run)

    assert "XG-2-end pass" in (folder / "audit/two-steps.log").read_text("utf-8")


def test_the_work_of_an_old_run_is_applied_to_the_branch(enter: Enter) -> None:
    root = enter("nested")

    assert answer_now("apply", "@1").exit_code == 0

    assert (root / "base.txt").read_text("utf-8") == "second\n"


def test_an_old_run_is_exported_as_the_old_version_exported_it(enter: Enter) -> None:
    root = enter("landed")

    assert answer_now("export", "@1", "copy").exit_code == 0

    assert answer_now("verify", "copy", "--json").content["ok"]
    for name in ("events.jsonl", "verdicts.json", "change.diff", "definition/definition.json"):
        assert (root / "copy" / name).read_bytes() == (root / "evidence" / name).read_bytes(), name
