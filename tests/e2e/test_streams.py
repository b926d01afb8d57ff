"""What commands do with streams that cannot take every text, are closed, or lose their reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

HALF = "\\ud83d"
"""Half a character as JSON spells it: a model whose words were cut in the middle of a sign."""
WORKFLOW = """\
podium: 1
name: halves
inputs: {word: {type: string, default: whole}}
agents:
  w: {type: command, command: [cat, answer.json], price: {input: 0, output: 0}}
steps:
  tell: {agent: w, prompt: "Tell {{ inputs.word }}", touches: []}
  pass_on: {run: [echo, "${{ steps.tell.text }}"]}
  ask: {human: "Is {{ inputs.word }} good?", output: text}
"""
LOOKS = (["show"], ["show", "--json"], ["events", "--json"], ["runs", "--json"], ["inbox"], ["logs"])


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    answer = f'{{"podium": 1, "text": "cut {HALF}"}}'
    made = new_project(tmp_path / "place", {"w.yaml": WORKFLOW, "answer.json": answer})
    # As in most languages: C.UTF-8 is the only one in which Python lets everything pass.
    made.env["PYTHONIOENCODING"] = "utf-8:strict"
    with closing(made):
        yield made


@pytest.mark.req("R210")
def test_half_a_character_from_an_agent_is_told_as_a_sign_that_every_file_can_hold(project: Project) -> None:
    done = project.podium("run", "w.yaml", "--sandbox", "none")

    assert (done.code, "Traceback" in done.err) == (6, False), done.err
    shown = project.podium("show", "--json").data()
    assert [step["output"] for step in shown["steps"][:2]] == ["cut \ufffd", "cut \ufffd"]


@pytest.mark.req("R210")
def test_every_view_of_a_run_can_be_printed_whatever_bytes_it_was_given(project: Project) -> None:
    done = project.podium("run", "w.yaml", "--sandbox", "none", "-i", os.fsdecode(b"word=caf\xe9"))

    assert (done.code, "Traceback" in done.err) == (6, False), done.err
    for look in LOOKS:
        ended = project.podium(*look)
        assert (ended.code, ended.err) == (0, ""), look
    (folder,) = (project.root / ".podium/runs").iterdir()
    kept = json.loads((folder / "run.json").read_text("utf-8"))
    assert kept["inputs"] == {"word": "caf\udce9"} == project.podium("show", "--json").data()["inputs"]


def test_half_a_character_is_refused_as_an_answer_and_the_question_stays_open(project: Project) -> None:
    project.podium("run", "w.yaml", "--sandbox", "none")

    refused = project.podium("answer", f'"a{HALF}"')

    assert (refused.code, refused.out) == (2, "")
    assert "the answer has half of a character at position 1" in refused.err
    assert project.podium("answer", "NaN").code == 0
    assert project.podium("show", "--json").data()["steps"][2]["output"] == "NaN"


def test_a_command_whose_reader_has_seen_enough_has_done_its_work(project: Project) -> None:
    project.podium("run", "w.yaml", "--sandbox", "none")

    for look in LOOKS:
        assert _unread(project, *look) == (0, ""), look


def test_a_run_that_nobody_reads_of_any_more_is_interrupted_and_not_called_failed(project: Project) -> None:
    assert _unread(project, "run", "w.yaml", "--sandbox", "none") == (130, "")

    assert project.podium("show", "--json").data()["status"] == "interrupted"
    assert project.podium("resume").code == 6


def test_the_exit_code_of_a_run_does_not_depend_on_who_reads_its_end(project: Project) -> None:
    project.commit({"w.yaml": "podium: 1\nname: bad\nsteps: {no: {run: ['false']}}\n"})

    child = project.start("run", "w.yaml", "--json", "--sandbox", "none", stdout=_gone())

    assert child.wait() == 1
    assert "Traceback" not in project.talk()


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_was_closed_from_the_start_is_done_without(project: Project, closed: str) -> None:
    project.commit({"w.yaml": "podium: 1\nname: good\nsteps: {say: {run: [echo, hi]}}\n"})
    command = f'exec "$0" -m podium run w.yaml --sandbox none {closed}'

    ended = subprocess.run(
        ("sh", "-c", command, sys.executable),
        cwd=project.root,
        env=project.environment(),
        capture_output=True,
        check=False,
    )

    assert (ended.returncode, b"Traceback" in ended.stderr) == (0, False), ended.stderr
    assert [step["output"] for step in project.podium("show", "--json").data()["steps"]] == ["hi"]


def _gone() -> int:
    """The end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _unread(project: Project, *args: str) -> tuple[int, str]:
    child = project.start(*args, stdout=_gone(), stderr=_gone())
    return child.wait(), project.talk()
