"""Plausible values for a contract: answers that a worker could give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, assert_never

from podium.core.model import Output

Draw = Callable[[str], float]
"""Returns a number between 0 and 1 for a place in the value, always the same for the same place."""


def middle(_: str) -> float:
    return 0.5


def example_of(output: Output, text: str, draw: Draw = middle) -> Any:
    """An answer that satisfies the contract."""
    match output.kind:
        case "text":
            return text
        case "lines":
            return [f"{text} {number}" for number in range(1, 1 + _count(draw("lines")))]
        case "json":
            return []
        case "choice":
            return output.choices[int(draw("choice") * len(output.choices))]
        case "schema":
            return example(output.schema or {}, text, draw)
        case _:
            assert_never(output.kind)


def example(schema: Mapping[str, Any], text: str, draw: Draw = middle, place: str = "") -> Any:
    """A value that is valid for a JSON Schema made from shorthand."""
    if "enum" in schema:
        choices = schema["enum"]
        return choices[int(draw(place) * len(choices))]
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            return _example_object(schema, text, draw, place)
        case "array":
            number = max(_count(draw(place)), int(schema.get("minItems", 0)))
            items = schema.get("items", {"type": "string"})
            return [example(items, f"{text} {i}", draw, f"{place}[{i}]") for i in range(1, number + 1)]
        case "integer":
            return _example_number(schema, draw(place))
        case "number":
            return float(_example_number(schema, draw(place)))
        case "boolean":
            return draw(place) < 0.5
        case "null":
            return None
        case _:
            return text


def _example_object(schema: Mapping[str, Any], text: str, draw: Draw, place: str) -> dict[str, Any]:
    required = schema.get("required", ())
    values_by_name = {
        # Names of other components cannot be invented: an invented need would never be met.
        name: [] if name == "needs" else example(inner, f"{text} {name}", draw, f"{place}.{name}")
        for name, inner in schema.get("properties", {}).items()
        if name in required
    }
    if schema.get("title") == "Implementation":
        # An invented report says that the work is done; a cast or chance decides about failures.
        values_by_name |= {"status": "done", "blockers": []}
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping) and not values_by_name:
        values_by_name["first"] = example(values, f"{text} first", draw, f"{place}.first")
    return values_by_name


def _example_number(schema: Mapping[str, Any], share: float) -> int:
    low = int(schema.get("minimum", 1))
    high = int(schema.get("maximum", max(low, 10)))
    return low + int(share * (high - low + 1))


def _count(share: float) -> int:
    return 1 + int(share * 3)
