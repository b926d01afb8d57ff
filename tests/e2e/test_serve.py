"""`podium serve` as a process: it carries runs on, several at once, and leaves everything well when it is told to stop."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.kit import Project, closing, new_project, until, until_exit
from tests.views.kit import conforms

FILE = "w.yaml"
WORKFLOW = """\
podium: 1
name: serve
env: [NOTES]
steps:
  ask: {human: "Go on?"}
  long:
    run: {script: "touch \\"$NOTES/busy$$\\"; while [ ! -e \\"$NOTES/go\\" ]; do sleep 0.05; done; echo done"}
    env: [NOTES]
"""
YES = {"say": "approve", "path": "ask", "action": "approve", "by": "ann", "tree": None}


def parked(project: Project) -> RunId:
    done = project.podium("run", FILE, "--json", "--sandbox", "limits")
    assert done.code == 6, done.err
    return RunId(done.data()["run"])


def status(project: Project, run: RunId) -> str:
    with project.store() as store:
        return str(store.head(run).status)


@pytest.mark.req("R155", "C33", "R142")
def test_a_service_carries_runs_on_stops_cleanly_and_goes_on_after_a_restart(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW}, NOTES=str(notes))) as project:
        runs = [parked(project) for _ in range(2)]
        service = project.start("serve", "--headless", "--slots", "2")
        with project.store() as store:
            for run in runs:
                store.post(run, "yes", YES)
        project.while_running(service, lambda: len(list(notes.glob("busy*"))) == 2, "both at work at once")

        service.send_signal(signal.SIGTERM)
        assert until_exit(service) == 0

        assert project.marked() == []
        assert [status(project, run) for run in runs] == ["running", "running"]
        (notes / "go").touch()
        again = project.start("serve")
        project.while_running(
            again, lambda: {status(project, run) for run in runs} == {"passed"}, "the end of both"
        )
        again.send_signal(signal.SIGTERM)
        assert until_exit(again) == 0
        talk = project.talk()
        assert "a command is queued" in talk
        assert "its process is gone" in talk
        assert "Traceback" not in talk


@pytest.mark.req("R155")
def test_once_carries_on_what_is_ready_and_ends(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "go").touch()
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW}, NOTES=str(notes))) as project:
        run, other = parked(project), parked(project)
        with project.store() as store:
            store.post(run, "yes", YES)

        done = project.podium("serve", "--once")

        assert done.code == 0, done.err
        assert (status(project, run), status(project, other)) == ("passed", "waiting")
        assert len([line for line in done.out.splitlines() if run in line]) == 2, done.out
        until(lambda: project.marked() == [], "nobody")


@pytest.mark.req("R155", "R229")
def test_each_line_of_a_service_that_speaks_json_conforms_to_its_schema(tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW}, NOTES=str(tmp_path))) as project:
        run = parked(project)
        with project.store() as store:
            store.post(run, "yes", YES)

        done = project.podium("serve", "--once", "--json")

        lines = [json.loads(line) for line in done.out.splitlines()]
        assert [(line["did"], line["run"]) for line in lines] == [("began", run), ("let_go", run)], done.err
        assert lines[0]["why"] == "a command is queued"
        assert lines[1] == {**lines[1], "status": "passed", "exit": 0, "pid": lines[0]["pid"]}
        for line in lines:
            conforms(line, "serve")


@pytest.mark.req("R155", "R229")
def test_a_service_that_speaks_json_says_also_when_it_begins_and_ends(tmp_path: Path) -> None:
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW}, NOTES=str(tmp_path))) as project:
        service = project.start("serve", "--headless", "--json")
        project.while_running(service, lambda: "watching" in project.talk(), "a first line")

        service.send_signal(signal.SIGTERM)

        assert service.wait(timeout=30) == 0
        lines = [json.loads(line) for line in project.talk().splitlines()]
        assert [line["did"] for line in lines] == ["watching", "ended"]
        for line in lines:
            conforms(line, "serve")
