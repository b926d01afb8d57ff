"""The signal by which an agent says that its work is done: a file in its workspace, or a commit in its clone.

Rule 1: a signal ends the attempt that wrote it and nothing else. It is never an answer to a gate.
Rule 2: an agent that ends without its signal has not finished its work.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

import anyio

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.launch import note
from podium.attempt.workspace.workspace import Workspace
from podium.core.expressions.templates import fill
from podium.core.expressions.values import Meter, as_text
from podium.errors import PathViolation
from podium.fast_dataclass import dataclass
from podium.files.inside import inside
from podium.git.workdir.clone_commits import head_of, new_commits
from podium.ports.agent import AgentResult
from podium.process.launch import Finished, StopRequest

T = TypeVar("T")
LOOK_S: Final = 0.2
FINISH_S: Final = 10.0
"""How long an agent may still work after its signal, to end by itself and to report its usage."""


@dataclass(slots=True)
class AgentSignal:
    name: str
    look: Callable[[], bool]
    stop: StopRequest
    is_given: bool = False

    async def watch(self, attempt: AgentAttempt) -> None:
        """Until the signal is given; then the program has a little time to end by itself."""
        while True:
            if self.check():
                break
            await anyio.sleep(LOOK_S)
        attempt.activity.report([note(f"signal: {self.name}")])
        self.stop.at = time.monotonic() + FINISH_S

    def check(self) -> bool:
        self.is_given = self.is_given or self.look()
        return self.is_given


def signal_of(attempt: AgentAttempt, workspace: Workspace) -> AgentSignal | None:
    """The signal of the step; None if the end of the program is the end of its work."""
    wait = attempt.verb.done
    if wait is None:
        return None
    text = as_text(fill(wait.detail[wait.what], attempt.names), Meter())
    if wait.what == "commit":
        start = head_of(workspace.folder)
        name = f'a commit with "{text}" in its message'
        return AgentSignal(name, lambda: _has_commit(workspace.folder, text, start), StopRequest())
    places = tuple(_places(workspace.folder, text, attempt))
    before = [_stamp(place) for place in places]
    look = lambda: any(_is_new(place, stamp) for place, stamp in zip(places, before, strict=True))  # noqa: E731
    return AgentSignal(text, look, StopRequest())


async def watch_while(running: Coroutine[Any, Any, T], signal: AgentSignal, attempt: AgentAttempt) -> T:
    """The result of running the program, while the signal is looked for."""
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(signal.watch, attempt)
            result = await running
            group.cancel_scope.cancel()
    except ExceptionGroup as failed:
        # Hide from the caller that tasks are used here.
        raise failed.exceptions[0] from None
    return result


def with_signal(answer: AgentResult, signal: AgentSignal, finished: Finished) -> AgentResult:
    """The answer of an agent that had to give a signal."""
    if signal.check():
        if not finished.stopped:
            return answer
        # It was ended, so it reported neither an answer nor all its usage.
        return replace(answer, trouble=None, detail="", usage_incomplete=True)
    if answer.trouble is not None:
        return answer
    detail = f"it ended without its signal, {signal.name}; give the signal when the work is done"
    return replace(answer, trouble="failed", detail=detail)


def _places(folder: Path, path: str, attempt: AgentAttempt) -> set[Path]:
    """From the root of the workspace, and from the folder in which the agent works."""
    below = fill(attempt.step.settings.dir or ".", attempt.names)
    return {inside(folder, path), inside(folder, posixpath.join(as_text(below, Meter()), path))}


def _stamp(place: Path) -> tuple[int, int, int] | None:
    with suppress(OSError, PathViolation):
        status = place.lstat()
        return status.st_ino, status.st_size, status.st_mtime_ns
    return None


def _is_new(place: Path, before: tuple[int, int, int] | None) -> bool:
    stamp = _stamp(place)
    return stamp is not None and stamp != before


def _has_commit(folder: Path, text: str, start: str | None) -> bool:
    return head_of(folder) != start and any(text in commit.message for commit in new_commits(folder, start))
