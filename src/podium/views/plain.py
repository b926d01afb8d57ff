"""Text of strangers on one line: agents and commands may say anything, also to a terminal."""

from __future__ import annotations

import json
from typing import Any


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
