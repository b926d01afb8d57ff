"""The file in which claude keeps a conversation, without the totals of its earlier turns.

From 2.1.325 on, claude stores a `cost-state` line after each turn and continues to count from it: `modelUsage`,
`total_cost_usd` and the limit of `--max-budget-usd` then cover the whole conversation, and each turn would be booked
again with the next one. Earlier versions store none and report each turn alone. Without the lines every version reports
the turn alone. The agent's tools can write the file, so a line counts in whatever way JSON lets it be written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from podium.files import bounded_json

TOTALS: Final = "cost-state"
MAX_PARSED: Final = 8 << 20
MAX_LINES: Final = 20_000
_SUSPECT: Final = re.compile(rb"cost-state|\\u00")
"""A line without either has no such type: the second begins an escaped ASCII character."""


def without_totals(content: bytes) -> bytes:
    return b"".join(_other_lines(content))


def _other_lines(content: bytes) -> Iterator[bytes]:
    """If more lines may be totals than any conversation has, the rest of the file is left out."""
    position = parsed = lines = 0
    while (suspect := _SUSPECT.search(content, position)) is not None:
        start = content.rfind(b"\n", position, suspect.start()) + 1 or position
        end = content.find(b"\n", suspect.end()) + 1 or len(content)
        parsed, lines = parsed + end - start, lines + 1
        yield content[position:start]
        if parsed > MAX_PARSED or lines > MAX_LINES:
            return
        if not _is_total(content[start:end]):
            yield content[start:end]
        position = end
    yield content[position:]


def _is_total(line: bytes) -> bool:
    try:
        record = bounded_json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        # claude may be able to read what we cannot.
        return True
    return isinstance(record, dict) and record.get("type") == TOTALS
