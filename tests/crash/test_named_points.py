"""Killed at a known moment: while a command or an agent is at work, while a person is being asked, after the end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.crash.story import assert_whole
from tests.e2e.kit import Project, closing, new_project, until_exit

FILE = "workflows/w.yaml"

# Notes each time it is called; the first one is still at work when the engine is killed.
BLOCKING = 'echo "$1" >> "$NOTES/$1"; if [ ! -e "$NOTES/go" ]; then touch "$NOTES/busy"; sleep 600; fi; echo "done $1"\n'
QUICK = 'echo "$1" >> "$NOTES/$1"; cat > /dev/null; echo "done $1"\n'


def workflow(step: str) -> str:
    return f"""\
podium: 1
name: points
env: [NOTES]
limits: {{unknown_cost: count_tokens}}
agents:
  tool: {{type: command, command: [sh, tools/blocking.sh, busy_agent]}}
steps:
  first:
    run: [sh, tools/quick.sh, first]
    env: [NOTES]
{step}
  last:
    run: [sh, tools/quick.sh, last]
    env: [NOTES]
"""


COMMAND = """\
  middle:
    run: [sh, tools/blocking.sh, middle]
    env: [NOTES]
"""
ASKING = COMMAND + "    recovery: ask\n"
AGENT = """\
  middle:
    agent: tool
    prompt: Work.
    no_change: pass
    touches: []
    env: [NOTES]
"""
HUMAN = """\
  middle:
    human: Go on?
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


def project_with(step: str, tmp_path: Path, notes: Path) -> Project:
    files = {FILE: workflow(step), "tools/blocking.sh": BLOCKING, "tools/quick.sh": QUICK}
    project = new_project(tmp_path / "place", files, NOTES=str(notes))
    project.put({".podium/config.yaml": "sandbox: limits\n"})
    return project


def times(notes: Path, name: str) -> int:
    path = notes / name
    return len(path.read_text("ascii").splitlines()) if path.exists() else 0


def kill_in_the_middle(project: Project, notes: Path) -> None:
    child = project.start("run", FILE)
    project.while_running(child, (notes / "busy").exists, "the work in the middle")
    child.kill()
    child.wait()
    (notes / "go").touch()


@pytest.mark.req("R012", "R146", "R152", "X11", "X15", "R226")
@pytest.mark.parametrize(
    ("step", "name"), [(COMMAND, "middle"), (AGENT, "busy_agent")], ids=["command", "agent"]
)
def test_only_what_was_in_flight_is_done_again(step: str, name: str, tmp_path: Path, notes: Path) -> None:
    with closing(project_with(step, tmp_path, notes)) as project:
        kill_in_the_middle(project, notes)
        assert project.marked() != []

        done = project.podium("resume", "--json")

        assert done.code == 0, done.err
        assert (times(notes, "first"), times(notes, name), times(notes, "last")) == (1, 2, 1)
        assert [step["attempts"] for step in done.data()["steps"]] == [1, 1, 1]
        assert_whole(project, project.run_id(), landed=0)


@pytest.mark.req("R151", "X15")
def test_a_changed_definition_is_refused_and_what_the_old_one_left_is_gone(
    tmp_path: Path, notes: Path
) -> None:
    with closing(project_with(COMMAND, tmp_path, notes)) as project:
        kill_in_the_middle(project, notes)
        project.put({FILE: workflow(COMMAND.replace("middle]", "other]"))})

        done = project.podium("resume")

        assert done.code == 2, done.err
        assert "has changed" in done.err
        assert project.marked() == []
        assert times(notes, "middle") == 1

        project.put({FILE: workflow(COMMAND)})

        assert project.podium("resume").code == 0
        assert_whole(project, project.run_id(), landed=0)


@pytest.mark.req("R142", "X15")
def test_a_killed_run_can_be_cancelled_and_nothing_is_done_again(tmp_path: Path, notes: Path) -> None:
    with closing(project_with(COMMAND, tmp_path, notes)) as project:
        kill_in_the_middle(project, notes)

        done = project.podium("cancel", "--json")

        assert done.code == 0, done.err
        assert done.data()["status"] == "cancelled"
        assert (times(notes, "first"), times(notes, "middle"), times(notes, "last")) == (1, 1, 0)
        assert_whole(project, project.run_id(), landed=0)


@pytest.mark.req("X11")
def test_a_step_that_asks_is_done_again_only_with_consent(tmp_path: Path, notes: Path) -> None:
    with closing(project_with(ASKING, tmp_path, notes)) as project:
        kill_in_the_middle(project, notes)

        parked = project.podium("resume", "--json")

        assert parked.code == 6, parked.err
        [question] = parked.data()["pending"]
        assert set(question["actions"]) == {"rerun", "fail"}
        assert times(notes, "middle") == 1
        assert project.marked() == []

        done = project.podium("approve", project.run_id(), "--action", "rerun", "--json")

        assert done.code == 0, done.err
        assert (times(notes, "first"), times(notes, "middle"), times(notes, "last")) == (1, 2, 1)
        assert_whole(project, project.run_id(), landed=0)


@pytest.mark.slow
@pytest.mark.req("X11")
def test_a_step_that_asks_fails_without_consent(tmp_path: Path, notes: Path) -> None:
    with closing(project_with(ASKING, tmp_path, notes)) as project:
        kill_in_the_middle(project, notes)
        assert project.podium("resume").code == 6

        done = project.podium("approve", project.run_id(), "--action", "fail", "--json")

        assert done.code == 1, done.err
        assert (times(notes, "middle"), times(notes, "last")) == (1, 0)
        assert_whole(project, project.run_id(), landed=0)


@pytest.mark.req("R146", "R155")
def test_an_answer_that_nobody_has_heard_yet_is_not_lost(tmp_path: Path, notes: Path) -> None:
    """Killed between the letter and the turn that would have taken it: whoever carries on reads it."""
    with closing(project_with(HUMAN, tmp_path, notes)) as project:
        parked = project.podium("run", FILE, "--json")
        assert parked.code == 6, parked.err
        run = project.run_id()
        body = {"say": "approve", "path": "middle", "action": "approve", "by": "ann", "tree": None}
        with project.store() as store:
            store.post(run, "answer", body)

        done = project.podium("resume", run)

        assert done.code == 0, done.err
        given = [event for event in project.events(run) if event["type"] == "ApprovalGiven"]
        assert [event["by"] for event in given] == ["ann"]
        assert times(notes, "first") == 1
        assert_whole(project, run, landed=0)


@pytest.mark.req("R145", "R149")
def test_a_run_that_is_over_is_only_tidied_up_by_a_resume(tmp_path: Path, notes: Path) -> None:
    """As after a kill between the last event and the last file."""
    (notes / "go").touch()
    with closing(project_with(COMMAND + "    output: {file: said.txt}\n", tmp_path, notes)) as project:
        assert project.podium("run", FILE).code == 0
        run = project.run_id()
        before = project.records(run)
        folder = project.root / ".podium/runs" / run
        state = json.loads((folder / "state.json").read_text("utf-8"))
        (folder / "state.json").unlink()
        published = folder / "artifacts/middle/said.txt"
        published.unlink()
        stray = project.cache / "podium/work" / project.tag / run / "w1"
        stray.mkdir(parents=True)

        assert project.podium("resume", run).code == 0

        assert project.records(run) == before
        assert published.read_text("ascii") == "done middle\n"
        assert json.loads((folder / "state.json").read_text("utf-8")) == state
        assert project.leftovers() == []


@pytest.mark.req("R145")
def test_a_second_process_is_told_who_owns_the_run(tmp_path: Path, notes: Path) -> None:
    with closing(project_with(COMMAND, tmp_path, notes)) as project:
        child = project.start("run", FILE)
        project.while_running(child, (notes / "busy").exists, "the work in the middle")

        second = project.podium("resume", project.run_id())

        assert second.code != 0
        assert f"process {child.pid}" in second.err
        (notes / "go").touch()
        child.terminate()
        assert until_exit(child) == 130
        assert project.podium("resume").code == 0
        assert_whole(project, project.run_id(), landed=0)
