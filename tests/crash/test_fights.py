"""Engines fight for one run while others approve and cancel (issue 6, point 3). PODIUM_FIGHTS says how often."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from podium.engine.verify import verify
from podium.files.project_paths import ProjectPaths
from tests.e2e.kit import Project, closing, new_project, until, until_exit

FIGHTS = int(os.environ.get("PODIUM_FIGHTS", "2"))
SEED = int(os.environ.get("PODIUM_SEED", "1"))
FILE = "workflows/w.yaml"
WORKFLOW = """\
podium: 1
name: fight
steps:
  first:
    run: {script: "echo first"}
  many:
    for_each: [a, b, c, d, e, f]
    steps:
      part:
        run: {script: "sleep 0.05; echo part"}
  ask:
    human: Go on?
  more:
    for_each: [g, h, i]
    steps:
      part:
        run: {script: "sleep 0.05; echo part"}
  sure:
    human: Really?
finally:
  last:
    run: {script: "echo last"}
"""
ROUNDS = 4
ENGINES = 3


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.req("R145", "R146", "R155", "X11", "C34")
@pytest.mark.parametrize("number", range(FIGHTS))
def test_engines_that_fight_for_a_run_leave_one_history(number: int, tmp_path: Path) -> None:
    chance = random.Random(f"{SEED}/{number}")
    with closing(new_project(tmp_path / "place", {FILE: WORKFLOW})) as project:
        first = project.start("run", FILE)
        run = project.run_id()
        fighters = [first]
        for turn in range(ROUNDS):
            fighters += [project.start("resume", run) for _ in range(ENGINES)]
            fighters.append(project.start("approve", run, chance.choice(("ask", "sure"))))
            beat(fighters, chance, project, until_seq=(turn + 1) * 8)
        if number % 2:
            fighters.append(project.start("cancel", run))
        for fighter in fighters:
            until_exit(fighter)
        finish(project, run)

        assert "locked" not in project.talk()
        assert "Traceback" not in project.talk()
        assert_one_history(project, run)
        status = project.podium("show", run, "--json").data()["status"]
        sys.stdout.write(f"\nfight {number}: {len(fighters)} engines and speakers, {status}\n")


def beat(
    fighters: list[subprocess.Popen[bytes]], chance: random.Random, project: Project, *, until_seq: int
) -> None:
    """Stops or kills one that lives, once the run has come a little further or nobody is left to carry it on."""

    def living() -> list[subprocess.Popen[bytes]]:
        return [fighter for fighter in fighters if fighter.poll() is None]

    def moved() -> bool:
        with project.store() as store:
            head = store.heads()[0]
        return bool(head.last_seq >= until_seq or head.status != "running" or not living())

    until(moved, "a move of the run")
    for victim in chance.sample(living(), k=min(2, len(living()))):
        if chance.random() < 0.5:
            victim.send_signal(signal.SIGSTOP)
            # While the owner stands still nobody else may become it; once it is dead, anybody may.
            until_exit(project.start("resume", "latest"))
        victim.kill()
        victim.wait()


def finish(project: Project, run: str) -> None:
    """With the fight over, the run comes to an end like any other."""
    done = project.podium("resume", run)
    while done.code == 6:
        project.podium("approve", run)
        done = project.podium("resume", run)
    view = project.podium("show", run, "--json").data()
    assert view["status"] in ("passed", "cancelled"), done.err


def assert_one_history(project: Project, run: str) -> None:
    with project.store() as store:
        head = next(head for head in store.heads() if head.run == run)
        records = store.read(run)
        assert verify(store, ProjectPaths(project.root), head).fault is None
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    events = project.events(head.run)
    # Whoever takes a run over says which epoch is his: each has one owner, and they follow each other.
    epochs = [event["epoch"] for event in events if event["type"] == "RunRecovered"]
    assert epochs == sorted(set(epochs))
    for kind in ("StepEnded", "AttemptEnded"):
        ends = Counter((event["path"], event.get("attempt")) for event in events if event["type"] == kind)
        assert set(ends.values()) <= {1}
    assert len([event for event in events if event["type"] == "RunEnded"]) == 1
    assert project.marked() == []
