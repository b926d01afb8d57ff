"""JSON texts of many small values, written and read at half the cost of `json.dumps` and `json.loads`.

`json` makes a new encoder for each value, and looks for white space around each text; both take as long as the value of an
event.
"""

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

_scan: Final = json.JSONDecoder().scan_once  # type: ignore[attr-defined]  # typeshed leaves it out


def read_json(text: str) -> Any:
    """The value of a text, which may have nothing else in it but white space; raises ValueError."""
    if not text.startswith("{"):
        return json.loads(text)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        return json.loads(text)  # It raises what describes the fault.
    return value if end == len(text) else json.loads(text)
