"""Receives a child's output: filters it, passes it on live, and stores it within limits (R153).

Up to a megabyte of a stream stays in memory, more goes to a file, and the first eight kilobytes are for the record. If
the record is truncated and a folder is given, the whole output is in a file. Output beyond the limits is read, so that
the child does not block, and dropped; the number of dropped bytes is reported.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from pathlib import Path
from typing import BinaryIO, Final, Literal, Protocol

from podium.fast_dataclass import dataclass

StreamName = Literal["stdout", "stderr"]
OnOutput = Callable[[StreamName, bytes], None]
PIECE: Final = 1 << 20


class Filter(Protocol):
    def feed(self, data: bytes) -> bytes: ...
    def finish(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class OutputLimits:
    memory: int = 1024 * 1024
    record: int = 8 * 1024
    total: int = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class CapturedOutput:
    """One masked stream of a finished child."""

    head: bytes = field(repr=False)
    size: int
    """The number of stored bytes, in memory or in the file."""
    memory: bytes | None = field(default=None, repr=False)
    """The whole output, or None if it is only in the file."""
    path: Path | None = None
    dropped: int = 0
    """The number of bytes beyond the limits."""

    def read(self) -> bytes:
        if self.memory is not None:
            return self.memory
        assert self.path is not None
        return self.path.read_bytes()

    def text(self) -> str:
        return self.read().decode("utf-8", "replace")

    def pieces(self) -> Iterator[str]:
        """The whole output in pieces that end with a line; of a longer line than a piece, the end is missing."""
        if self.memory is not None or self.path is None:
            yield (self.memory or b"").decode("utf-8", "replace")
            return
        with self.path.open("rb") as file:
            while piece := file.read(PIECE):
                rest = b"" if piece.endswith(b"\n") else file.readline(PIECE)
                yield (piece + rest).decode("utf-8", "replace")

    def tail(self, length: int) -> str:
        """The last characters; of a large output only the end is read."""
        if self.memory is not None or self.path is None:
            return (self.memory or b"")[-4 * length :].decode("utf-8", "replace")[-length:]
        with self.path.open("rb") as file:
            file.seek(max(0, self.path.stat().st_size - 4 * length))
            return file.read(4 * length).decode("utf-8", "replace")[-length:]

    def record(self) -> str:
        """The first kilobytes, with a note about what is missing and where it is."""
        if self.size <= len(self.head) and not self.dropped:
            return self.head.decode("utf-8", "replace")
        # An incremental decoder drops a truncated character instead of replacing it.
        text = codecs.getincrementaldecoder("utf-8")("replace").decode(self.head)
        file_note = f"; all of it: {self.path}" if self.path else ""
        drop_note = f"; {self.dropped} more bytes were dropped" if self.dropped else ""
        return f"{text}\n[truncated: the first {len(self.head)} of {self.size} bytes{file_note}{drop_note}]"


class OutputSink:
    """Filters and stores the bytes of one stream."""

    def __init__(
        self,
        stream: StreamName,
        *,
        limits: OutputLimits,
        spill: str | None,
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
        self._accept(data)

    def finish(self) -> CapturedOutput:
        data = b""
        for step in self._filters:
            data = step.feed(data) + step.finish()
        self._accept(data)
        exceeds_record = self._size > len(self._head)
        if self._spill and exceeds_record and not self._file:
            self._open_file(self._spill)
        self.close()
        return CapturedOutput(
            head=self._head,
            size=self._size,
            memory=bytes(self._memory) if self._size <= self._limits.memory else None,
            path=Path(self._spill) if exceeds_record and self._spill else None,
            dropped=self._dropped,
        )

    def close(self) -> None:
        if self._file:
            self._file.close()
            self._file = None

    def _accept(self, data: bytes) -> None:
        # Truncate after the mask and not before, because the mask would not recognize half a secret.
        stored = data[: self._most - self._size]
        self._dropped += len(data) - len(stored)
        if not stored:
            return
        self._size += len(stored)
        self._head += stored[: self._limits.record - len(self._head)]
        self._store(stored)
        if self._on_output:
            self._on_output(self._stream, stored)

    def _store(self, data: bytes) -> None:
        """Store the bytes; writing blocks the event loop only for as long as the page cache needs for one chunk."""
        if self._spill and self._size > self._limits.memory:
            file = self._file or self._open_file(self._spill)
            file.write(data)
            # After a crash the file has all output so far.
            file.flush()
            self._memory.clear()
        else:
            self._memory += data

    def _open_file(self, name: str) -> BinaryIO:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        # The output is untrusted: readable only by this user, and never written through an existing link.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        self._file = os.fdopen(os.open(path, flags, 0o600), "wb")
        self._file.write(self._memory)
        return self._file
