"""Makes untrusted text safe to print: on one line, or with control and invisible characters escaped."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final


def one_line(text: str, width: int = 160) -> str:
    """The text without line breaks and control characters, truncated to a width."""
    words = " ".join(harmless(text).split())
    return words if len(words) <= width else words[: width - 3].rstrip() + "..."


def harmless(text: str) -> str:
    """The text without control characters."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " for char in text)


def cut_to_cells(text: str, width: int, mark: str = "...") -> str:
    """The text in at most this many columns of a terminal, with a mark where it was cut."""
    if cells(text) <= width:
        return text
    room, end = max(0, width - len(mark)), 0
    for char in text:
        room -= _cell(char)
        if room < 0:
            break
        end += 1
    return f"{text[:end]}{mark}"[: max(0, width)]


def cells(text: str) -> int:
    """How many columns of a terminal a printable text takes."""
    return len(text) if text.isascii() else sum(map(_cell, text))


def _cell(char: str) -> int:
    if char.isascii():
        return 1
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1


def as_text(value: Any) -> str:
    """A result as text: text is unchanged, any other value becomes JSON."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def encode_utf8(text: str) -> bytes:
    """The text as UTF-8 for a file; lone surrogates, which UTF-8 cannot encode, are escaped."""
    return text.encode("utf-8", "backslashreplace")


def short_id(tree: str | None) -> str:
    """The first characters of a tree or commit id, enough to compare by eye."""
    return "" if tree is None else tree[:10]


SUSPECT: Final = re.compile(r"\x1b\[[0-9]{1,2}m|[^\x20-\x7e\n\t]")
LINE_ENDS: Final = "\x85\u2028\u2029"


def visible(text: str, *, but: Sequence[str] = ()) -> str:
    r"""Control characters as ^[ and other invisible ones as \u202e; line ends, tabs and the sequences in `but` stay.

    JSON keeps its meaning: it contains no raw control characters, and the other escapes are valid in it.
    """
    return SUSPECT.sub(lambda match: _escape(match[0], but), text)


def _escape(sequence: str, but: Sequence[str]) -> str:
    if sequence in but:
        return sequence
    first, tail = sequence[0], sequence[1:]
    if first < " ":
        return f"^{chr(ord(first) + 64)}{tail}"
    if first.isprintable() or (first.isspace() and first not in LINE_ENDS):
        return first
    units = first.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
