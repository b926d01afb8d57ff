"""Shared by the tests of processes: launches of real children, and waiting with a deadline."""

from __future__ import annotations

import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import anyio

from podium.process.environment import minimal_env
from podium.process.launch import Finished, Launch
from podium.process.output import StreamName
from podium.process.procfs import Process, read_process
from podium.process.run import run

T = TypeVar("T")
STRAY = Path(__file__).with_name("stray.py")
PATIENCE_S = 60.0


def new_marker() -> str:
    return f"test-{uuid.uuid4().hex}"


def launch(*argv: str, cwd: Path = Path("/"), **changes: Any) -> Launch:
    values: dict[str, Any] = {
        "env": minimal_env(),
        "marker": new_marker(),
        "timeout_s": PATIENCE_S,
        **changes,
    }
    return Launch(argv=argv, cwd=cwd, **values)


def python(code: str, *arguments: str, **changes: Any) -> Launch:
    return launch(sys.executable, "-I", "-S", "-c", code, *arguments, **changes)


def stray(kind: str, folder: Path, *, then: str, **changes: Any) -> Launch:
    """A child that starts a stray of this kind, whose pid appears in `folder`, and then stays or exits."""
    return launch(sys.executable, "-I", "-S", str(STRAY), kind, str(folder), then, **changes)


@dataclass(slots=True)
class Heard:
    """An on_output that records its calls."""

    stdout: bytearray = field(default_factory=bytearray)
    stderr: bytearray = field(default_factory=bytearray)

    def __call__(self, stream: StreamName, data: bytes) -> None:
        (self.stdout if stream == "stdout" else self.stderr).extend(data)


def finish(start: Launch, **options: Any) -> Finished:
    async def main() -> Finished:
        return await run(start, **options)

    return anyio.run(main)


def until(look: Callable[[], T | None]) -> T:
    """The first result of `look` that is not None."""
    deadline = time.monotonic() + PATIENCE_S
    while not (result := look()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
    return result


async def until_async(look: Callable[[], T | None]) -> T:
    with anyio.fail_after(PATIENCE_S):
        while not (result := look()):  # noqa: ASYNC110 - the fact is made by another process
            await anyio.sleep(0.005)
    return result


def stray_in(folder: Path) -> Process | None:
    """The stray, as soon as it has written its pid."""
    text = folder / "stray"
    return read_process(int(text.read_text("ascii"))) if text.exists() else None


def is_alive(process: Process) -> bool:
    current = read_process(process.pid)
    return current is not None and current.started == process.started and not current.is_dead


def is_gone(process: Process) -> bool:
    """Not even a zombie."""
    current = read_process(process.pid)
    return current is None or current.started != process.started
