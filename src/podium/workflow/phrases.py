"""How messages say several things at once."""

from __future__ import annotations

from collections.abc import Sequence


def listed(words: Sequence[str], last: str) -> str:
    """`a, b or c`."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
