"""Text of strangers as it may stand on a terminal: whatever a terminal would obey, or hide, is written out.

Without the standard library's heavier modules: every command has it, also the fastest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

SUSPECT: Final = re.compile(r"\x1b\[[0-9]{1,2}m|[^\x20-\x7e\n\t]")
LINE_ENDS: Final = "\x85\u2028\u2029"


def visible(text: str, *, but: Sequence[str] = ()) -> str:
    r"""Control signs as ^[, others that are not shown as \u202e; lines, tabs and the sequences of `but` stay.

    JSON stays what it was: it has control signs as escapes already, and reads the others as the same.
    """
    return SUSPECT.sub(lambda found: _written_out(found[0], but), text)


def _written_out(signs: str, but: Sequence[str]) -> str:
    if signs in but:
        return signs
    first, rest = signs[0], signs[1:]
    if first < " ":
        return f"^{chr(ord(first) + 64)}{rest}"
    if first.isprintable() or (first.isspace() and first not in LINE_ENDS):
        return first
    units = first.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
