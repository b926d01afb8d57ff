"""Raw values that remember where they were written, and how one is laid over another.

A document is a tree of nodes. Merging makes new trees out of old nodes, so whatever stands in a merged document
still knows its file and line. Two ways to lay one tree over another differ only in lists:

    added(base, top)     scalars replace, lists append, maps merge: templates and roles
    overlaid(base, top)  scalars and lists replace, maps merge: configuration
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from podium.core.fast_dataclass import dataclass

Path: TypeAlias = tuple[str | int, ...]
"""Leads to a value of a document: keys of maps, indexes of lists."""

Text: TypeAlias = str | int | float | bool | None


class SourceLocation(NamedTuple):
    file: str
    line: int
    col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value, where it stands, where its key stands, and what else had a part in it."""

    value: Text | tuple[Node, ...] | Mapping[str, Node]
    place: SourceLocation
    key: SourceLocation
    also: tuple[SourceLocation, ...] = ()
    source: str | None = None
    """How a number, boolean or null was spelled: 1.10 is 1.1 once it is read."""


Join: TypeAlias = Callable[[Node, Node], Node]

NO_RULES: Final[Mapping[str, Join]] = MappingProxyType({})

SHORT: Final[Mapping[str, str]] = MappingProxyType(
    {"context": "include", "retry": "attempts", "sandbox": "level", "workspace": "mode"}
)
"""Keys whose value may be a map or only its first word: `sandbox: none` is `sandbox: {level: none}`."""


def added(base: Node, top: Node) -> Node:
    if isinstance(base.value, tuple) and isinstance(top.value, tuple):
        present = {_identity(node) for node in base.value}
        new = tuple(node for node in top.value if _identity(node) not in present)
        return replace(top, value=(*base.value, *new))
    return merged(base, top, added)


def overlaid(base: Node, top: Node) -> Node:
    return merged(base, top, overlaid)


def whole(base: Node, top: Node) -> Node:  # noqa: ARG001 (has the shape of a Join)
    return top


def by_key(base: Node, top: Node) -> Node:
    """Maps merge, but what stands under a key is taken whole."""
    return merged(base, top, whole)


def merged(base: Node, top: Node, join: Join, rules: Mapping[str, Join] = NO_RULES) -> Node:
    """Two maps as one, each key by its own rule or by `join`; anything but two maps is replaced."""
    if not isinstance(base.value, Mapping) or not isinstance(top.value, Mapping):
        return top
    fields = dict(base.value)
    for key, node in top.value.items():
        if key in fields:
            fields[key] = rules.get(key, join)(*_alike(key, fields[key], node))
        else:
            fields[key] = node
    return replace(top, value=fields)


def _alike(key: str, base: Node, top: Node) -> tuple[Node, Node]:
    """Both as maps if one is a map and the other its short spelling."""
    if isinstance(base.value, Mapping) == isinstance(top.value, Mapping):
        return base, top
    return lifted(key, base), lifted(key, top)


def lifted(key: str, node: Node) -> Node:
    """The long spelling of a short one; what has none, such as the name of a retry preset, stays."""
    short = SHORT.get(key)
    is_preset = key == "retry" and isinstance(node.value, str) and "${{" not in node.value
    if short is None or isinstance(node.value, Mapping) or is_preset:
        return node
    return replace(node, value={short: node})


def _identity(node: Node) -> object:
    """Texts and numbers are not repeated in a list; two maps are always two things."""
    return id(node) if isinstance(node.value, Mapping | tuple) else (type(node.value), node.value)


def fields(node: Node | None) -> Mapping[str, Node]:
    """The keys of a map; nothing for whatever else stands there, which the schema complains about."""
    return node.value if node is not None and isinstance(node.value, Mapping) else MappingProxyType({})


def items(node: Node | None) -> tuple[Node, ...]:
    """The elements of a list; a single text counts as a list of one."""
    if node is None or node.value is None or isinstance(node.value, Mapping):
        return ()
    return node.value if isinstance(node.value, tuple) else (node,)


def text(node: Node | None) -> str | None:
    return node.value if node is not None and isinstance(node.value, str) else None


def is_text(node: Node | None) -> bool:
    return text(node) is not None


def is_flag(node: Node | None) -> bool:
    return node is not None and isinstance(node.value, bool)


def is_scalar(node: Node) -> bool:
    return not isinstance(node.value, tuple | Mapping)


def is_texts(node: Node | None) -> bool:
    return node is not None and isinstance(node.value, tuple) and all(is_text(item) for item in node.value)


def without(node: Node, *keys: str) -> Node:
    found = fields(node)
    if not any(key in found for key in keys):
        return node
    return replace(node, value={key: value for key, value in found.items() if key not in keys})


def with_field(node: Node, key: str, value: Node) -> Node:
    return replace(node, value={**fields(node), key: value})


def plain(node: Node) -> Any:
    """The value alone, as the loader gives it."""
    if isinstance(node.value, Mapping):
        return {key: plain(value) for key, value in node.value.items()}
    if isinstance(node.value, tuple):
        return [plain(value) for value in node.value]
    return node.value


def planted(value: Any, place: SourceLocation) -> Node:
    """A tree for values that stand in no file, such as those of the command line."""
    if isinstance(value, Mapping):
        return Node({str(key): planted(item, place) for key, item in value.items()}, place, place)
    if isinstance(value, list | tuple):
        return Node(tuple(planted(item, place) for item in value), place, place)
    return Node(value, place, place)


def nearest_node(root: Node, path: Path) -> tuple[Node, bool]:
    """The node a path leads to, or its closest ancestor; and whether it is the node itself."""
    node = root
    for part in path:
        value = node.value
        if isinstance(value, Mapping) and part in value:
            node = value[str(part)]
        elif isinstance(value, tuple) and isinstance(part, int) and 0 <= part < len(value):
            node = value[part]
        else:
            return node, False
    return node, True


def scalars(node: Node) -> Iterator[Node]:
    """Every value below that is neither map nor list."""
    if isinstance(node.value, Mapping):
        for value in node.value.values():
            yield from scalars(value)
    elif isinstance(node.value, tuple):
        for value in node.value:
            yield from scalars(value)
    else:
        yield node
