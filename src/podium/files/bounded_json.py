"""Parses JSON of others with a bound on the number of its values.

A value takes up to a hundred times as much memory as its text: sixteen megabytes of `{},` become more than a gigabyte.
Only what is outside of strings counts, so that a long text is allowed.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

MOST_VALUES: Final = 200_000
# Possessive, and a text without an end ends here as well: it is not tried again in other ways, or from its next quote.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)
_decode: Final = json.JSONDecoder().raw_decode


class TooManyValues(ValueError):
    """The text has more values than are read."""


def loads(text: str | bytes, most: int = MOST_VALUES, **options: Any) -> Any:
    """The value, as `json.loads` gives it. Raises TooManyValues, or what `json.loads` raises."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if len(text) > most and _upper_bound(text) > most and _exceeds(text, most):
        raise TooManyValues(f"it has more than {most} values")
    if text[:1] == "{" and not options:
        # json.loads also looks for spaces around the value, which takes twice as long for a short line.
        value, end = _decode(text)
        if end == len(text):
            return value
    return json.loads(text, **options)


def _upper_bound(text: str) -> int:
    """Also counts what is in strings; fast, because most texts are below the bound."""
    return text.count(",") + text.count("[") + text.count("{")


def _exceeds(text: str, most: int) -> bool:
    # Strings are bounded as well: between two of them is at least a comma.
    values = 0
    for match in _TOKEN.finditer(text):
        values += match[0][0] != '"'
        if values > most:
            return True
    return False
