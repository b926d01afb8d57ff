"""Runs one process to its end, together with everything it has started."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import from_thread

from podium.errors import EXIT_TIMED_OUT
from podium.fast_dataclass import dataclass
from podium.process import process_tree
from podium.process.ansi import PlainStream
from podium.process.bounds import UsageWatch
from podium.process.child import Child, new_name
from podium.process.launch import Finished, Launch, LiveInput
from podium.process.output import CapturedOutput, OnOutput, OutputSink, StreamName
from podium.process.pipes import PipeReader
from podium.process.terminal import TerminalRelay

LINGER_S: Final = 0.2
STRAY_GRACE_S: Final = 1.0
DRAIN_S: Final = 1.0
STOP_LOOK_S: Final = 0.2
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127


async def run(launch: Launch, *, on_output: OnOutput | None = None) -> Finished:
    """Start the process, pass on its masked output live, and return when its whole tree has ended.

    Cancelling the enclosing scope, or an exception in `on_output`, ends the whole tree within `cancel_grace_s` first.
    """
    process_tree.adopt_orphans()
    started = time.monotonic()
    name = new_name()
    with (
        _sinks(launch, name, on_output) as sinks,
        PipeReader(*sinks) as reader,
        nullcontext() if launch.terminal is None else TerminalRelay(launch.terminal) as relay,
    ):
        try:
            child = Child(launch, name=name, terminal=None if relay is None else relay.slave)
        except OSError as error:
            return _not_started(error, sinks, launch, started)
        with child:
            if relay is not None:
                relay.start()
            end = await _run_to_end(child, launch, reader)
            exit_code, signal = child.exit()
            return Finished(
                exit_code=EXIT_TIMED_OUT if end.timed_out else exit_code,
                signal=signal,
                timed_out=end.timed_out,
                silent_s=end.silent_s,
                exceeded=end.exceeded,
                stopped=end.stopped,
                duration_s=time.monotonic() - started,
                stdout=sinks[0].finish(),
                stderr=sinks[1].finish(),
                survivors=end.survivors,
            )


@dataclass(frozen=True, slots=True)
class _End:
    timed_out: bool
    survivors: tuple[int, ...]
    silent_s: float | None = None
    exceeded: str = ""
    stopped: bool = False


async def _run_to_end(child: Child, launch: Launch, reader: PipeReader) -> _End:
    try:
        reader.attach(child, launch.stdin if isinstance(launch.stdin, LiveInput) else None)
        end = await _wait_for_end(child, launch, reader)
        await reader.drain(DRAIN_S)
    except BaseException:
        # The task was cancelled, or a sink failed (a full disk, the caller's callback). Shield the clean-up; otherwise a
        # child could be left running.
        with anyio.CancelScope(shield=True):
            await _kill_while_reading(
                reader.read_ignoring_errors, process_tree.kill(child.root, grace_s=launch.cancel_grace_s)
            )
        raise
    return end


async def _wait_for_end(child: Child, launch: Launch, reader: PipeReader) -> _End:
    deadline = reader.began + launch.timeout_s
    watch = None if launch.bounds is None else UsageWatch(launch.bounds)
    while not child.has_ended():
        if watch is not None and (exceeded := await _exceeded(watch, child)):
            survivors = await _kill_while_reading(reader.read_to_end, process_tree.kill_now(child.root))
            return _End(False, survivors, exceeded=exceeded)
        now = time.monotonic()
        stop_s = _time_to_stop(launch, now)
        if stop_s <= 0:
            killing = process_tree.kill(child.root, grace_s=launch.grace_s)
            return _End(False, await _kill_while_reading(reader.read_to_end, killing), stopped=True)
        silent_s, allowed_s = _silent_time(launch, reader, now)
        if silent_s >= allowed_s or now >= deadline:
            survivors = await _kill_while_reading(
                reader.read_to_end, process_tree.kill(child.root, grace_s=launch.grace_s)
            )
            return _End(True, survivors, silent_s if silent_s >= allowed_s else None)
        next_check_s = float("inf") if watch is None else max(0.0, watch.next_check - now)
        await reader.read(min(deadline - now, allowed_s - silent_s, next_check_s, stop_s, _look_s(launch)))
    survivors = await _end_strays(child, launch, reader) if process_tree.has_strays(child.root) else ()
    return _End(False, survivors, exceeded="" if watch is None else await watch.check_end())


def _time_to_stop(launch: Launch, now: float) -> float:
    at = None if launch.stop is None else launch.stop.at
    return math.inf if at is None else at - now


def _look_s(launch: Launch) -> float:
    """How often to look at a request that may come at any time."""
    return math.inf if launch.stop is None else STOP_LOOK_S


async def _exceeded(watch: UsageWatch, child: Child) -> str:
    if time.monotonic() < watch.next_check:
        return ""
    return await watch.check(lambda: process_tree.live_processes(child.root))


async def _end_strays(child: Child, launch: Launch, reader: PipeReader) -> tuple[int, ...]:
    grace_s = min(STRAY_GRACE_S, launch.grace_s)
    strays = process_tree.kill_strays(child.root, linger_s=LINGER_S, grace_s=grace_s)
    return await _kill_while_reading(reader.read_to_end, strays)


def _silent_time(launch: Launch, reader: PipeReader, now: float) -> tuple[float, float]:
    """How long it has had no output, and how long that is allowed."""
    heard = None if launch.heartbeat is None else launch.heartbeat.at
    signs = [at for at in (reader.last_output, heard) if at is not None]
    if not signs:
        return now - reader.began, launch.first_output_s
    return now - max(signs), launch.silence_s


async def _kill_while_reading(
    read: Callable[[], Coroutine[Any, Any, None]], killing: Coroutine[Any, Any, tuple[int, ...]]
) -> tuple[int, ...]:
    """Read the output while killing, because a child that blocks on a full pipe might not end."""
    survivors: tuple[int, ...] = ()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(read)
            survivors = await killing
            group.cancel_scope.cancel()
    except ExceptionGroup as failed:
        # Hide from the caller that tasks are used here.
        raise failed.exceptions[0] from None
    return survivors


@contextmanager
def _sinks(launch: Launch, name: str, on_output: OnOutput | None) -> Iterator[tuple[OutputSink, OutputSink]]:
    sinks = (_sink("stdout", launch, name, on_output), _sink("stderr", launch, name, on_output))
    try:
        yield sinks
    finally:
        for sink in sinks:
            sink.close()


def _sink(stream: StreamName, launch: Launch, name: str, on_output: OnOutput | None) -> OutputSink:
    return OutputSink(
        stream,
        limits=launch.output,
        spill=_spill(launch.spill_dir, f"{name}.{stream}"),
        filters=(*((PlainStream(),) if launch.plain else ()), launch.mask.stream()),
        on_output=on_output,
    )


def _spill(folder: Path | None, name: str) -> str | None:
    return f"{folder}/{name}" if folder else None


def not_started_result(launch: Launch, error: OSError) -> Finished:
    """The result of `run` for a program that is not available, for callers that find this out before."""
    with _sinks(launch, new_name(), None) as sinks:
        return _not_started(error, sinks, launch, time.monotonic())


def run_blocking(launch: Launch) -> Finished:
    """`run` for callers outside the event loop; if there is a loop, its thread starts the process.

    Without an event loop, a temporary one is used.
    """
    try:
        from_thread.check_cancelled()
    except RuntimeError:
        return anyio.run(run, launch)
    return from_thread.run(run, launch)


def _not_started(
    error: OSError, sinks: tuple[OutputSink, OutputSink], launch: Launch, began: float
) -> Finished:
    captured: tuple[CapturedOutput, ...] = tuple(sink.finish() for sink in sinks)
    return Finished(
        exit_code=EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE,
        signal=None,
        timed_out=False,
        duration_s=time.monotonic() - began,
        stdout=captured[0],
        stderr=captured[1],
        not_started=launch.mask.text(str(error)),
    )
