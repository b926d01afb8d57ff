"""Quotes untrusted text inside a prompt: enclosed as data, and cut in the middle when it is too long."""

from __future__ import annotations

import re


def fence(text: str, label: str = "") -> str:
    """No text contains the fence that is put around it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{label if label.isalnum() else ''}\n{text.removesuffix(chr(10))}\n{ticks}"


def quote_block(text: str, label: str, nonce: str) -> str:
    """Between lines that carry a number which whoever wrote the text cannot have known."""
    end = "" if text.endswith("\n") else "\n"
    return f"-----BEGIN {label} {nonce}-----\n{text}{end}-----END {label} {nonce}-----"


def truncate_middle(text: str, most: int) -> str:
    """The beginning and the end: what was tried stands first, what went wrong stands last."""
    if len(text) <= most:
        return text
    first = most // 4
    left_out = len(text) - most
    return f"{text[:first]}\n[... {left_out} characters left out ...]\n{text[len(text) - (most - first) :]}"


def first_line(text: str, most: int = 160) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= most else line[: most - 3] + "..."
