"""Reads the facts of many files in a child process; a file that hangs or crashes it costs only itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from podium.context.extract.child import encode_job
from podium.context.extract.languages import read_facts
from podium.context.facts import FileFacts, facts_from_line
from podium.errors import PodiumError
from podium.fast_dataclass import dataclass, replace
from podium.process.environment import minimal_env
from podium.process.launch import Launch
from podium.process.limits import Limits
from podium.process.output import OutputLimits
from podium.process.run import run_blocking

FILE_S: Final = 2.0
START_S: Final = 20.0
MEMORY_BYTES: Final = 1 << 30
BATCH_BYTES: Final = 16 << 20
MAX_OUTPUT: Final = 256 << 20
MARKER: Final = "podium-facts"


@dataclass(frozen=True, slots=True)
class Job:
    grammar: str
    """Empty for a file that is not code; then only its words are read, which needs no other process."""
    content: bytes


def read_all(jobs: Sequence[Job], *, file_s: float = FILE_S) -> Iterator[FileFacts]:
    """The facts in the order of the jobs."""
    start = 0
    while start < len(jobs):
        end, size = start, 0
        while end < len(jobs) and (end == start or size + len(jobs[end].content) <= BATCH_BYTES):
            size += len(jobs[end].content)
            end += 1
        yield from _read_batch(jobs[start:end], file_s)
        start = end


def _read_batch(jobs: Sequence[Job], file_s: float) -> Iterator[FileFacts]:
    """Starts the child again after each file that ended it."""
    if not any(job.grammar for job in jobs):
        yield from (read_facts("", job.content) for job in jobs)
        return
    left = list(jobs)
    while left:
        lines, fault = _run_child(left, file_s)
        for line in lines:
            yield facts_from_line(line)
        left = left[len(lines) :]
        if left:
            # Its words are read here: that takes a time in proportion to its size.
            yield replace(read_facts("", left[0].content), fault=fault)
            left = left[1:]


def _run_child(jobs: Sequence[Job], file_s: float) -> tuple[list[str], str]:
    """The lines of the files that it has read, and what ended it if they are not all."""
    data = b"".join(encode_job(job.grammar, job.content) for job in jobs)
    launch = Launch(
        argv=(sys.executable, "-I", "-m", "podium.context.extract.child"),
        cwd=Path("/"),
        env=minimal_env(),
        marker=MARKER,
        stdin=data,
        timeout_s=START_S + file_s * len(jobs),
        first_output_s=START_S,
        silence_s=file_s,
        grace_s=0.1,
        limits=Limits(memory_bytes=MEMORY_BYTES),
        output=OutputLimits(memory=MAX_OUTPUT, total=MAX_OUTPUT),
    )
    finished = run_blocking(launch)
    lines = finished.stdout.read().decode("utf-8", "replace").split("\n")[:-1]
    if not lines:
        message = finished.not_started or finished.stderr.record().strip() or "no output"
        raise PodiumError(f"the process that reads code did not start: {message}")
    return lines[1:], "not parsed: takes too long" if finished.timed_out else "not parsed: crashes the parser"
