"""Takes the colours and cursor moves of terminals out of a stream of bytes.

It stands before the mask: a secret that is cut in two by a colour must be whole again when the mask sees it.
"""

from __future__ import annotations

import re
from typing import Final

# CSI; strings (OSC, DCS, SOS, PM, APC) up to BEL or ST; two-character escapes; a lone ESC. ECMA-48, 5.3-5.6.
SEQUENCE: Final = re.compile(
    rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])?",
)
UNFINISHED: Final = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]*\x1b?|[ -/]*)?\Z")

# A sequence that does not end is none; without a bound it would hold back all that follows.
LONGEST: Final = 4096


class PlainStream:
    """One stream on its way to plain text."""

    __slots__ = ("_data",)

    def __init__(self) -> None:
        self._data = b""

    def feed(self, data: bytes) -> bytes:
        data = self._data + data
        found = UNFINISHED.search(data)
        end = found.start() if found and len(data) - found.start() <= LONGEST else len(data)
        self._data = data[end:]
        return SEQUENCE.sub(b"", data[:end])

    def finish(self) -> bytes:
        data, self._data = self._data, b""
        return SEQUENCE.sub(b"", data)


def plain(data: bytes) -> bytes:
    stream = PlainStream()
    return stream.feed(data) + stream.finish()
