"""Foreign text as data inside a text for an agent."""

from __future__ import annotations

import re


def fence(text: str, label: str = "") -> str:
    """No text contains the fence that is put around it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{label if label.isalnum() else ''}\n{text.removesuffix(chr(10))}\n{ticks}"
