"""The file with which a person has logged in to a vendor: opaque, but for what in it must never be seen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

SECRET: Final = 20
"""Characters: tokens are longer, and what is shorter are names and dates."""


def long_texts(content: bytes) -> tuple[str, ...]:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        # Not the file it should be. Hidden line by line, for it may still be a secret.
        found = content.decode("utf-8", "replace").split()
    return tuple(dict.fromkeys(text for text in _texts(found) if len(text) >= SECRET))


def _texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case _:
            pass
