"""Checks a JSON Schema itself, before an agent works for an answer that could not be validated against it.

A keyword outside this list would silently not be checked, so it is reported as a fault of the schema. Annotations
(`title`, `description`, ...) are allowed, and so is `format`, which the standard defines as an annotation.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain
from typing import Any, Final

from podium.core.expressions.regex import check_pattern
from podium.core.expressions.values import ExprError

MAX_DEPTH: Final = 100
TYPES: Final = ("object", "array", "string", "integer", "number", "boolean", "null")
NOTES: Final = frozenset(
    "$schema $id $comment title description default examples deprecated readOnly writeOnly format x-order".split()
)


def schema_fault(schema: Any) -> str | None:
    """Why no value can be validated against the schema; None if it is usable."""
    return next(_faults(schema, schema, 0), None)


def part_of(reference: str, root: Any) -> Any:
    """The part of the schema that `#/$defs/x` names; None if it does not exist."""
    head, *names = reference.split("/")
    part = root if head == "#" else None
    for name in names:
        plain = _unquote(name).replace("~1", "/").replace("~0", "~")
        part = part.get(plain) if isinstance(part, Mapping) else None
    return part


def _unquote(name: str) -> str:
    """A reference is a URL fragment, in which `%25` is a percent sign."""
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name)


def _faults(part: Any, root: Any, depth: int) -> Iterator[str]:
    if isinstance(part, Mapping) and depth <= MAX_DEPTH:
        # Only parts with valid keywords can be followed further.
        yield from list(_keyword_faults(part)) or _part_faults(part, root, depth)
    elif isinstance(part, Mapping):
        yield f"it is nested more than {MAX_DEPTH} deep"
    elif not isinstance(part, bool):
        yield f"expected a map, true or false, got {_preview(part)}"


def _part_faults(part: Mapping[str, Any], root: Any, depth: int) -> Iterator[str]:
    yield from _reference_faults(part, root)
    for inner in _subschemas(part):
        yield from _faults(inner, root, depth + 1)


def _keyword_faults(part: Mapping[str, Any]) -> Iterator[str]:
    for key, value in part.items():
        if key in NOTES:
            continue
        fits = SHAPES.get(key)
        if fits is None:
            yield f'it uses "{key}", which Podium cannot check'
        elif not fits(value):
            yield f'"{key}" cannot be {_preview(value)}'
    for pattern in chain(
        (part["pattern"],) if "pattern" in part else (), _keys_under(part, "patternProperties")
    ):
        try:
            check_pattern(str(pattern))
        except ExprError as error:
            yield str(error)


def _reference_faults(part: Mapping[str, Any], root: Any) -> Iterator[str]:
    if "$ref" in part and part_of(part["$ref"], root) is None:
        yield f"it refers to {part['$ref']}, which is not in it"
    elif "$ref" in part and _is_cyclic(part, root, (), set()):
        yield f"{part['$ref']} refers to itself"


def _is_cyclic(part: Any, root: Any, trail: tuple[int, ...], done: set[int]) -> bool:
    """Whether the same value would be validated against the same part without end."""
    if not isinstance(part, Mapping) or id(part) in done:
        return False
    if id(part) in trail or len(trail) > MAX_DEPTH:
        return True
    reference = part.get("$ref")
    same_value_parts = [part.get("not"), part_of(reference, root) if isinstance(reference, str) else None]
    for key in ("allOf", "anyOf", "oneOf"):
        same_value_parts += part.get(key, ())
    is_cyclic = any(_is_cyclic(other, root, (*trail, id(part)), done) for other in same_value_parts)
    done.add(id(part))
    return is_cyclic


def _subschemas(part: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        yield from part.get(key, {}).values()
    for key in ("items", "additionalProperties", "not"):
        yield from (part[key],) if key in part else ()
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from part.get(key, ())


def _keys_under(part: Mapping[str, Any], key: str) -> Iterator[str]:
    value = part.get(key)
    return iter(value if isinstance(value, Mapping) else ())


def _preview(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 60 else text[:57] + "..."


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    """JSON Schema counts 2.0 as an integer."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 and value == int(value)
    )


def _is_map(value: Any) -> bool:
    return isinstance(value, Mapping)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _are_types(value: Any) -> bool:
    return _is_list(value) and bool(value) and all(word in TYPES for word in value)


def _is_any(_value: Any) -> bool:
    """Accepts any value; it is checked as a part of its own."""
    return True


SHAPES: Final[Mapping[str, Callable[[Any], bool]]] = {
    "$ref": lambda value: isinstance(value, str),
    "$defs": _is_map,
    "definitions": _is_map,
    "type": lambda value: value in TYPES if isinstance(value, str) else _are_types(value),
    "enum": _is_list,
    "const": _is_any,
    "required": lambda value: _is_list(value) and all(isinstance(name, str) for name in value),
    "properties": _is_map,
    "patternProperties": _is_map,
    "additionalProperties": _is_any,
    "items": _is_any,
    "prefixItems": _is_list,
    "uniqueItems": lambda value: isinstance(value, bool),
    **dict.fromkeys(
        ("minProperties", "maxProperties", "minItems", "maxItems", "minLength", "maxLength"), _is_count
    ),
    "pattern": lambda value: isinstance(value, str),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("anyOf", "oneOf", "allOf"), _is_list),
    "not": _is_any,
}
