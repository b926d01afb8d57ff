"""Raw values that keep the place they were written at, and the rules for merging one value over another.

A document is a tree of nodes. Merging builds new trees from existing nodes, so every value of a merged document
still knows its file and line. Two rules for merging one tree over another differ only in lists:

    merge_appending(base, top)  scalars replace, lists append, maps merge: templates and roles
    merge_replacing(base, top)  scalars and lists replace, maps merge: configuration
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from podium.fast_dataclass import dataclass

Path: TypeAlias = tuple[str | int, ...]
"""The way to a value in a document: keys of maps and indexes of lists."""

Text: TypeAlias = str | int | float | bool | None


class SourceLocation(NamedTuple):
    file: str
    line: int
    col: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value, the place of the value, the place of its key, and the places of other values merged into it."""

    value: Text | tuple[Node, ...] | Mapping[str, Node]
    place: SourceLocation
    key: SourceLocation
    other_places: tuple[SourceLocation, ...] = ()
    source: str | None = None
    """How a number, boolean or null was written: 1.10 is read as 1.1."""


MergeRule: TypeAlias = Callable[[Node, Node], Node]

NO_RULES: Final[Mapping[str, MergeRule]] = MappingProxyType({})

SHORT_FORMS: Final[Mapping[str, str]] = MappingProxyType(
    {"context": "include", "retry": "attempts", "sandbox": "level", "workspace": "mode"}
)
"""Keys whose value may be a map or only the value of one of its keys: `sandbox: none` is `sandbox: {level: none}`."""


def merge_appending(base: Node, top: Node) -> Node:
    if isinstance(base.value, tuple) and isinstance(top.value, tuple):
        present = {_identity(node) for node in base.value}
        new = tuple(node for node in top.value if _identity(node) not in present)
        return replace(top, value=(*base.value, *new))
    return merge_maps(base, top, merge_appending)


def merge_replacing(base: Node, top: Node) -> Node:
    return merge_maps(base, top, merge_replacing)


def keep_top(base: Node, top: Node) -> Node:  # noqa: ARG001 (has the shape of a Join)
    return top


def merge_keys(base: Node, top: Node) -> Node:
    """Merges two maps key by key; a key of `top` replaces the whole value of the same key in `base`."""
    return merge_maps(base, top, keep_top)


def merge_maps(base: Node, top: Node, join: MergeRule, rules: Mapping[str, MergeRule] = NO_RULES) -> Node:
    """Merges two maps, each key by its own rule or by `join`; anything other than two maps is replaced by `top`."""
    if not isinstance(base.value, Mapping) or not isinstance(top.value, Mapping):
        return top
    fields = dict(base.value)
    for key, node in top.value.items():
        if key in fields:
            fields[key] = rules.get(key, join)(*_as_same_form(key, fields[key], node))
        else:
            fields[key] = node
    return with_value(top, fields)


def with_value(node: Node, value: Mapping[str, Node]) -> Node:
    """The node with another map; a fifth of the time of `replace`, and merging does it for each step of a file."""
    return Node(value, node.place, node.key, node.other_places, node.source)


def _as_same_form(key: str, base: Node, top: Node) -> tuple[Node, Node]:
    """Both values as maps if only one is a map and the other its short form."""
    if isinstance(base.value, Mapping) == isinstance(top.value, Mapping):
        return base, top
    return to_long_form(key, base), to_long_form(key, top)


def to_long_form(key: str, node: Node) -> Node:
    """The long form of a short one; a value without a long form, such as the name of a retry preset, is unchanged."""
    short = SHORT_FORMS.get(key)
    is_preset = key == "retry" and isinstance(node.value, str) and "${{" not in node.value
    if short is None or isinstance(node.value, Mapping) or is_preset:
        return node
    return replace(node, value={short: node})


def _identity(node: Node) -> object:
    """Equal texts and numbers count as the same list element; two maps never do."""
    return id(node) if isinstance(node.value, Mapping | tuple) else (type(node.value), node.value)


_NO_FIELDS: Final[Mapping[str, Node]] = MappingProxyType({})
_MAPS: Final = (dict, Mapping)
"""Nearly all maps are dicts, and a test for an abstract class takes five times as long."""


def fields(node: Node | None) -> Mapping[str, Node]:
    """The keys of a map; empty for any other value, which the schema reports."""
    return node.value if node is not None and isinstance(node.value, _MAPS) else _NO_FIELDS


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


def without_keys(node: Node, *keys: str) -> Node:
    keys_and_values = fields(node)
    if not any(key in keys_and_values for key in keys):
        return node
    return replace(node, value={key: value for key, value in keys_and_values.items() if key not in keys})


def with_field(node: Node, key: str, value: Node) -> Node:
    return replace(node, value={**fields(node), key: value})


def plain(node: Node) -> Any:
    """The value without positions, as the YAML loader returns it."""
    if isinstance(node.value, _MAPS):
        return {key: plain(value) for key, value in node.value.items()}
    if isinstance(node.value, tuple):
        return [plain(value) for value in node.value]
    return node.value


def node_from_value(value: Any, place: SourceLocation) -> Node:
    """A tree for values that are not in any file, such as those of the command line."""
    if isinstance(value, Mapping):
        return Node({str(key): node_from_value(item, place) for key, item in value.items()}, place, place)
    if isinstance(value, list | tuple):
        return Node(tuple(node_from_value(item, place) for item in value), place, place)
    return Node(value, place, place)


def nearest_node(root: Node, path: Path) -> tuple[Node, bool]:
    """The node at a path, or its closest ancestor; and whether the node itself was found."""
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
    """Every value below a node that is neither a map nor a list."""
    if isinstance(node.value, Mapping):
        for value in node.value.values():
            yield from scalars(value)
    elif isinstance(node.value, tuple):
        for value in node.value:
            yield from scalars(value)
    else:
        yield node
