"""A running engine hears other processes at once and costs nothing while it waits; a parked run is carried on."""

from __future__ import annotations

import os
import pty
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from podium.core.hash_chain import RunId
from tests.e2e.kit import Project, closing, new_project, until, until_exit
from tests.timing import best_of

Note: TypeAlias = Callable[[str, object], None]
FILE = "workflows/w.yaml"
SAMPLES = 7
ASKING = """\
podium: 1
name: asking
max_parallel: 16
steps:
  people:
    parallel: true
    steps:
"""
QUESTION = '      q{number}: {{human: "Good?"}}\n'
WAITING = "      hold: {wait: {timer: 10m}}\n"
PARKING = """\
podium: 1
name: parking
steps:
  approve: {human: "Go on?"}
  after: {run: [sh, -c, "exit 0"]}
"""


def asking(questions: int) -> str:
    return ASKING + "".join(QUESTION.format(number=number) for number in range(questions)) + WAITING


@pytest.mark.req("R155", "R192")
def test_an_approval_from_another_process_is_heard_within_300_ms(
    tmp_path: Path, record_testsuite_property: Note
) -> None:
    """From the moment the answer is posted to the moment its event is stored, seen from outside."""

    def median_s(chance: int) -> float:
        seconds = heard(tmp_path / str(chance))
        record_testsuite_property("heard_after_ms", [round(1000 * each) for each in seconds])
        return statistics.median(seconds)

    best_of(3, median_s, under=0.3)


def heard(folder: Path) -> list[float]:
    with closing(new_project(folder, {FILE: asking(SAMPLES)})) as project:
        child = project.start("run", FILE)
        run = project.run_id()
        project.while_running(child, lambda: has_asked(project, run, SAMPLES), "the questions")

        seconds = [heard_after(project, run, f"people/q{number}") for number in range(SAMPLES)]

        assert project.podium("cancel", run).code == 0
        assert until_exit(child) == 130
    return seconds


def has_asked(project: Project, run: RunId, questions: int) -> bool:
    return [event["type"] for event in project.events(run)].count("ApprovalAsked") == questions


def heard_after(project: Project, run: RunId, path: str) -> float:
    body = {"say": "approve", "path": path, "action": "approve", "by": "ann", "tree": None}
    with project.store() as store:
        after = store.head(run).last_seq
        store.post(run, f"answer-{path}", body)
        begin = time.monotonic()
        until(
            lambda: any(record.type == "ApprovalGiven" for record in store.read(run, after=after)),
            f"the answer to {path}",
        )
        return time.monotonic() - begin


@pytest.mark.req("R155", "R190")
@pytest.mark.parametrize(("command", "code"), [("approve", 0), ("reject", 4)])
def test_an_answer_to_a_parked_run_carries_it_on_with_its_exit_code(
    command: str, code: int, tmp_path: Path
) -> None:
    with closing(new_project(tmp_path, {FILE: PARKING})) as project:
        parked = project.podium("run", FILE, "--json")
        assert parked.code == 6, parked.err
        assert parked.data()["status"] == "parked"
        assert [question["path"] for question in parked.data()["pending"]] == ["approve"]
        assert project.marked() == []

        words = ("--feedback", "not so") if command == "reject" else ()
        done = project.podium(command, project.run_id(), *words, "--json")

        assert done.code == code, done.err
        assert done.data()["status"] == ("passed" if code == 0 else "rejected")
        assert project.leftovers() == []


@pytest.mark.req("R155")
def test_an_answer_from_a_command_line_is_heard_by_the_owner_that_lives(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {FILE: asking(1)})) as project:
        child = project.start("run", FILE)
        run = project.run_id()
        project.while_running(child, lambda: has_asked(project, run, 1), "the question")

        done = project.podium("approve", run)

        assert done.code == 0, done.err
        [given] = [event for event in project.events(run) if event["type"] == "ApprovalGiven"]
        assert given["by"] == "ann"
        assert child.poll() is None
        assert project.podium("cancel", run).code == 0
        assert until_exit(child) == 130


@pytest.mark.req("R155")
def test_a_waiting_engine_takes_under_a_percent_of_a_core_and_60_mb(
    tmp_path: Path, record_testsuite_property: Note
) -> None:
    with closing(new_project(tmp_path, {FILE: asking(1)})) as project:
        child = project.start("run", FILE)
        run = project.run_id()
        project.while_running(child, lambda: has_asked(project, run, 1), "the question")

        share = best_of(3, lambda _: idle_share(child.pid), under=0.01)[-1]

        record_testsuite_property("idle", f"{share:.2%} of a core, {resident_mb(child.pid):.0f} MB")
        assert resident_mb(child.pid) < 60


@pytest.mark.slow
def test_an_engine_that_waits_at_a_terminal_is_as_quiet(
    tmp_path: Path, record_testsuite_property: Note
) -> None:
    """There it does not park, and keeps a clock going on the screen."""
    with (
        closing(new_project(tmp_path, {FILE: PARKING})) as project,
        at_terminal(project, "run", FILE) as child,
    ):
        run = project.run_id()
        project.while_running(child, lambda: has_asked(project, run, 1), "the question")

        share = best_of(3, lambda _: idle_share(child.pid), under=0.01)[-1]

        record_testsuite_property(
            "idle_at_a_terminal", f"{share:.2%} of a core, {resident_mb(child.pid):.0f} MB"
        )
        assert project.podium("approve", run).code == 0
        assert until_exit(child) == 0


@contextmanager
def at_terminal(project: Project, *args: str) -> Iterator[subprocess.Popen[bytes]]:
    ours, theirs = pty.openpty()
    try:
        child = project.start(*args, stdin=theirs, stdout=theirs, stderr=theirs)
        os.close(theirs)
        os.set_blocking(ours, False)
        yield child
    finally:
        os.close(ours)


def idle_share(pid: int) -> float:
    """The share of a core over a few seconds, after what the last turn set in motion has come to rest."""
    calm = cpu_s(pid)

    def is_calm() -> bool:
        nonlocal calm
        before, calm = calm, cpu_s(pid)
        time.sleep(0.5)
        return cpu_s(pid) - calm <= 0.01 and calm - before <= 0.01

    until(is_calm, "an idle engine")
    begin, used = time.monotonic(), cpu_s(pid)
    time.sleep(4)
    return (cpu_s(pid) - used) / (time.monotonic() - begin)


def cpu_s(pid: int) -> float:
    values = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid: int) -> float:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024
