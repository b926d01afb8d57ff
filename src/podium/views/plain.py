"""Makes untrusted text safe to print: on one line, or with control and invisible characters escaped."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any, Final

STYLE: Final = re.compile(r"\x1b\[[0-9]{1,2}m")
WORD: Final = re.compile(r"( *)([^ ]+)")


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


def wrapped(text: str, width: int | None, *, hang: int = 2, most: int | None = None) -> list[str]:
    """The lines of a text, broken between words at this many columns; with None they are not broken.

    A continued line is indented like its first one and `hang` more. A word that is too long and a command stay whole,
    so that they can be copied. With `most`, the last of so many lines is cut.
    """
    if width is None:
        return text.split("\n")
    lines = [piece for line in text.split("\n") for piece in _broken(line, width, hang)]
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], cut_to_cells(" ".join([lines[most - 1], lines[most].strip()]), width)]
    return lines


def _broken(line: str, width: int, hang: int) -> Iterator[str]:
    is_command = line.lstrip().startswith("podium ")
    if is_command or cells(STYLE.sub("", line)) <= width:
        yield line
        return
    indent = " " * min(len(line) - len(line.lstrip()) + hang, width // 2)
    piece, used = "", 0
    for gap, word in WORD.findall(line):
        size = cells(STYLE.sub("", word))
        if piece.strip() and used + len(gap) + size > width:
            yield piece
            piece, used = indent, len(indent)
        else:
            piece, used = piece + gap, used + len(gap)
        piece, used = piece + word, used + size
    yield piece


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
