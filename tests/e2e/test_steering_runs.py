"""A person steers a running run: jumps to an earlier step, and says in other ways that work by hand is done."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: flow
agents: {bot: {type: scripted, script: cast.yaml}}
steps:
  write: {agent: bot, prompt: Write., touches: [a.txt]}
  hand: {agent: human, prompt: By hand., touches: ["*.txt"], no_change: pass, done: DONE}
  last: {run: cat a.txt}
"""
FILES = {"cast.yaml": "- {match: {step: write}, write: {a.txt: hello}}\n", ".gitignore": ".podium/*\n"}


def project_with(tmp_path: Path, done: str) -> Project:
    return new_project(tmp_path, {"flow.yaml": FLOW.replace("DONE", done), **FILES})


def worktree(project: Project, visit: str = "hand") -> Path:
    [folder] = project.root.glob(f".podium/runs/*/by_hand/{visit}/1/work")
    return folder


def outcomes(project: Project) -> list[tuple[str, str]]:
    return [
        (step["path"], step["outcome"]) for step in project.podium("show", "@1", "--json").data()["steps"]
    ]


def test_a_run_returns_to_an_earlier_step_and_tells_its_agent_why(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "{signal: ready}")) as project:
        assert project.podium("run", "flow.yaml").code == 6
        refused = project.podium("jump", "@1", "last")
        assert (refused.code, "choose from write, hand" in refused.err) == (2, True), refused.err
        jumped = project.podium("jump", "@1", "write", "-m", "Say it louder.", "--json")
        assert jumped.code == 6, jumped.err
        assert jumped.data()["status"] == "parked"
        assert "Say it louder." in project.podium("prompt", "@1", "write~2").out
        done = project.podium("signal", "@1", "ready")
        assert done.code == 0, done.err
        assert outcomes(project)[-3:] == [("write~2", "passed"), ("hand~2", "passed"), ("last", "passed")]
        ended = project.podium("jump", "@1", "write")
        assert (ended.code, "podium rerun" in ended.err) == (2, True), ended.err


def test_a_signal_ends_work_by_hand_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "{signal: ready}")) as project:
        assert project.podium("run", "flow.yaml").code == 6
        (worktree(project) / "b.txt").write_text("mine\n")
        unknown = project.podium("signal", "@1", "redy")
        assert (unknown.code, "no step waits for the signal 'redy'" in unknown.err) == (2, True)
        done = project.podium("signal", "@1", "ready")
        assert done.code == 0, done.err
        assert "+mine" in project.podium("diff", "@1").out


@pytest.mark.parametrize(
    ("poll", "outcome"), [("test -f a.txt", "passed"), ("test -f missing.txt", "failed")]
)
def test_a_command_says_that_work_by_hand_is_done(tmp_path: Path, poll: str, outcome: str) -> None:
    with closing(
        project_with(
            tmp_path, f"{{poll: {poll}, every: 1s, pending: [7]}}, retry: {{attempts: 1, on_exhausted: fail}}"
        )
    ) as project:
        ran = project.podium("run", "flow.yaml")
        if ran.code == 6:  # Without a terminal the run parks where it only waits.
            ran = project.podium("resume", "@1")
        assert ("hand", outcome) in outcomes(project), ran.err


def test_the_worktree_of_a_person_is_removed_when_all_its_files_are_part_of_the_run(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "{signal: ready}")) as project:
        project.podium("run", "flow.yaml")
        (worktree(project) / "b.txt").write_text("mine\n")
        assert project.podium("signal", "@1", "ready").code == 0
        assert list(project.root.glob(".podium/runs/*/by_hand/hand/1/work")) == []
        assert project.git("worktree", "list").count("\n") == 0


def test_gc_deletes_the_branch_of_a_person_unless_it_has_commits_of_its_own(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "{signal: ready}")) as project:
        project.podium("run", "flow.yaml")
        folder = worktree(project)
        (folder / "b.txt").write_text("mine\n")
        assert project.podium("signal", "@1", "ready").code == 0
        project.podium("run", "flow.yaml")
        folder = worktree(project)
        (folder / "c.txt").write_text("kept\n")
        project.git("-C", str(folder), "add", "-A")
        project.git("-C", str(folder), "commit", "-q", "-m", "my own")
        (folder / "c.txt").write_text("later\n")
        assert project.podium("signal", "@1", "ready").code == 0
        before = project.git("branch", "--list", "by-hand/*").split()
        assert len(before) == 2
        assert project.podium("gc", "--older-than", "0s", "--unlanded", "--yes").code == 0
        [kept] = project.git("branch", "--list", "by-hand/*").split()
        assert project.git("log", "-1", "--format=%s", kept) == "my own"


def test_work_by_hand_ends_after_a_time_that_a_value_names(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, '{timer: "${{ inputs.pause }}"}')) as project:
        flow = (project.root / "flow.yaml").read_text()
        project.commit({"flow.yaml": flow.replace("name: flow\n", "name: flow\ninputs: {pause: string}\n")})
        ran = project.podium("run", "flow.yaml", "-i", "pause=2s")
        assert ran.code in (0, 6), ran.err
        if ran.code == 6:
            (worktree(project) / "b.txt").write_text("mine\n")
            ran = project.podium("resume", "@1")
        assert (ran.code, ("hand", "passed") in outcomes(project)) == (0, True), ran.err

        wrong = project.podium("run", "flow.yaml", "-i", "pause=soon")
        assert (wrong.code, "soon" in wrong.err) == (2, True), wrong.err


def test_work_by_hand_ends_at_a_time_of_day(tmp_path: Path) -> None:
    at = datetime.now(UTC) + timedelta(seconds=60)
    with closing(project_with(tmp_path, f'{{until_time: "{at:%H:%M}"}}')) as project:
        ran = project.podium("run", "flow.yaml")
        assert ran.code in (0, 6), ran.err
        if ran.code == 6:
            [pending] = project.podium("show", "--json").data()["pending"]
            assert f"{at:%H:%M}:00" in pending["due"]
            (worktree(project) / "b.txt").write_text("mine\n")
            ran = project.podium("resume", "@1")
        assert (ran.code, ("hand", "passed") in outcomes(project)) == (0, True), ran.err


def test_gc_deletes_the_branch_of_a_person_whose_work_has_landed(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "{signal: ready}")) as project:
        flow = (project.root / "flow.yaml").read_text()
        land = '  land: {git: {land: "${{ run.branch }}", message: Land it}}\n'
        project.commit({"flow.yaml": f"{flow}{land}"})
        assert project.podium("run", "flow.yaml").code == 6
        folder = worktree(project)
        (folder / "b.txt").write_text("mine\n")
        project.git("-C", str(folder), "add", "-A")
        project.git("-C", str(folder), "commit", "-q", "-m", "my own")
        done = project.podium("signal", "@1", "ready")
        assert done.code == 0, done.err
        assert project.git("show", "main:b.txt") == "mine"
        assert project.git("branch", "--list", "by-hand/*") != ""
        gone = project.podium("gc", "--older-than", "0s", "--yes")
        assert gone.code == 0, gone.err
        assert project.git("branch", "--list", "by-hand/*") == ""
        assert project.git("show", "main:b.txt") == "mine"
