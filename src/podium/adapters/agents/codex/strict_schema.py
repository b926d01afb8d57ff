"""A JSON Schema in the strict dialect of OpenAI's structured outputs, and answers in it turned back.

That dialect wants an object at the top, every property required and none besides. So an optional property becomes one
that may be null, a map becomes a list of pairs, and what is no object stands in one. What such a schema cannot say
(any value at all, a reference, a combination) is not asked for in it: the contract holds without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

WRAPPED: Final = "answer"
NULL: Final = {"type": "null"}
SIMPLE: Final = frozenset({"string", "integer", "number", "boolean", "null"})
BEYOND: Final = frozenset(
    {"$ref", "$dynamicRef", "allOf", "oneOf", "anyOf", "not", "if", "patternProperties"}
)
"""Keywords that change what a schema accepts in ways the dialect has no words for, or that are not worth them here."""


class _Beyond(Exception):
    """The dialect cannot say it."""


def strict(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where the dialect has no words for it."""
    try:
        found = _strict(schema)
    except _Beyond:
        return None
    return found if _is_record(schema) else _object({WRAPPED: found})


def restored(value: Any, schema: Mapping[str, Any]) -> Any:
    """What was answered in the strict dialect, in the shape that was asked for; what has that shape stays."""
    if not _is_record(schema) and isinstance(value, dict) and set(value) == {WRAPPED}:
        value = value[WRAPPED]
    return _restored(value, schema)


def _strict(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, Mapping) or BEYOND & set(schema):
        raise _Beyond
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
        raise _Beyond
    # Bounds are left out: the answer is held against the whole schema anyway.
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
        raise _Beyond
    required = schema.get("required", ())
    made = {name: _strict(part) for name, part in schema["properties"].items()}
    return _object(
        {name: part if name in required else {"anyOf": [part, dict(NULL)]} for name, part in made.items()}
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
        raise _Beyond
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
    found = {item["key"]: _restored(item["value"], part) for item in value}
    # Two pairs of one key would be a choice that nobody made: the list stays, and the contract refuses it.
    return found if len(found) == len(value) else value


def _is_pair(item: Any) -> bool:
    return isinstance(item, dict) and set(item) == {"key", "value"} and isinstance(item["key"], str)


def _may_be_null(schema: Any) -> bool:
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    return kind == "null" or (not isinstance(kind, str) and "null" in (kind or ()))
