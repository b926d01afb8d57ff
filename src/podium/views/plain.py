"""Makes untrusted text safe to print: on one line, or with all that a terminal would obey or hide spelled out."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final


def one_line(text: str, width: int = 160) -> str:
    """Without line breaks and control signs, and cut to a width."""
    words = " ".join(harmless(text).split())
    return words if len(words) <= width else words[: width - 3].rstrip() + "..."


def harmless(text: str) -> str:
    """Without anything that a terminal would obey."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def as_text(value: Any) -> str:
    """A result of any shape as text: text stays as it is, everything else is JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def spelled(text: str) -> bytes:
    """For a file: half a character, which no file can hold, is spelled out as JSON does."""
    return text.encode("utf-8", "backslashreplace")


def short(tree: str | None) -> str:
    """A tree or commit as people compare it."""
    return "" if tree is None else tree[:10]


def many(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


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
