"""What confused a new user on the way through the tutorials: each command that is printed works, and nothing is lost."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until
from tests.e2e.tmux import in_tmux

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: flow
agents: {bot: {type: scripted, script: cast.yaml}}
steps:
  first: {agent: bot, prompt: Write., touches: [a.txt]}
  last: {run: cat a.txt}
"""
SLOW = '- {match: {step: first}, delay: 4s, write: {a.txt: "hello"}}\n'
QUESTION = (
    "Shall the migration of the customers table begin now, although the nightly export has not finished yet "
    "and the replica is eleven minutes behind its primary?"
)
ASKING = f"podium: 1\nname: flow\nsteps:\n  ask: {{human: '{QUESTION}'}}\n"


def flow_in(folder: Path, text: str = FLOW, **files: str) -> Project:
    return new_project(folder, {"workflows/flow.yaml": text, "cast.yaml": SLOW, **files})


def test_a_resume_while_the_active_attempt_finishes_undoes_the_pause(tmp_path: Path) -> None:
    with closing(flow_in(tmp_path)) as project:
        child = project.start("run", "workflows/flow.yaml")
        run = project.run_id()
        project.until_event(run, "AttemptStarted", "first")
        assert project.podium("pause").code == 0

        resumed = project.podium("resume", "--detach")

        assert resumed.code == 0, resumed.err
        assert f"podium logs {run} -f" in resumed.err
        assert child.wait(60) == 0
        assert project.podium("show", "--json").data()["status"] == "passed"
        again = project.podium("resume")
        assert (again.code, f"run {run} has ended" in again.err) == (0, True)


def test_the_command_that_explains_the_forecast_works_where_it_is_printed(tmp_path: Path) -> None:
    looping = FLOW.replace(
        "touches: [a.txt]", "touches: [a.txt], gates: [{run: 'false'}], on: {failed: next}"
    )
    with closing(flow_in(tmp_path, looping)) as project:
        done = project.podium("run", "workflows/flow.yaml", "--detach")
        (command,) = re.findall(r"see: podium (plan [^)]+)\)", done.err)

        assert project.podium(*shlex.split(command)).code == 0


def test_the_commands_at_the_end_of_the_demo_work_as_they_are_printed(tmp_path: Path) -> None:
    """Also where the program is not on the PATH, as after `make demo`."""
    program = Path(sys.executable).with_name("podium")
    with closing(flow_in(tmp_path)) as project:
        env = {**project.environment(), "PATH": "/usr/bin:/bin"}
        done = subprocess.run(
            (program, "demo"), cwd=project.root, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        ending = done.stderr[done.stderr.index("Look around") :]
        (folder,) = re.findall(r"cd (\S+)", ending)
        commands = re.findall(r"^  (\S+ (?:show|logs|diff) .+?)(?:  |$)", ending, re.MULTILINE)
        assert len(commands) == 3
        for command in commands:
            shown = subprocess.run(
                ("sh", "-c", command), cwd=folder, env=env, capture_output=True, check=False
            )
            assert (shown.returncode, bool(shown.stdout)) == (0, True), command
        shutil.rmtree(folder)


@pytest.mark.parametrize("typed", ["flow", "workflows/flw.yaml", "flow.yaml"])
def test_a_workflow_that_is_not_found_is_named_as_it_can_be_typed(tmp_path: Path, typed: str) -> None:
    with closing(flow_in(tmp_path)) as project:
        done = project.podium("run", typed)

        assert (done.code, "file not found" in done.err) == (2, True)
        assert 'did you mean "workflows/flow.yaml"?' in done.err


PAUSING = """\
podium: 1
name: flow
steps:
  ask: {human: "Begin?"}
  hand: {agent: human, prompt: By hand., touches: ["*.txt"], no_change: pass, done: {signal: ready}}
  last: {run: "true"}
"""


def test_commands_without_a_run_mean_the_newest(tmp_path: Path) -> None:
    with closing(flow_in(tmp_path, PAUSING)) as project:
        project.podium("run", "workflows/flow.yaml")
        answered = project.podium("approve")
        assert "ask: approved by ann" in answered.err
        for command in (("guide", "Be quick"), ("jump", "ask"), ("approve",)):
            done = project.podium(*command)
            assert done.code in (0, 6), (command, done.err)
        assert project.podium("signal", "ready").code == 0
        assert "which continues" in project.podium("rerun", "last", "--yes").err
        refused = project.podium("raise", "usd=3")
        assert "has not ended at a limit" in refused.err


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("guide", "TEXT"),
        ("take", "STEP"),
        ("jump", "STEP"),
        ("rerun", "STEP"),
        ("signal", "NAME"),
        ("raise", "UNIT="),
    ],
)
def test_a_run_alone_is_not_taken_for_the_argument_after_it(
    tmp_path: Path, command: str, missing: str
) -> None:
    with closing(flow_in(tmp_path, ASKING)) as project:
        project.podium("run", "workflows/flow.yaml")
        for words in ((), ("@1",), (project.run_id(),)):
            done = project.podium(command, *words)
            assert (done.code, f"Missing argument '{missing}" in done.err) == (2, True), (words, done.err)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("columns", [60, 80, 140])
def test_a_question_is_never_cut_and_no_word_is_broken(tmp_path: Path, columns: int) -> None:
    with closing(flow_in(tmp_path, ASKING)) as project:
        assert project.podium("run", "workflows/flow.yaml").code == 6
        for command in (("show",), ("inbox",), (), ("resume",)):
            with in_tmux(project, *command, columns=columns, rows=40) as tmux:
                # The last words that each of them prints.
                screen = until(lambda: _whole(tmux.screen()), f"the question at {command}")
            assert all(len(line) <= columns for line in screen.splitlines()), command


def _whole(screen: str) -> str | None:
    return screen if QUESTION in re.sub(r"\s*\n\s*", " ", screen) else None
