"""Walks the steps of a raw document, so that a step named `review` is not taken for the key `review`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from podium.workflow.source.nodes import Node, fields, items

NAMED: Final = frozenset({"steps", "finally", "gates", "team", "roles", "phases", "components"})
"""Keys under which maps stand by name, or in a list."""

SINGLE: Final = frozenset({"design", "component", "build"})
"""Keys under which one such map stands."""


def below(node: Node) -> Iterator[Node]:
    """Every step, gate, role and member of a team below a document or a step."""
    for child in _children(node):
        yield child
        yield from below(child)


def _children(node: Node) -> Iterator[Node]:
    for key, value in fields(node).items():
        if key in NAMED:
            yield from fields(value).values() if isinstance(value.value, Mapping) else items(value)
        elif key in SINGLE:
            yield value


def changed(node: Node, change: Callable[[Node], Node]) -> Node:
    """The document with every map that `below` finds replaced by what `change` makes of it."""
    found = dict(fields(node))
    for key, value in found.items():
        if key in NAMED and isinstance(value.value, Mapping):
            inner = {name: change(changed(child, change)) for name, child in value.value.items()}
            found[key] = replace(value, value=inner)
        elif key in NAMED and isinstance(value.value, tuple):
            found[key] = replace(value, value=tuple(change(changed(child, change)) for child in value.value))
        elif key in SINGLE:
            found[key] = change(changed(value, change))
    return replace(node, value=found) if found else node
