"""Walks the steps of a raw document, so that a step named `review` is not mistaken for the key `review`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from podium.workflow.source.nodes import Node, fields, items

COLLECTION_KEYS: Final = frozenset({"steps", "finally", "gates", "team", "roles", "phases", "components"})
"""Keys whose value is a map of steps, gates or roles by name, or a list of them."""

SINGLE_KEYS: Final = frozenset({"design", "component", "build"})
"""Keys whose value is one step."""


def needs_node(step: Node) -> Node | None:
    """The list of steps that a step needs, in either form."""
    needs = fields(step).get("needs")
    return fields(needs).get("of") if isinstance(getattr(needs, "value", None), Mapping) else needs


def nested_parts(node: Node) -> Iterator[Node]:
    """Every step, gate, role and team member below a document or a step."""
    for child in _parts(node):
        yield child
        yield from nested_parts(child)


def _parts(node: Node) -> Iterator[Node]:
    for key, value in fields(node).items():
        if key in COLLECTION_KEYS:
            yield from fields(value).values() if isinstance(value.value, Mapping) else items(value)
        elif key in SINGLE_KEYS:
            yield value


def map_parts(node: Node, change: Callable[[Node], Node]) -> Node:
    """The document with `change` applied to every map that `nested_parts` yields."""
    values = dict(fields(node))
    for key, value in values.items():
        if key in COLLECTION_KEYS and isinstance(value.value, Mapping):
            inner = {name: change(map_parts(child, change)) for name, child in value.value.items()}
            values[key] = replace(value, value=inner)
        elif key in COLLECTION_KEYS and isinstance(value.value, tuple):
            values[key] = replace(
                value, value=tuple(change(map_parts(child, change)) for child in value.value)
            )
        elif key in SINGLE_KEYS:
            values[key] = change(map_parts(value, change))
    return replace(node, value=values) if values else node
