"""A line that says how far a command is, at a terminal and only if it takes a moment; a pipe gets nothing of it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Final, Self, TextIO, TypeVar

from podium.frontends.cli.live_display import CLEAR_LINE, is_live
from podium.frontends.cli.safe_terminal import bare

Item = TypeVar("Item")

FIRST_S: Final = 0.4
"""What is done sooner needs no line."""
EVERY_S: Final = 0.1


class ProgressLine:
    """Owns the last line of a terminal until it is left."""

    def __init__(self, what: str, total: int | None = None, stream: TextIO | None = None) -> None:
        self._what = what
        self._total = total
        self._stream = sys.stderr if stream is None else stream
        self._is_live = is_live(self._stream)
        self._next = time.monotonic() + FIRST_S
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._drawn:
            self._write("")

    def update(self, done: int) -> None:
        """So many of the total are done."""
        self._draw(f"{self._what}: {done:,}" + ("" if self._total is None else f" of {self._total:,}"))

    def name(self, part: str) -> None:
        """What is done now; shown at once, because the next call may be long away."""
        self._next = 0
        self._draw(f"{self._what}: {part}")

    def track(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, counted as they are taken."""
        for number, item in enumerate(items):
            self.update(number)
            yield item

    def _draw(self, text: str) -> None:
        now = time.monotonic()
        if self._is_live and now >= self._next:
            self._next = now + EVERY_S
            self._write(text)
            self._drawn = True

    def _write(self, text: str) -> None:
        bare(self._stream).write("\r")
        self._stream.write(text)
        bare(self._stream).write(CLEAR_LINE)
        self._stream.flush()
