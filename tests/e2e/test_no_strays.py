"""Whatever a step or an agent leaves running dies with it: on time, on cancel, and when its engine was killed.

All kinds at once, each started by a command and by an agent, in steps that run side by side.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from podium.process.procfs import Process
from tests.e2e.kit import Project, closing, new_project, until, until_exit
from tests.process.kit import STRAY, is_alive, stray_in
from tests.process.test_strays import SIX
from tests.timing import best_of

Note: TypeAlias = Callable[[str, object], None]
FILE = "workflows/w.yaml"
# The first time it leaves a stray and stays itself; once it may, it ends well.
TOOL = f"""\
if [ -e "$NOTES/go" ]; then echo done; exit 0; fi
mkdir -p "$NOTES/$1-$2"
exec {sys.executable} -I -S {STRAY} "$2" "$NOTES/$1-$2" stay
"""
BY = ("run", "agent")


def workflow(timeout: str) -> str:
    agents = "".join(
        f"  {kind}: {{type: command, command: [sh, tools/leave.sh, agent, {kind}]}}\n" for kind in SIX
    )
    common = f"timeout: {timeout}, retry: {{attempts: 1, on_exhausted: fail}}, env: [NOTES]"
    steps = "".join(
        f"      run_{kind}: {{run: [sh, tools/leave.sh, run, {kind}], {common}}}\n"
        f"      agent_{kind}: {{agent: {kind}, prompt: Work., touches: [], no_change: pass, {common}}}\n"
        for kind in SIX
    )
    return (
        f"podium: 1\nname: strays\nenv: [NOTES]\nmax_parallel: {2 * len(SIX)}\nlimits: {{unknown_cost: count_tokens}}\nagents:\n{agents}"
        f"steps:\n  all:\n    parallel: true\n    steps:\n{steps}"
    )


def project_with(timeout: str, folder: Path) -> Project:
    notes = folder / "notes"
    notes.mkdir(parents=True)
    files = {FILE: workflow(timeout), "tools/leave.sh": TOOL}
    return new_project(folder / "place", files, NOTES=str(notes))


def notes_of(project: Project) -> Path:
    return Path(project.env["NOTES"])


def strays(project: Project) -> list[Process]:
    """All twelve, once they are there."""
    places = [notes_of(project) / f"{by}-{kind}" for by in BY for kind in SIX]
    found = [process for place in places if (process := stray_in(place)) is not None]
    return found if len(found) == len(places) else []


def begin(project: Project) -> tuple[subprocess.Popen[bytes], list[Process]]:
    # At bubblewrap they would all be gone with their first process, and their notes could not be left outside.
    child = project.start("run", FILE, "--sandbox", "limits")
    return child, project.while_running(child, lambda: strays(project), "twelve strays")


def living(processes: list[Process]) -> list[Process]:
    return [process for process in processes if is_alive(process)]


@pytest.mark.req("R142", "X15")
def test_twelve_strays_die_within_two_seconds_of_a_cancel(
    tmp_path: Path, record_testsuite_property: Note
) -> None:
    seconds = best_of(3, lambda chance: dead_after(tmp_path / str(chance)), under=2.0)

    record_testsuite_property("dead_after_s", [round(each, 2) for each in seconds])


def dead_after(folder: Path) -> float:
    with closing(project_with("10m", folder)) as project:
        child, found = begin(project)
        with project.store() as store:
            store.post(project.run_id(), "stop", {"say": "cancel", "by": "ann", "reason": ""})
        start = time.monotonic()
        until(lambda: not living(found), "the end of all strays")
        seconds = time.monotonic() - start
        assert until_exit(child) == 130
        assert project.marked() == []
        assert project.leftovers() == []
    return seconds


@pytest.mark.slow
@pytest.mark.req("R142", "X15")
def test_a_cancel_from_the_command_line_ends_them_too(tmp_path: Path) -> None:
    with closing(project_with("10m", tmp_path)) as project:
        child, found = begin(project)

        assert project.podium("cancel", project.run_id()).code == 0

        assert until_exit(child) == 130
        assert living(found) == []
        assert project.marked() == []


@pytest.mark.req("R146", "X15")
def test_twelve_strays_of_a_killed_engine_die_when_the_run_is_resumed(tmp_path: Path) -> None:
    with closing(project_with("10m", tmp_path)) as project:
        child, found = begin(project)
        child.kill()
        child.wait()
        assert living(found) == found
        (notes_of(project) / "go").touch()

        done = project.podium("resume")

        assert done.code == 0, done.err
        assert living(found) == []
        assert project.marked() == []
        assert project.leftovers() == []


@pytest.mark.slow
@pytest.mark.req("X15")
def test_twelve_strays_die_when_the_engine_is_told_to_stop(tmp_path: Path) -> None:
    with closing(project_with("10m", tmp_path)) as project:
        child, found = begin(project)

        child.terminate()

        assert until_exit(child) == 130
        assert living(found) == []
        assert project.leftovers() == []


@pytest.mark.slow
@pytest.mark.req("R094", "R141", "X15")
def test_twelve_strays_die_when_the_time_of_their_step_is_up(tmp_path: Path) -> None:
    """Some of them ignore TERM, so this takes the whole grace of ten seconds."""
    with closing(project_with("20s", tmp_path)) as project:
        child, found = begin(project)

        assert until_exit(child) == 124

        assert living(found) == []
        assert project.marked() == []
        ended = [event for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]
        assert {event["kind"] for event in ended} == {"timeout"}
