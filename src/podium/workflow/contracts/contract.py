"""The output contract: what was answered, as a value; exactly one JSON value or text, never guessed from prose (R111)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, assert_never

from podium.core.expressions.values import MAX_ELEMENTS, ExprError, Meter, plain
from podium.core.model import Output
from podium.workflow.contracts.single_json import NotOneValue, one_json

Structured = tuple[bool, Any]
"""Whether there is exactly one JSON value where the answer stands, and which; null is one."""


@dataclass(frozen=True, slots=True)
class Value:
    value: Any


@dataclass(frozen=True, slots=True)
class OutputFault:
    """`malformed`: the answer could not be read at all; asking again may be enough. Else it says the wrong thing."""

    message: str
    malformed: bool = True


def read_json(text: str) -> Value | OutputFault:
    try:
        return Value(one_json(text))
    except NotOneValue as error:
        return OutputFault(str(error))


def value_of(output: Output, text: str, structured: Structured) -> Value | OutputFault:
    """What `steps.X.output` holds, if the answer keeps to the contract."""
    match output.kind:
        case "text":
            return Value(text)
        case "lines":
            return _lines(text)
        case "json":
            return _json(text, structured)
        case "choice":
            word = text.strip()
            wanted = ", ".join(output.choices)
            return (
                Value(word) if word in output.choices else OutputFault(f"the answer is not one of {wanted}")
            )
        case "schema":
            found = _json(text, structured)
            return found if isinstance(found, OutputFault) else _checked(found.value, output)
        case _:
            assert_never(output.kind)


def _lines(text: str) -> Value | OutputFault:
    rows = text.replace("\r\n", "\n").split("\n")
    rows = rows[:-1] if rows[-1] == "" else rows
    if len(rows) > MAX_ELEMENTS:
        return OutputFault(
            f"the answer has {len(rows)} lines; at most {MAX_ELEMENTS} can be used", malformed=False
        )
    return Value(rows)


def _json(text: str, structured: Structured) -> Value | OutputFault:
    there, value = structured
    try:
        found = Value(plain(value, Meter())) if there else read_json(text)
        json.dumps(found.value if isinstance(found, Value) else None, ensure_ascii=False).encode()
    except ExprError as error:
        return OutputFault(f"the answer is not a JSON value that can be used: {error}")
    except UnicodeEncodeError:
        return OutputFault("the answer holds half a surrogate pair, which is no text")
    return found


def _checked(value: Any, output: Output) -> Value | OutputFault:
    return checked(value, output.schema or {}, output.schema_name or "the declared shape")


def checked(value: Any, schema: Any, name: str) -> Value | OutputFault:
    # Only where a schema is declared is the validator needed.
    from podium.workflow.contracts.json_schema import UnusableSchema, faults_of

    try:
        faults = faults_of(value, schema)
    except UnusableSchema as error:
        return OutputFault(f"{name} is not a usable JSON Schema: {error}", malformed=False)
    if not faults:
        return Value(value)
    return OutputFault(f"the answer is not {name}:\n" + "\n".join(f"- {fault}" for fault in faults))
