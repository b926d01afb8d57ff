"""Runs one process to its end, with everything it has started."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio
from anyio import from_thread

from podium.errors import EXIT_TIMED_OUT
from podium.process import tree
from podium.process.ansi import PlainStream
from podium.process.capture import Captured, OnOutput, Sink, StreamName
from podium.process.child import Child, new_name
from podium.process.launch import Finished, Launch

CHUNK: Final = 64 * 1024
LINGER_S: Final = 0.2
STRAY_GRACE_S: Final = 1.0
# With the tree dead the pipes are at their end; this is for one that was handed to a stranger.
DRAIN_S: Final = 1.0
EXIT_NOT_EXECUTABLE: Final = 126
EXIT_NOT_FOUND: Final = 127


async def run(launch: Launch, *, on_output: OnOutput | None = None) -> Finished:
    """Starts it, passes its masked output on as it comes, and returns when nothing of it is left.

    Cancelling the surrounding scope ends the whole tree within `cancel_grace_s` before the cancellation goes on; so
    does an exception of `on_output`.
    """
    tree.adopt_orphans()
    began = time.monotonic()
    name = new_name()
    with _sinks(launch, name, on_output) as sinks:
        try:
            child = Child(launch, name=name)
        except OSError as error:
            return _not_started(error, sinks, launch, began)
        with child:
            end = await _attend(child, launch, sinks)
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


async def _attend(child: Child, launch: Launch, sinks: tuple[Sink, Sink]) -> _End:
    pumps = (_Pump(child.stdout, sinks[0]), _Pump(child.stderr, sinks[1]))
    try:
        async with anyio.create_task_group() as group:
            for pump in pumps:
                group.start_soon(pump.run)
            try:
                end = await _end(child, launch, pumps)
                await _drained(pumps)
            except BaseException:
                # Cancelled, or a pump has failed. Nothing may interrupt this, or a child would be left.
                with anyio.CancelScope(shield=True):
                    await tree.kill(child.root, grace_s=launch.cancel_grace_s)
                raise
            finally:
                for pump in pumps:
                    if not pump.done.is_set():
                        pump.scope.cancel()
    except ExceptionGroup as failed:
        # Of the sink: a full disk, or the caller's callback. It is not the caller's concern that we have tasks.
        raise failed.exceptions[0] from None
    return end


async def _drained(pumps: tuple[_Pump, ...]) -> None:
    left = [pump for pump in pumps if not pump.done.is_set()]
    if left:
        with anyio.move_on_after(DRAIN_S):
            for pump in left:
                await pump.done.wait()


async def _end(child: Child, launch: Launch, pumps: tuple[_Pump, ...]) -> _End:
    silent_s: float | None = None
    with anyio.move_on_after(launch.timeout_s if math.isfinite(launch.timeout_s) else None):
        silent_s = await _ended_or_silent(child, launch, pumps)
    if not child.has_ended():
        return _End(True, await tree.kill(child.root, grace_s=launch.grace_s), silent_s)
    grace_s = min(STRAY_GRACE_S, launch.grace_s)
    return _End(False, await tree.kill_strays(child.root, linger_s=LINGER_S, grace_s=grace_s))


async def _ended_or_silent(child: Child, launch: Launch, pumps: tuple[_Pump, ...]) -> float | None:
    """None when it has ended by itself; else how long it has been silent."""
    while True:
        silent_s, allowed_s = _silence(launch, pumps)
        if silent_s >= allowed_s:
            return silent_s
        # Its first word starts the other clock, so that one is looked at in any case.
        pause_s = min(allowed_s - silent_s, launch.silence_s)
        with anyio.move_on_after(pause_s if math.isfinite(pause_s) else None):
            await child.wait()
            return None


def _silence(launch: Launch, pumps: tuple[_Pump, ...]) -> tuple[float, float]:
    """How long it has been silent, and how long it may be."""
    heard = [pump.heard for pump in pumps if pump.heard is not None]
    silent_s = time.monotonic() - max(heard, default=pumps[0].began)
    return silent_s, launch.silence_s if heard else launch.first_output_s


class _Pump:
    """Carries bytes from a pipe to a sink. Shielded: a child that is being ended must not block on a full pipe."""

    def __init__(self, pipe: int, sink: Sink) -> None:
        self.scope = anyio.CancelScope(shield=True)
        self.done = anyio.Event()
        self.began = time.monotonic()
        self.heard: float | None = None
        """When it last said something."""
        self._pipe = pipe
        self._sink = sink

    async def run(self) -> None:
        with self.scope:
            while data := await self._read():
                self.heard = time.monotonic()
                self._sink.feed(data)
        self.done.set()

    async def _read(self) -> bytes:
        while True:
            await anyio.wait_readable(self._pipe)
            try:
                return os.read(self._pipe, CHUNK)
            except BlockingIOError:  # pragma: no cover (the kernel may call a pipe readable that is not)
                continue


@contextmanager
def _sinks(launch: Launch, name: str, on_output: OnOutput | None) -> Iterator[tuple[Sink, Sink]]:
    sinks = (_sink("stdout", launch, name, on_output), _sink("stderr", launch, name, on_output))
    try:
        yield sinks
    finally:
        for sink in sinks:
            sink.close()


def _sink(stream: StreamName, launch: Launch, name: str, on_output: OnOutput | None) -> Sink:
    return Sink(
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


def _not_started(error: OSError, sinks: tuple[Sink, Sink], launch: Launch, began: float) -> Finished:
    captured: tuple[Captured, ...] = tuple(sink.finish() for sink in sinks)
    return Finished(
        exit_code=EXIT_NOT_FOUND if isinstance(error, FileNotFoundError) else EXIT_NOT_EXECUTABLE,
        signal=None,
        timed_out=False,
        duration_s=time.monotonic() - began,
        stdout=captured[0],
        stderr=captured[1],
        not_started=launch.mask.text(str(error)),
    )
