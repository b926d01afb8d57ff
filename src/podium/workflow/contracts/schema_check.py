"""What is wrong with a JSON Schema itself, before anybody has worked for an answer that could not be held against it.

A keyword outside of this list would be a promise nobody keeps, so it is a fault of the schema and named as one. Notes
for readers (`title`, `description`, ...) are no promises. `format` is none either: the standard makes it one.
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
    """Why no value can be held against it; None if one can."""
    return next(_faults(schema, schema, 0), None)


def part_of(reference: str, root: Any) -> Any:
    """Where `#/$defs/x` leads to; None if it is not in the schema."""
    head, *names = reference.split("/")
    found = root if head == "#" else None
    for name in names:
        plain = _unquoted(name).replace("~1", "/").replace("~0", "~")
        found = found.get(plain) if isinstance(found, Mapping) else None
    return found


def _unquoted(name: str) -> str:
    """A reference is a URL fragment, in which `%25` is a percent sign."""
    if "%" not in name:
        return name
    from urllib.parse import unquote

    return unquote(name)


def _faults(part: Any, root: Any, depth: int) -> Iterator[str]:
    if isinstance(part, Mapping) and depth <= MAX_DEPTH:
        # Only what is shaped like a schema can be followed further.
        yield from list(_of_keywords(part)) or _of_parts(part, root, depth)
    elif isinstance(part, Mapping):
        yield f"it is nested more than {MAX_DEPTH} deep"
    elif not isinstance(part, bool):
        yield f"{_shown(part)} stands where a map, true or false must"


def _of_parts(part: Mapping[str, Any], root: Any, depth: int) -> Iterator[str]:
    yield from _of_reference(part, root)
    for inner in _inner(part):
        yield from _faults(inner, root, depth + 1)


def _of_keywords(part: Mapping[str, Any]) -> Iterator[str]:
    for key, value in part.items():
        if key in NOTES:
            continue
        fits = SHAPES.get(key)
        if fits is None:
            yield f'it uses "{key}", which Podium cannot check'
        elif not fits(value):
            yield f'"{key}" cannot be {_shown(value)}'
    for pattern in chain((part["pattern"],) if "pattern" in part else (), _keys(part, "patternProperties")):
        try:
            check_pattern(str(pattern))
        except ExprError as error:
            yield str(error)


def _of_reference(part: Mapping[str, Any], root: Any) -> Iterator[str]:
    if "$ref" in part and part_of(part["$ref"], root) is None:
        yield f"it refers to {part['$ref']}, which is not in it"
    elif "$ref" in part and _comes_back(part, root, (), set()):
        yield f"{part['$ref']} leads into itself"


def _comes_back(part: Any, root: Any, trail: tuple[int, ...], done: set[int]) -> bool:
    """Whether the same value would be held against the same part without end."""
    if not isinstance(part, Mapping) or id(part) in done:
        return False
    if id(part) in trail or len(trail) > MAX_DEPTH:
        return True
    reference = part.get("$ref")
    on_the_spot = [part.get("not"), part_of(reference, root) if isinstance(reference, str) else None]
    for key in ("allOf", "anyOf", "oneOf"):
        on_the_spot += part.get(key, ())
    back = any(_comes_back(other, root, (*trail, id(part)), done) for other in on_the_spot)
    done.add(id(part))
    return back


def _inner(part: Mapping[str, Any]) -> Iterator[Any]:
    for key in ("properties", "patternProperties", "$defs", "definitions"):
        yield from part.get(key, {}).values()
    for key in ("items", "additionalProperties", "not"):
        yield from (part[key],) if key in part else ()
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        yield from part.get(key, ())


def _keys(part: Mapping[str, Any], key: str) -> Iterator[str]:
    found = part.get(key)
    return iter(found if isinstance(found, Mapping) else ())


def _shown(value: Any) -> str:
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
    """Looked at as a part of its own."""
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
