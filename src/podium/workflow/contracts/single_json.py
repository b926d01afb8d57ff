"""Reads a whole text as one JSON value. A fence around it is allowed, prose is not: nothing is guessed (R111)."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any, Final

from podium.core.expressions.values import ExprError, Meter, plain
from podium.files import bounded_json

_FENCED: Final = re.compile(r"```(?:json)?[ \t]*\n(.*)```", re.DOTALL)


_BLOCK: Final = re.compile(r"^```([^\n`]*)\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
"""One fenced block of a Markdown text: its language and its content."""


class NotOneValue(ValueError):
    """The text is not exactly one JSON value; the message says where it ends being one."""


def one_json(text: str) -> Any:
    """The value as dicts, lists and scalars within the bounds of expressions. Raises NotOneValue."""
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    source = fenced.group(1) if fenced is not None else stripped
    if not source.strip():
        raise NotOneValue("the answer is empty; it must be exactly one JSON value")
    try:
        value = bounded_json.loads(
            source, object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_whole_number
        )
        return plain(value, Meter())
    except json.JSONDecodeError as error:
        raise NotOneValue(f"the answer is not exactly one JSON value: {_where(error)}") from error
    except (ValueError, ExprError) as error:
        raise NotOneValue(f"the answer is not a JSON value that can be used: {error}") from error


def fenced_json(text: str) -> Any:
    """The value in the only fenced JSON block of a Markdown text (R062). Raises NotOneValue.

    A block without a language counts if none says that it is JSON. Two blocks are refused, because choosing is guessing.
    """
    blocks = [(match[1].strip().lower(), match[2]) for match in _BLOCK.finditer(text.replace("\r\n", "\n"))]
    values = [body for language, body in blocks if language == "json"]
    values = values or [body for language, body in blocks if not language]
    if len(values) != 1:
        raise NotOneValue(f"the answer has {len(values)} fenced JSON values; it must have exactly one")
    return one_json(values[0])


def _where(error: json.JSONDecodeError) -> str:
    place = f"line {error.lineno} column {error.colno}"
    if error.msg == "Extra data":
        return f"there is more text after it, from {place}"
    return f"{error.msg[:1].lower()}{error.msg[1:]} at {place}"


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuses two fields of the same name, because choosing one would be a guess."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        names = Counter(name for name, _ in pairs)
        repeated = next(name for name, count in names.items() if count > 1)
        raise ValueError(f'field "{repeated}" occurs twice')
    return fields


def _whole_number(digits: str) -> int:
    """Python refuses more than 4,300 digits itself, with a hint that does not help here."""
    if len(digits) > 20:
        raise ValueError("a whole number does not fit into 64 bits")
    return int(digits)


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not a JSON number")
