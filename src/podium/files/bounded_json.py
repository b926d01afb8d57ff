"""Parses JSON and TOML of others with a bound on the number of values.

A value takes up to a hundred times as much memory as its text: sixteen megabytes of `{},` become more than a gigabyte.
Only what is outside of strings counts, so that a long text is allowed. Of TOML the text is bounded: its parser copies a key for
each of its parts and calls itself for each level.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

MOST_VALUES: Final = 200_000
MOST_LEVELS: Final = 100
MOST_TOML: Final = 512 << 10
"""Characters."""
MOST_DOTS: Final = 500
"""In one line of TOML; a key has fewer."""
# Possessive, and a text without an end ends here as well: it is not tried again in other ways, or from its next quote.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)
_decode: Final = json.JSONDecoder().raw_decode


class TooManyValues(ValueError):
    """The text has more values than are read."""


class TooDeep(ValueError):
    """The value has more levels than are read."""


def loads(text: str | bytes, most: int = MOST_VALUES, **options: Any) -> Any:
    """The value, as `json.loads` gives it. Raises TooManyValues, TooDeep, or what `json.loads` raises."""
    if isinstance(text, bytes):
        text = text.decode("utf-8")
    if len(text) > most and _upper_bound(text) > most and _exceeds(text, most):
        raise TooManyValues(f"it has more than {most} values")
    try:
        if text[:1] == "{" and not options:
            # json.loads also looks for spaces around the value, which takes twice as long for a short line.
            value, end = _decode(text)
            if end == len(text):
                return value
        return json.loads(text, **options)
    except RecursionError:
        raise TooDeep("it is nested too deeply") from None


def loads_toml(text: str) -> dict[str, Any]:
    """The document, as `tomllib.loads` gives it. Raises ValueError."""
    # Slow to import, and most commands read no TOML.
    import tomllib

    if len(text) > MOST_TOML:
        raise ValueError(f"it has more than {MOST_TOML} characters")
    if text.count(".") > MOST_DOTS and any(line.count(".") > MOST_DOTS for line in text.splitlines()):
        raise ValueError(f"a line has more than {MOST_DOTS} dots")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise TooDeep("it is nested too deeply") from None


def storable(value: Any, levels: int = MOST_LEVELS) -> Any:
    """The value without halves of surrogate pairs, which JSON can contain and UTF-8 cannot. Raises TooDeep."""
    if isinstance(value, str):
        return without_lone_surrogates(value)
    if isinstance(value, dict | list) and levels == 0:
        raise TooDeep(f"it is nested more than {MOST_LEVELS} levels deep")
    if isinstance(value, dict):
        return {without_lone_surrogates(key): storable(each, levels - 1) for key, each in value.items()}
    return [storable(each, levels - 1) for each in value] if isinstance(value, list) else value


def without_lone_surrogates(text: str) -> str:
    """The text with a replacement for each half of a surrogate pair: no file, argv or other program could take it."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


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
