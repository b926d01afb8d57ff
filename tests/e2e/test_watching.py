"""What agents and commands print reaches a person while they run, and survives the death of the process that drives them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project, until

pytestmark = pytest.mark.slow

TALK = """\
import pathlib, sys, time
words, pause, gate = int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3])
for number in range(words):
    print(f"{time.time():.3f} word {number}", flush=True)
    time.sleep(pause)
while not gate.exists():
    time.sleep(0.02)
"""
WORD = re.compile(r"(\d{10}\.\d{3}) word (\d+)")


def talking(folder: Path, *, words: int, pause: float) -> Project:
    """A project with an agent and a command that talk, and then wait for a file."""
    argv = json.dumps([sys.executable, "talk.py", str(words), str(pause), str(folder / "go")])
    flow = f"""\
podium: 1
name: talk
limits: {{unknown_cost: count_tokens}}
agents:
  talker: {{type: command, command: {argv}}}
steps:
  speak: {{agent: talker, prompt: Speak.}}
  build: {{run: {argv}}}
"""
    return new_project(folder / "place", {"flow.yaml": flow, "talk.py": TALK})


def delays(project: Project, *, wanted: int) -> list[float]:
    """How long each word took from the agent to the reader of `podium logs -f`."""
    reader = project.start("logs", "-f", stdout=subprocess.PIPE)
    assert reader.stdout is not None
    late: list[float] = []
    for line in reader.stdout:
        word = WORD.search(line.decode())
        if word is not None:
            late.append(time.time() - float(word[1]))
        if len(late) == wanted:
            break
    reader.send_signal(signal.SIGINT)
    reader.wait()
    reader.stdout.close()
    return late


@pytest.mark.req("R064")
def test_every_word_of_an_agent_and_a_command_is_followed_within_half_a_second(tmp_path: Path) -> None:
    with closing(talking(tmp_path, words=12, pause=0.4)) as project:
        (tmp_path / "go").touch()
        project.start("run", "flow.yaml", "--sandbox", "limits")
        project.until_event(project.run_id(), "AttemptStarted", "speak")
        late = delays(project, wanted=24)

    # The first words of each were printed before the reader looked for the first time.
    steady = sorted(late[2:12] + late[14:])
    assert steady[int(len(steady) * 0.95)] < 0.5, late


@pytest.mark.req("R064", "R146")
def test_the_words_of_a_killed_call_are_kept_and_those_of_its_repetition_follow(tmp_path: Path) -> None:
    with closing(talking(tmp_path, words=3, pause=0)) as project:
        owner = project.start("run", "flow.yaml", "--sandbox", "limits")
        run = project.run_id()
        project.until_event(run, "AttemptStarted", "speak")
        log = project.root / f".podium/runs/{run}/agent_logs/speak/1/stdout.log"
        until(lambda: log.exists() and b"word 2" in log.read_bytes(), "its words")
        os.killpg(owner.pid, signal.SIGKILL)
        owner.wait()
        killed = log.read_text()

        shown = project.podium("logs", run, "speak")
        (tmp_path / "go").touch()
        assert project.podium("resume", run).code == 0
        again = log.read_text()

    assert [word[2] for word in WORD.finditer(killed)] == ["0", "1", "2"]
    assert killed.splitlines()[-1] in shown.out
    assert again.startswith(killed)
    assert "[podium] the attempt was interrupted and starts again" in again
    assert [word[2] for word in WORD.finditer(again)] == ["0", "1", "2"] * 2


@pytest.mark.req("R064")
def test_verbose_prints_what_a_gate_and_an_agent_do_and_quiet_prints_nothing(tmp_path: Path) -> None:
    with closing(talking(tmp_path, words=1, pause=0)) as project:
        (tmp_path / "go").touch()
        verbose = project.podium("run", "flow.yaml", "--sandbox", "limits", "-v")
        quiet = project.podium("run", "flow.yaml", "--sandbox", "limits", "-q")

    assert re.search(r'speak: says "\d{10}\.\d{3} word 0"', verbose.err)
    assert re.search(r"build: \d{10}\.\d{3} word 0", verbose.err)
    assert (quiet.code, quiet.out, quiet.err) == (0, "", "")
