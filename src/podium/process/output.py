"""The single sink of a child's output: filters it, shows it live, and keeps it within bounds (R153).

Up to a megabyte of a stream stays in memory, more goes to a file, and the first eight kilobytes are for the record.
Whatever the record cuts off has a file, if a folder for one was named; if none was, memory is all there is. What goes
beyond the limits is read, so that the child does not block, and dropped, and the loss is stated.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal, Protocol

StreamName = Literal["stdout", "stderr"]
OnOutput = Callable[[StreamName, bytes], None]


class Filter(Protocol):
    def feed(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class OutputLimits:
    memory: int = 1024 * 1024
    record: int = 8 * 1024
    total: int = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """One stream of a finished child, already masked."""

    head: bytes = field(repr=False)
    size: int
    """Bytes that were kept, in memory or in the file."""
    memory: bytes | None = field(default=None, repr=False)
    """All of it, or None when it is in the file only."""
    path: Path | None = None
    dropped: int = 0
    """Bytes beyond the limits."""

    def read(self) -> bytes:
        if self.memory is not None:
            return self.memory
        assert self.path is not None
        return self.path.read_bytes()

    def text(self) -> str:
        return self.read().decode("utf-8", "replace")

    def record(self) -> str:
        """The first kilobytes, with a mark that says what is missing and where it is."""
        if self.size <= len(self.head) and not self.dropped:
            return self.head.decode("utf-8", "replace")
        # A decoder that waits for more does not make a broken character of the one that was cut.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self.head)
        where = f"; all of it: {self.path}" if self.path else ""
        lost = f"; {self.dropped} more bytes were dropped" if self.dropped else ""
        return f"{text}\n[truncated: the first {len(self.head)} of {self.size} bytes{where}{lost}]"


class OutputSink:
    """Where the bytes of one stream go."""

    def __init__(
        self,
        stream: StreamName,
        *,
        limits: OutputLimits,
        spill: Path | None,
        filters: Sequence[Filter],
        on_output: OnOutput | None,
    ) -> None:
        self._stream = stream
        self._limits = limits
        self._spill = spill
        self._most = limits.total if spill else min(limits.total, limits.memory)
        self._filters = tuple(filters)
        self._on_output = on_output
        self._memory = bytearray()
        self._head = b""
        self._file: BinaryIO | None = None
        self._size = 0
        self._dropped = 0

    def feed(self, data: bytes) -> None:
        if self._size >= self._most:
            self._dropped += len(data)
            return
        for step in self._filters:
            data = step.feed(data)
        self._take(data)

    def finish(self) -> CapturedOutput:
        data = b""
        for step in self._filters:
            data = step.feed(data) + step.finish()
        self._take(data)
        cut = self._size > len(self._head)
        if self._spill and cut and not self._file:
            self._begin_file(self._spill)
        self.close()
        return CapturedOutput(
            head=self._head,
            size=self._size,
            memory=bytes(self._memory) if self._size <= self._limits.memory else None,
            path=self._spill if cut else None,
            dropped=self._dropped,
        )

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _take(self, data: bytes) -> None:
        # Cut here and not before the mask: half a secret is no longer recognised.
        kept = data[: self._most - self._size]
        self._dropped += len(data) - len(kept)
        if not kept:
            return
        self._size += len(kept)
        self._head += kept[: self._limits.record - len(self._head)]
        self._keep(kept)
        if self._on_output:
            self._on_output(self._stream, kept)

    def _keep(self, data: bytes) -> None:
        """Writing blocks the loop, but only as long as the page cache takes for one read's worth of bytes."""
        if self._spill and self._size > self._limits.memory:
            file = self._file or self._begin_file(self._spill)
            file.write(data)
            # After a crash the file tells what the child had said so far.
            file.flush()
            self._memory.clear()
        else:
            self._memory += data

    def _begin_file(self, path: Path) -> BinaryIO:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Output of others: readable by this user alone, and never written through a link that waits there.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
        self._file.write(self._memory)
        return self._file
