"""Reads the end of a log and searches in it, also in files of hundreds of megabytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from podium.app.query.logs import LogFile, pieces
from podium.views.plain import encode_utf8

WINDOW: Final = 256 * 1024
"""How much is read at once for a page of lines."""
MOST_MATCHES: Final = 200
LONGEST: Final = 4_000
"""Characters of a line that are shown."""


class Window(NamedTuple):
    lines: tuple[str, ...]
    start: int
    """The position of the first line in the file."""
    end: int
    size: int

    @property
    def has_earlier(self) -> bool:
        return self.start > 0


class Match(NamedTuple):
    line: int
    """Counted from 1."""
    start: int
    """The position of the line in the file."""
    text: str


class SearchResult(NamedTuple):
    total: int
    """Of all lines in which the text occurs, also of those that are not listed."""
    matches: tuple[Match, ...]


def tail(file: LogFile, *, lines: int = 400, before: int | None = None) -> Window:
    """The last lines of a file, or those before a position."""
    size = size_of(file)
    end = size if before is None else max(0, min(before, size))
    first = max(0, end - WINDOW)
    data = _read(file, first, end)
    if first:
        # The first line of what was read may be half a line.
        cut = data.find(b"\n") + 1
        first, data = first + cut, data[cut:]
    whole = data.split(b"\n")
    if not whole[-1]:
        whole.pop()
    shown = whole[-lines:]
    start = first + sum(len(line) + 1 for line in whole[: len(whole) - len(shown)])
    return Window(tuple(_text(line) for line in shown), start, end, size)


def since(file: LogFile, start: int) -> Window:
    """What was added from a position on, at most one window of whole lines."""
    size = size_of(file)
    data = _read(file, start, min(size, start + WINDOW))
    end = data.rfind(b"\n") + 1 or (len(data) if len(data) == WINDOW else 0)
    lines = data[:end].split(b"\n")
    return Window(tuple(_text(line) for line in lines[:-1] or ()), start, start + end, size)


def search(file: LogFile, text: str, *, most: int = MOST_MATCHES) -> SearchResult:
    """All lines that contain the text without regard to case; the count is of the whole file."""
    needle = encode_utf8(text).lower()
    total = 0
    matches: list[Match] = []
    if not needle:
        return SearchResult(0, ())
    for number, start, line in _lines(file):
        if needle in line.lower():
            total += 1
            if len(matches) < most:
                matches.append(Match(number, start, _text(line)))
    return SearchResult(total, tuple(matches))


def size_of(file: LogFile) -> int:
    if file.path is None:
        return len(encode_utf8(file.text))
    try:
        return file.path.stat().st_size
    except OSError:
        return 0


def _read(file: LogFile, start: int, end: int) -> bytes:
    read = bytearray()
    for piece in pieces(file, start=start):
        read += piece
        if len(read) >= end - start:
            break
    return bytes(read[: end - start])


def _lines(file: LogFile) -> Iterator[tuple[int, int, bytes]]:
    number, position, rest = 1, 0, b""
    for piece in pieces(file):
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield number, position, line
            number, position = number + 1, position + len(line) + 1
        if len(rest) > WINDOW:
            # A line without end is searched in parts.
            yield number, position, rest
            position, rest = position + len(rest), b""
    if rest:
        yield number, position, rest


def _text(line: bytes) -> str:
    text = line[: 4 * LONGEST].decode("utf-8", "replace").rstrip("\r")
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} [... {len(line)} bytes]"
