"""The way of `podium run` from the command to the loop: the definition is read once, and little lies between."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import anyio.to_thread

import podium
from podium.engine.loop import RunLoop
from podium.frontends.cli.run.run import command
from podium.runtime.records import events_of
from podium.workflow.merge.sources import gather
from tests.engine.kit import Project
from tests.frontends.test_running import call, code, newest

SRC = Path(podium.__file__).parent
STEPS = "  a: {run: [echo, x]}\n"


@contextmanager
def stacks_of(function: CodeType) -> Iterator[list[list[CodeType]]]:
    """The functions of Podium on the stack, innermost first, each time this one is entered, in any thread."""
    stacks: list[list[CodeType]] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is function:
            stacks.append(list(_ours(frame)))

    threading.setprofile(look)
    sys.setprofile(look)
    try:
        yield stacks
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def _ours(frame: FrameType | None) -> Iterator[CodeType]:
    while frame is not None:
        if Path(frame.f_code.co_filename).is_relative_to(SRC):
            yield frame.f_code
        frame = frame.f_back


def test_podium_run_reads_the_definition_once(project: Project) -> None:
    project.flow(STEPS)

    with stacks_of(gather.__code__) as reads:
        done = call("run", "flow.yaml", "--sandbox", "none")

    assert code(done) == 0
    assert len(reads) == 1


def test_podium_resume_reads_the_definition_once(project: Project) -> None:
    project.flow("  ask: {human: 'Go on?'}\n" + STEPS)
    call("run", "flow.yaml", "--sandbox", "none")

    with stacks_of(gather.__code__) as reads:
        done = call("resume", newest(project))

    assert code(done) == 6
    assert len(reads) == 1


def test_podium_resume_reads_the_log_once_and_prints_only_what_is_new(project: Project) -> None:
    project.flow("  first: {set: {x: 1}}\n  ask: {human: 'Go on?'}\n")
    begun = call("run", "flow.yaml", "--sandbox", "none")

    with stacks_of(events_of.__code__) as reads:
        done = call("resume", newest(project))

    assert len(reads) == 1
    assert "first: passed" in begun.stderr
    assert "end   first passed" not in done.stderr
    assert re.search(r"^ok\s+first\s+passed", done.stderr, re.MULTILINE)


def test_podium_resume_of_a_run_that_ended_prints_its_summary_only(project: Project) -> None:
    project.flow("  first: {set: {x: 1}}\n")
    call("run", "flow.yaml", "--sandbox", "none")

    done = call("resume", newest(project))

    assert code(done) == 0
    assert "end   first" not in done.stderr
    assert re.search(r"^ok\s+first\s+passed", done.stderr, re.MULTILINE)


def test_the_python_function_reads_the_definition_once(project: Project) -> None:
    file = project.flow(STEPS)

    with stacks_of(gather.__code__) as reads:
        view = podium.run(file, sandbox="none")

    assert view.status == "passed"
    assert len(reads) == 1


def test_few_functions_lie_between_the_command_and_the_loop(project: Project) -> None:
    project.flow(STEPS)

    with stacks_of(RunLoop.drive.__code__) as stacks:
        call("run", "flow.yaml", "--sandbox", "none")

    loop, *between = stacks[0]
    entry = command.callback.__wrapped__.__code__  # type: ignore[union-attr]  # the command below its decorator
    files = [Path(function.co_filename).relative_to(SRC).as_posix() for function in between]
    assert loop is RunLoop.drive.__code__
    assert files[: between.index(entry)] == [
        *("engine/local.py", "runtime/routed.py"),
        *("app/run/drive.py", "frontends/cli/run/run.py"),
    ]


def test_a_further_command_switches_to_no_other_thread(project: Project) -> None:
    """A switch takes as long as everything else that Podium does around a command which asks for nothing special."""
    switches = []
    for number in (1, 4):
        project.flow("".join(f"  s{index}: {{run: [echo, x]}}\n" for index in range(number)))
        with stacks_of(anyio.to_thread.run_sync.__code__) as stacks:
            assert code(call("run", "flow.yaml", "--sandbox", "limits")) == 0
        switches.append(len(stacks))

    assert switches[1] == switches[0]
