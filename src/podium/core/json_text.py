"""JSON texts, written by one encoder for many values. `json` makes a new one for each, which takes as long as a small value."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, TypeAlias

WriteJson: TypeAlias = Callable[[Any], str]


def json_writer(*, separators: tuple[str, str], default: Callable[[Any], Any] | None = None) -> WriteJson:
    """A function that writes trees of plain values, without escaping letters; a cycle ends in a RecursionError."""
    encoder = json.JSONEncoder(
        ensure_ascii=False, separators=separators, check_circular=False, default=default
    )
    make = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return encoder.encode
    item, key = separators
    write = make(None, encoder.default, json.encoder.encode_basestring, None, key, item, False, False, True)
    return lambda value: "".join(write(value, 0))


compact_json: Final = json_writer(separators=(",", ":"))
spaced_json: Final = json_writer(separators=(", ", ": "), default=str)
"""For files that people read; a value that is not plain becomes text."""
