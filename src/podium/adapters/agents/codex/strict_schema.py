"""Converts a JSON Schema to the strict dialect of OpenAI's structured outputs, and answers back.

The dialect requires an object at the top, all properties and no others. So an optional property becomes nullable, a map
becomes a list of pairs, and a value that is not an object is wrapped in one. A schema that the dialect cannot express
(any value, a reference, a combination) is not sent; the answer is checked against the contract anyway.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

WRAPPED: Final = "answer"
NULL: Final = {"type": "null"}
SIMPLE: Final = frozenset({"string", "integer", "number", "boolean", "null"})
UNSUPPORTED: Final = frozenset(
    {"$ref", "$dynamicRef", "allOf", "oneOf", "anyOf", "not", "if", "patternProperties"}
)
"""Keywords that the dialect does not have, or that are not worth converting."""


class _Unsupported(Exception):
    """The dialect cannot express the schema."""


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """The schema in the strict dialect; None if it cannot be expressed."""
    try:
        converted = _strict(schema)
    except _Unsupported:
        return None
    return converted if _is_record(schema) else _object({WRAPPED: converted})


def restored(value: Any, schema: Mapping[str, Any]) -> Any:
    """An answer in the strict dialect, converted to the original schema; one that already matches it is unchanged."""
    if not _is_record(schema) and isinstance(value, dict) and set(value) == {WRAPPED}:
        value = value[WRAPPED]
    return _restored(value, schema)


def _strict(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or UNSUPPORTED & set(schema):
        raise _Unsupported
    notes = {key: schema[key] for key in ("description",) if key in schema}
    if "const" in schema or "enum" in schema:
        choices = [schema["const"]] if "const" in schema else list(schema["enum"])
        return {**notes, **_type_of(choices), "enum": choices}
    kind = schema.get("type")
    if _is_record(schema):
        return {**notes, **_record(schema)}
    if _is_map(schema):
        pair = _object({"key": {"type": "string"}, "value": _strict(schema["additionalProperties"])})
        return {**notes, "type": "array", "items": pair}
    if kind == "array" and "prefixItems" not in schema:
        return {**notes, "type": "array", "items": _strict(schema.get("items"))}
    kinds = [kind] if isinstance(kind, str) else list(kind or ())
    if not kinds or not set(kinds) <= SIMPLE:
        raise _Unsupported
    # Bounds are left out, because the answer is validated against the complete schema anyway.
    return {**notes, "type": kinds[0] if len(kinds) == 1 else kinds}


def _is_record(schema: Any) -> bool:
    return isinstance(schema, Mapping) and schema.get("type") == "object" and bool(schema.get("properties"))


def _is_map(schema: Any) -> bool:
    return (
        isinstance(schema, Mapping)
        and schema.get("type") == "object"
        and not schema.get("properties")
        and isinstance(schema.get("additionalProperties"), Mapping)
    )


def _record(schema: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(schema.get("additionalProperties"), Mapping):
        raise _Unsupported
    required = schema.get("required", ())
    parts = {name: _strict(part) for name, part in schema["properties"].items()}
    return _object(
        {name: part if name in required else {"anyOf": [part, dict(NULL)]} for name, part in parts.items()}
    )


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _type_of(choices: list[Any]) -> dict[str, Any]:
    kinds = {"string" if isinstance(choice, str) else None for choice in choices}
    if kinds != {"string"}:
        raise _Unsupported
    return {"type": "string"}


def _restored(value: Any, schema: Any) -> Any:
    if _is_record(schema) and isinstance(value, dict):
        parts, required = schema["properties"], schema.get("required", ())
        return {
            name: _restored(item, parts.get(name))
            for name, item in value.items()
            if item is not None or name in required or _may_be_null(parts.get(name))
        }
    if _is_map(schema):
        return _restored_map(value, schema["additionalProperties"])
    if isinstance(schema, Mapping) and schema.get("type") == "array" and isinstance(value, list):
        return [_restored(item, schema.get("items")) for item in value]
    return value


def _restored_map(value: Any, part: Any) -> Any:
    if isinstance(value, dict):
        return {key: _restored(item, part) for key, item in value.items()}
    if not isinstance(value, list) or not all(_is_pair(item) for item in value):
        return value
    items = {item["key"]: _restored(item["value"], part) for item in value}
    # With a duplicate key the list stays, so that the contract refuses it instead of one value winning.
    return items if len(items) == len(value) else value


def _is_pair(item: Any) -> bool:
    return isinstance(item, dict) and set(item) == {"key", "value"} and isinstance(item["key"], str)


def _may_be_null(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind == "null" or (not isinstance(kind, str) and "null" in (kind or ()))
