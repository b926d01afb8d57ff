"""Removes terminal colours and cursor movements from a stream of bytes.

It runs before the mask, because a colour sequence in the middle of a secret would otherwise hide it from the mask.
"""

from __future__ import annotations

import re
from typing import Final

# CSI; strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; two-character escapes; a lone ESC. ECMA-48, 5.3-5.6.
SEQUENCE: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])?",
)
UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")

# A longer sequence is treated as text; without a limit an unfinished one would hold back all output after it.
LONGEST: Final = 4096


class PlainStream:
    """Removes the sequences from one stream, piece by piece."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> bytes:
        data = self._data + data
        unfinished = UNFINISHED.search(data)
        end = unfinished.start() if unfinished and len(data) - unfinished.start() <= LONGEST else len(data)
        self._data = data[end:]
        return SEQUENCE.sub(b"", data[:end])

    def finish(self) -> bytes:
        data, self._data = self._data, b""
        return SEQUENCE.sub(b"", data)


def plain(data: bytes) -> bytes:
    stream = PlainStream()
    return stream.feed(data) + stream.finish()


def without_sequences(text: str) -> str:
    """A complete text without them."""
    if "\x1b" not in text:
        return text
    return plain(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")
