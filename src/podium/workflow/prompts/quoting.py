"""Quotes untrusted text inside a prompt: fenced as data, and truncated in the middle if it is too long."""

from __future__ import annotations

import re


def fence(text: str, label: str = "") -> str:
    """The text inside a fence that is longer than any fence in the text."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{label if label.isalnum() else ''}\n{text.removesuffix(chr(10))}\n{ticks}"


class OutsideText(str):
    """A text from outside of the project; a prompt inserts it as a quotation on lines of its own."""

    __slots__ = ("nonce",)
    nonce: str
    """A number for the lines around it; if it is empty, the text is fenced."""

    def quoted(self) -> str:
        block = quote_block(self, "input", self.nonce) if self.nonce else fence(self)
        return f"\n{block}\n"


def quote_block(text: str, label: str, nonce: str) -> str:
    """The text between marker lines with a number that the author of the text cannot have known."""
    end = "" if text.endswith("\n") else "\n"
    return f"-----BEGIN {label} {nonce}-----\n{text}{end}-----END {label} {nonce}-----"


def truncate_middle(text: str, max_chars: int) -> str:
    """Keeps the beginning, which has the command, and the end, which has the error."""
    if len(text) <= max_chars:
        return text
    first = max_chars // 4
    omitted = len(text) - max_chars
    return (
        f"{text[:first]}\n[... {omitted} characters left out ...]\n{text[len(text) - (max_chars - first) :]}"
    )


def first_line(text: str, max_chars: int = 160) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= max_chars else line[: max_chars - 3] + "..."
