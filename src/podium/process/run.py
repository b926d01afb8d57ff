"""Runs one process to its end, with everything it has started."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import anyio
from anyio import from_thread

from podium.errors import EXIT_TIMED_OUT
from podium.process import process_tree
from podium.process.ansi import PlainStream
from podium.process.child import Child, new_name
from podium.process.launch import Finished, Launch
from podium.process.output import CapturedOutput, OnOutput, OutputSink, StreamName
from podium.process.pipes import PipeReader

LINGER_S: Final = 0.2
STRAY_GRACE_S: Final = 1.0
DRAIN_S: Final = 1.0
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127


async def run(launch: Launch, *, on_output: OnOutput | None = None) -> Finished:
    """Starts it, passes its masked output on as it comes, and returns when nothing of it is left.

    Cancelling the surrounding scope ends the whole tree within `cancel_grace_s` before the cancellation goes on; so
    does an exception of `on_output`.
    """
    process_tree.adopt_orphans()
    began = time.monotonic()
    name = new_name()
    with _sinks(launch, name, on_output) as sinks, PipeReader(*sinks) as ears:
        try:
            child = Child(launch, name=name)
        except OSError as error:
            return _not_started(error, sinks, launch, began)
        with child:
            end = await _attend(child, launch, ears)
            exit_code, signal = child.exit()
            return Finished(
                exit_code=EXIT_TIMED_OUT if end.timed_out else exit_code,
                signal=signal,
                timed_out=end.timed_out,
                silent_s=end.silent_s,
                duration_s=time.monotonic() - began,
                stdout=sinks[0].finish(),
                stderr=sinks[1].finish(),
                survivors=end.survivors,
            )


@dataclass(frozen=True, slots=True)
class _End:
    timed_out: bool
    survivors: tuple[int, ...]
    silent_s: float | None = None


async def _attend(child: Child, launch: Launch, ears: PipeReader) -> _End:
    try:
        ears.turn_to(child)
        end = await _end(child, launch, ears)
        await ears.drain(DRAIN_S)
    except BaseException:
        # Cancelled, or a sink has failed: a full disk, or the caller's callback. Nothing may interrupt this, or a child
        # would be left.
        with anyio.CancelScope(shield=True):
            await _while(ears.listen_anyhow, process_tree.kill(child.root, grace_s=launch.cancel_grace_s))
        raise
    return end


async def _end(child: Child, launch: Launch, ears: PipeReader) -> _End:
    deadline = ears.began + launch.timeout_s
    while not child.has_ended():
        now = time.monotonic()
        silent_s, allowed_s = _silence(launch, ears, now)
        if silent_s >= allowed_s or now >= deadline:
            survivors = await _while(
                ears.listen_to_the_end, process_tree.kill(child.root, grace_s=launch.grace_s)
            )
            return _End(True, survivors, silent_s if silent_s >= allowed_s else None)
        await ears.listen(min(deadline - now, allowed_s - silent_s))
    if not process_tree.has_left(child.root):
        return _End(False, ())
    grace_s = min(STRAY_GRACE_S, launch.grace_s)
    strays = process_tree.kill_strays(child.root, linger_s=LINGER_S, grace_s=grace_s)
    return _End(False, await _while(ears.listen_to_the_end, strays))


def _silence(launch: Launch, ears: PipeReader, now: float) -> tuple[float, float]:
    """How long it has been silent, and how long it may be."""
    if ears.heard is None:
        return now - ears.began, launch.first_output_s
    return now - ears.heard, launch.silence_s


async def _while(
    listen: Callable[[], Coroutine[Any, Any, None]], killing: Coroutine[Any, Any, tuple[int, ...]]
) -> tuple[int, ...]:
    """Hears what it says meanwhile: a child that is being ended must not block on a full pipe."""
    found: tuple[int, ...] = ()
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            found = await killing
            group.cancel_scope.cancel()
    except ExceptionGroup as failed:
        # It is not the caller's concern that we have tasks.
        raise failed.exceptions[0] from None
    return found


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


def _spill(folder: Path | None, name: str) -> Path | None:
    return folder / name if folder else None


def unstarted(launch: Launch, error: OSError) -> Finished:
    """What run() returns for a program that cannot be had; for callers who find that out before."""
    with _sinks(launch, new_name(), None) as sinks:
        return _not_started(error, sinks, launch, time.monotonic())


def completed(launch: Launch) -> Finished:
    """run() for callers outside of the event loop; the loop's own thread still starts the process, if there is one.

    In a program without a loop, one is made for the moment.
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
