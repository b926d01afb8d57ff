"""The seven experiments of the document on gates, as examples: rehearsed by `podium test` and run for real where people take part."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project, until

pytestmark = [pytest.mark.slow, pytest.mark.req("R241")]

EXAMPLE = Path(__file__).parents[2] / "examples/from_hand_to_agents"


def test_each_experiment_does_what_its_test_says(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"README.md": "experiments\n"})) as project:
        shutil.copytree(EXAMPLE, project.root / "example")
        done = project.podium("test", "example")
        assert done.code == 0, done.out + done.err
        for number in range(1, 8):
            assert f"ok    example/{number}_" in done.out
        assert "0 failed" in done.out


def test_work_that_needs_no_person_continues_while_one_is_asked(tmp_path: Path) -> None:
    """R192: the human checkpoint of experiment 5 does not block the rest of the pipeline."""
    files = {path.name: path.read_text("utf-8") for path in EXAMPLE.glob("*.yaml")}
    with closing(new_project(tmp_path, files)) as project:
        parked = [project.podium("run", "5_levels.yaml", "--sandbox", "limits").code]

        def is_asked() -> bool:
            """While the window for a veto is open, a run without a terminal parks."""
            if project.podium("inbox", "--json").data()[0]["path"].endswith("/signed"):
                return True
            parked.append(project.podium("resume").code)
            return False

        until(is_asked, "the question about the module")
        assert set(parked) == {6}
        rows = {row["path"]: row["outcome"] for row in project.podium("show", "--json").data()["steps"]}
        assert (rows["notes"], rows["module"]) == ("passed", None)
        [question] = project.podium("inbox", "--json").data()
        assert question["path"].endswith("/signed")
        done = project.podium("approve")
        assert done.code == 0, done.err
        assert "module: passed" in done.err


LEVELS = """\
workflow: {id: adding, name: Add two numbers}
steps:
  - {id: L-1, name: sketch, agent: {type: implementor, launch: headless}, outputs: [sketch.txt], gate: LG-1}
  - {id: L-2, name: tests, agent: {type: test-writer, launch: headless}, outputs: [test_add.txt], gate: LG-2}
  - {id: L-3, name: module, agent: {type: implementor, launch: headless}, outputs: [add.txt], gate: LG-3}
gates:
  - {id: LG-1, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: L-2}, on_fail: {next_step: L-1}, max_retries: 1}
  - {id: LG-2, reviewer: {level: notify, agent_type: reviewer}, on_pass: {next_step: L-3}, on_fail: {next_step: L-2}, max_retries: 1}
  - {id: LG-3, reviewer: {level: human}, on_pass: {next_step: DONE}, on_fail: {next_step: L-3}, max_retries: 2}
"""
CAST = """\
- {match: {step: sketch}, write: {sketch.txt: x}}
- {match: {step: tests}, write: {test_add.txt: x}}
- {match: {step: module, attempt: 1}, write: {add.txt: one}}
- {match: {step: module, attempt: 2}, write: {add.txt: two}}
- {match: {step: reviewer}, verdict: {decision: approve, score: 9}}
"""
CONFIG = """\
agents: {cast: {type: scripted, script: cast.yaml}, judge: {type: scripted, script: cast.yaml}}
roles: {reviewer: {agent: judge}, test_engineer: {agent: cast}, implementer: {agent: cast}}
"""


@pytest.mark.req("R117", "R191", "C28")
def test_the_levels_tell_nobody_tell_somebody_and_wait_for_a_file_of_a_person(tmp_path: Path) -> None:
    """Experiment 5 in its own format, with messages on the desktop and answers as files in `.workflow/signals/`."""
    screen = tmp_path / "bin"
    screen.mkdir()
    shown = tmp_path / "shown"
    (screen / "notify-send").write_text(f'#!/bin/sh\necho "$4 $5" >> {shown}\n')
    (screen / "notify-send").chmod(0o755)
    files = {"levels.yaml": LEVELS, "cast.yaml": CAST, ".gitignore": ".podium/\n.workflow/\n"}
    with closing(new_project(tmp_path, files)) as project:
        project.put({".podium/config.yaml": f"notify: {{desk: {{desktop: true}}}}\n{CONFIG}"})
        project.env |= {"PATH": f"{screen}:{project.environment()['PATH']}", "DISPLAY": ":9"}
        asked = project.podium("run", "levels.yaml", "--sandbox", "limits")
        assert asked.code == 6, asked.err
        until(lambda: shown.exists() and "LG-3" in shown.read_text(), "a message about the gate of a person")
        assert "LG-2" in shown.read_text()
        assert "LG-1" not in shown.read_text()

        signals = project.root / ".workflow/signals"
        (signals / "LG-3-fail").write_text("Subtract nothing.\n")
        again = project.podium("resume")
        assert (again.code, "L-3#1/LG-3: rejected" in again.err) == (6, True), again.err
        (signals / "LG-3-pass").touch()
        done = project.podium("resume")
        assert done.code == 0, done.err
        assert project.git("show", "main:add.txt") == "two"
