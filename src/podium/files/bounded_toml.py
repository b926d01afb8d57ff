"""Parses TOML of others with a bound on its length, on the parts of a key and on its depth.

The parser of the standard library copies a key for each of its parts and calls itself for each level.
"""

from __future__ import annotations

import tomllib
from typing import Any, Final

MOST_CHARACTERS: Final = 512 << 10
MOST_DOTS: Final = 500
"""In one line; a key has fewer."""


def loads(text: str) -> dict[str, Any]:
    """The document, as `tomllib.loads` gives it. Raises ValueError."""
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"it has more than {MOST_CHARACTERS} characters")
    if text.count(".") > MOST_DOTS and any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has more than {MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
