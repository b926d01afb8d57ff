"""Adds texts to a list in a YAML file and leaves every other byte as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from podium.workflow.source.yaml import Loader


def add_to_list(text: str, path: Sequence[str], key: str, values: Sequence[str]) -> str | None:
    """The text with the values at the end of the list `key` of the map at `path`, which is added if it is not there.

    None if the map does not exist, or if the key has something other than a list.
    """
    node = yaml.compose(text, Loader=Loader)
    for name in path:
        node = _entry(node, name)
    if not isinstance(node, yaml.MappingNode) or not node.value:
        return None
    existing = _entry(node, key)
    if existing is None:
        return _with_key(text, node, f"{key}: [{', '.join(values)}]")
    if isinstance(existing, yaml.SequenceNode):
        return _with_items(text, existing, values)
    return None


def _entry(node: Any, key: str) -> Any:
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _with_key(text: str, node: yaml.MappingNode, entry: str) -> str:
    at = _end(text, node.value[-1][1])
    if node.flow_style:
        return f"{text[:at]}, {entry}{text[at:]}"
    at = _end_of_line(text, at)
    indent = " " * node.value[0][0].start_mark.column
    return f"{text[:at]}{_line_break(text)}{indent}{entry}{text[at:]}"


def _with_items(text: str, node: yaml.SequenceNode, values: Sequence[str]) -> str:
    if node.flow_style:
        at = _end(text, node.value[-1]) if node.value else node.start_mark.index + 1
        comma = ", " if node.value else ""
        return f"{text[:at]}{comma}{', '.join(values)}{text[at:]}"
    at = _end_of_line(text, _end(text, node.value[-1]))
    indent = " " * node.start_mark.column
    items = "".join(f"{_line_break(text)}{indent}- {value}" for value in values)
    return f"{text[:at]}{items}{text[at:]}"


def _end(text: str, node: Any) -> int:
    """Where a value really ends; the parser lets maps, lists and long texts reach to what follows them."""
    while isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        node = last[1] if isinstance(node, yaml.MappingNode) else last
    at: int = node.end_mark.index
    return len(text[:at].rstrip()) if getattr(node, "style", None) in ("|", ">") else at


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _line_break(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
