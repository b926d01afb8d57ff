"""Reads an answer from the JSON object that a program prints, by the paths that the user names (R061).

    fields: {text: result, input: usage.input_tokens, output: usage.output_tokens, session: session_id}

A path names keys separated by dots; a number is a position in a list.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from podium.files import bounded_json


class MissingField(ValueError):
    """The output is not a JSON object, or lacks the field with the answer."""


def envelope_of(output: str, paths: Mapping[str, str]) -> dict[str, Any]:
    """The object as an envelope of Podium's own; a field that the object lacks is left out, except the text."""
    try:
        value = bounded_json.loads(output)
    except (ValueError, RecursionError) as error:
        raise MissingField(f"its output is not one JSON object: {error}") from error
    values = {name: at_path(value, path) for name, path in paths.items()}
    picked = {name: item for name, item in values.items() if item is not None}
    if not isinstance(picked.get("text"), str):
        raise MissingField(f'its output has no text at "{paths.get("text", "")}"')
    usage = {name: picked.pop(name) for name in ("input", "output", "cached") if name in picked}
    return {"podium": 1, **picked, **({"usage": usage} if usage else {})}


def at_path(value: Any, path: str) -> Any:
    """The value at a path, or None."""
    for word in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(word)
        elif isinstance(value, list) and word.isdecimal() and int(word) < len(value):
            value = value[int(word)]
        else:
            return None
    return value
