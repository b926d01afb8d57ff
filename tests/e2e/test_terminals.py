"""What agents and commands say to whoever sits at a terminal is shown there, and never obeyed."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project
from tests.e2e.terminal import at_a_terminal

FILE = "w.yaml"
# Clears the screen, sets the title, goes up a line, writes over itself, rings, turns round the order of reading; the
# last two are the same as a sign of its own (C1).
EVIL = "\x1b[2J\x1b]0;title\x07\x1b[1A\rforged\x07\x08\x0e\u202eforged\x9b2J"
WORKFLOW = """\
podium: 1
name: hostile
agents:
  w: {type: scripted, script: cast.yaml}
steps:
  said: {run: {script: cat evil.txt}}
  make:
    agent: w
    prompt: Make it
    touches: ["**"]
  fails: {run: {script: cat evil.txt; exit 1}, on: {failed: ask}}
  ask: {human: "Is this good: {{ steps.make.text }}"}
"""
OWN = re.compile(rb"\x1b\[(?:0|1|2|31|32|33)m|\x1b\[[0-9]+A|\x1b\[K|\x1b\[J")
"""Podium's colours, and how it redraws its moving lines."""

LOOKS = [
    ["show"],
    ["inbox"],
    ["inbox", "--json"],
    ["runs"],
    ["events"],
    ["events", "--json"],
    ["logs"],
    ["logs", "--failed"],
    ["diff"],
    ["diff", "--stat"],
    ["costs"],
    ["prompt", "--run", "@1", "make"],
    ["verify"],
    ["show", "forged" + EVIL],
    ["guide", "@1", EVIL],
    ["reject", "--feedback", EVIL],
    ["show"],
    ["logs", "-f"],
]


@pytest.fixture
def hostile(tmp_path: Path) -> Project:
    cast = [{"match": {"step": "make"}, "text": EVIL, "write": {"made.txt": f"{EVIL}\n"}}]
    files = {FILE: WORKFLOW, "cast.yaml": json.dumps(cast), "evil.txt": f"{EVIL}\n"}
    project = new_project(tmp_path / "place", files)
    project.env["TERM"] = "xterm"
    return project


@pytest.mark.req("R190", "R213")
def test_no_command_lets_agents_and_commands_steer_the_terminal(hostile: Project) -> None:
    with closing(hostile) as project:
        with at_a_terminal(project, "run", FILE, "--sandbox", "limits") as terminal:
            asked = partial(terminal.shows, b"type one of approve")
            project.while_running(terminal.child, asked, "the question")
            assert steering(terminal.seen) == []
            assert b"? ask: Is this good: " in terminal.seen
            assert b"forged" in terminal.seen
            terminal.child.kill()
            terminal.child.wait()

        told = b""
        for command in LOOKS:
            with at_a_terminal(project, *command) as terminal:
                shown = terminal.whole()
            assert steering(shown) == [], command
            assert b"Traceback" not in shown, command
            told += shown
        assert told.count(b"forged") > len(LOOKS)


def steering(shown: bytes) -> list[str]:
    """The signs in it that a terminal obeys; a terminal makes the end of a line of two."""
    text = OWN.sub(b"", shown).decode("utf-8").replace("\r\n", "\n")
    return [ascii(sign) for sign in text if not sign.isprintable() and sign not in "\n\t"]


@pytest.mark.req("R190")
def test_what_is_no_terminal_gets_the_exact_text(hostile: Project) -> None:
    with closing(hostile) as project:
        project.podium("run", FILE, "--sandbox", "limits")

        assert f"+{EVIL}\n" in project.podium("diff").out
        question = project.podium("inbox", "--json").data()[0]["question"]
        assert question.startswith("Is this good: ")
        assert "\u202eforged\x9b2J" in question
        assert "\x1b" not in question, "terminal codes are removed from an agent's answer"
