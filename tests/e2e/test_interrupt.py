"""Ctrl-C at a terminal asks first: again cancels the run, nothing more leaves it to be resumed."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project, until, until_exit
from tests.e2e.terminal import at_a_terminal
from tests.timing import best_of

FILE = "w.yaml"
WORKFLOW = """\
podium: 1
name: interrupt
env: [NOTES]
steps:
  made: {run: {script: "echo made > made.txt"}, touches: [made.txt]}
  long:
    run: {script: "sleep 600 & touch \\"$NOTES/busy\\"; wait"}
    env: [NOTES]
finally:
  last:
    run: {script: "touch \\"$NOTES/finally\\""}
    env: [NOTES]
"""
ASKED = b"Press Ctrl-C again"


@pytest.mark.req("R142", "R143")
def test_ctrl_c_twice_cancels_the_run_within_two_seconds_and_finally_runs(tmp_path: Path) -> None:
    best_of(3, lambda chance: cancelled_after(tmp_path / str(chance)), under=2.0)


def cancelled_after(folder: Path) -> float:
    notes = folder / "notes"
    notes.mkdir(parents=True)
    with closing(new_project(folder / "place", {FILE: WORKFLOW}, NOTES=str(notes))) as project:
        with at_a_terminal(project, "run", FILE, "--sandbox", "limits") as terminal:
            project.while_running(terminal.child, (notes / "busy").exists, "the work")
            busy = [process.pid for process in project.marked()]
            terminal.press_ctrl_c()
            until(lambda: terminal.shows(ASKED), "the question")
            began = time.monotonic()
            terminal.press_ctrl_c()
            until(
                lambda: not {process.pid for process in project.marked()} & set(busy),
                "no process of the work",
            )
            took = time.monotonic() - began
            until(lambda: terminal.shows(b"\0") or terminal.child.poll() is not None, "its end")

            assert until_exit(terminal.child) == 130
        run = project.run_id()
        assert (notes / "finally").exists()
        view = project.podium("show", run, "--json").data()
        assert view["status"] == "cancelled"
        assert project.marked() == []
        # What was done so far is kept.
        assert "made.txt" in project.podium("diff", run).out
    return took


@pytest.mark.req("R142", "R146")
def test_ctrl_c_once_leaves_the_run_to_be_resumed(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW}, NOTES=str(notes))) as project:
        with at_a_terminal(project, "run", FILE, "--sandbox", "limits") as terminal:
            project.while_running(terminal.child, (notes / "busy").exists, "the work")
            terminal.press_ctrl_c()
            until(lambda: terminal.shows(ASKED), "the question")
            until(lambda: terminal.shows(b"\0") or terminal.child.poll() is not None, "its end")

            assert until_exit(terminal.child) == 130
        run = project.run_id()
        assert not (notes / "finally").exists()
        assert project.podium("show", run, "--json").data()["status"] == "interrupted"
        assert project.marked() == []
        assert project.podium("cancel", run).code == 0
        assert (notes / "finally").exists()


STUBBORN = """\
podium: 1
name: stubborn
env: [NOTES]
steps:
  long:
    run:
      script: |
        trap ': > "$NOTES/told"' TERM
        : > "$NOTES/busy"
        while true; do sleep 0.05; done
    env: [NOTES]
"""


@pytest.mark.req("R142", "X15")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_who_is_told_twice_to_stop_still_ends_what_it_has_started(
    number: signal.Signals, tmp_path: Path
) -> None:
    with closing(new_project(tmp_path / "place", {FILE: STUBBORN}, NOTES=str(tmp_path))) as project:
        engine = project.start("run", FILE, "--sandbox", "limits")
        project.while_running(engine, (tmp_path / "busy").exists, "the work")
        engine.send_signal(number)
        # It is then in the middle of ending a process that does not want to, unless the machine is too busy for that.
        until(lambda: (tmp_path / "told").exists() or engine.poll() is not None, "somebody to be told")

        engine.send_signal(number)

        assert until_exit(engine) == 130
        assert project.marked() == []
