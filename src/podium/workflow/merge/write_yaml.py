"""Writes a merged document as a workflow file: block style, one form per value.

Loading the text gives the same value again, so the printed document is the one that runs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from podium.workflow.merge.merge import Merged
from podium.workflow.source.nodes import Node, SourceLocation, fields, is_scalar, items, with_field

Note: TypeAlias = Callable[[SourceLocation, Node], str]

INDENT: Final = "  "

PLAIN: Final = re.compile(
    r"[A-Za-z_./$][A-Za-z0-9_./*+$@=-]*(?: [A-Za-z0-9_./*+$@=(-][A-Za-z0-9_./*+$@=(),-]*)*"
)
"""Texts that no YAML reader reads as anything else."""

MEASURE: Final = re.compile(r"(?:[0-9]+[dhms])+|[0-9]+[kM%]")

KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")

TYPED_WORDS: Final = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n", "~"})
"""Words that some YAML readers convert to a boolean or null."""

SIGNS: Final = frozenset("?,:[]{}#")
"""Characters that need quotes inside brackets."""

WIDTH: Final = 100
INLINE: Final = 4
"""The maximum number of keys in a map on one line."""

ESCAPES: Final = {"\n": "\\n", "\t": "\\t", '"': '\\"', "\\": "\\\\"}


def write_merged(merged: Merged, *, origin: bool = False) -> str:
    """The document as text; with `origin`, every key and element is followed by the place it was written at."""
    lines = _map_lines(merged.root, "", _origin if origin else _no_note)
    return "".join(f"{line}\n" for line in lines) or "{}\n"


def write_document(root: Node) -> str:
    """A document in the usual style: short lists and maps of scalars are written on one line."""
    return "".join(f"{line}\n" for line in _map_lines(root, "", _no_note_inline)) or "{}\n"


def standalone(merged: Merged) -> Merged:
    """The document as a file of its own: each role replaces what it would inherit from the same role elsewhere."""
    roles = fields(merged.root).get("roles")
    if roles is None:
        return merged
    complete = {name: _with_replace(role) for name, role in fields(roles).items()}
    return replace(merged, root=with_field(merged.root, "roles", replace(roles, value=complete)))


def _with_replace(role: Node) -> Node:
    """A role that names its lists, maps and `system` under `replace`; they would be appended, scalars are replaced anyway."""
    appended = [key for key, node in fields(role).items() if key == "system" or not is_scalar(node)]
    keys = tuple(Node(key, role.place, role.key) for key in appended)
    return with_field(role, "replace", Node(keys, role.place, role.key)) if keys else role


def _map_lines(node: Node, indent: str, note: Note) -> Iterator[str]:
    for key, value in fields(node).items():
        yield from _entry(f"{indent}{_key(key)}:", value, indent + INDENT, note)


def _list_lines(node: Node, indent: str, note: Note) -> Iterator[str]:
    for value in items(node):
        if not fields(value):
            yield from _entry(f"{indent}-", value, indent + INDENT, note)
            continue
        first, *following = _map_lines(value, indent + INDENT, note)
        yield f"{indent}- {first.lstrip()}"
        yield from following


def _entry(head: str, node: Node, indent: str, note: Note) -> Iterator[str]:
    """The lines of a value under a key or a dash, beginning with `head`; further lines are indented by `indent`."""
    inline = _inline(node) if note is _no_note_inline else None
    if inline is not None and len(head) + len(inline) < WIDTH:
        yield f"{head} {inline}"
    elif isinstance(node.value, Mapping):
        yield f"{head}{'' if node.value else ' {}'}{note(node.key, node)}"
        yield from _map_lines(node, indent, note)
    elif isinstance(node.value, tuple):
        yield f"{head}{'' if node.value else ' []'}{note(node.key, node)}"
        yield from _list_lines(node, indent, note)
    elif isinstance(node.value, str) and _is_block(node.value):
        end = "" if node.value.endswith("\n") else "-"
        yield f"{head} |{end}{note(node.place, node)}"
        yield from (indent + line if line else "" for line in node.value.removesuffix("\n").split("\n"))
    else:
        yield f"{head} {_scalar(node.value)}{note(node.place, node)}"


def _inline(node: Node) -> str | None:
    """A list of scalars, or a small map of them, in brackets."""
    if isinstance(node.value, tuple) and node.value and not any(map(_is_nested, node.value)):
        return f"[{', '.join(_flow(item.value) for item in node.value)}]"
    if isinstance(node.value, Mapping) and 0 < len(node.value) <= INLINE:
        inner = {
            key: _inline(item) or _flow(item.value) for key, item in node.value.items() if _is_flat(item)
        }
        if len(inner) == len(node.value):
            return f"{{{', '.join(f'{_key(key)}: {value}' for key, value in inner.items())}}}"
    return None


def _is_nested(node: Node) -> bool:
    return isinstance(node.value, Mapping | tuple) or (isinstance(node.value, str) and "\n" in node.value)


def _is_flat(node: Node) -> bool:
    return not _is_nested(node) or (isinstance(node.value, tuple) and _inline(node) is not None)


def _flow(value: object) -> str:
    if isinstance(value, str) and set(value) & SIGNS:
        return _quoted(value)
    return _scalar(value)


def _origin(place: SourceLocation, node: Node) -> str:
    return f"  # {', '.join(map(str, dict.fromkeys((*node.other_places, place))))}"


def _no_note_inline(place: SourceLocation, node: Node) -> str:  # noqa: ARG001 (has the shape of a Note)
    return ""


def _no_note(place: SourceLocation, node: Node) -> str:  # noqa: ARG001 (has the shape of a Note)
    return ""


def _key(key: str) -> str:
    return key if KEY.fullmatch(key) and (key == "on" or not _is_typed(key)) else _quoted(key)


def _scalar(value: object) -> str:
    if isinstance(value, str):
        is_plain = (PLAIN.fullmatch(value) and not _is_typed(value)) or MEASURE.fullmatch(value)
        return value if is_plain else _quoted(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value).replace("inf", ".inf").replace("nan", ".nan")


def _is_typed(text: str) -> bool:
    return text.lower() in TYPED_WORDS or text.startswith(".")


def _is_block(text: str) -> bool:
    """Whether a text can be written as a block, line by line; any other text is quoted."""
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and all(line == "" or line.strip() != "" for line in lines)
        and not lines[0].startswith((" ", "\t"))
        and lines[0] != ""
        and lines[-1] != ""
        and all(character == "\n" or character.isprintable() for character in text)
    )


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in ESCAPES:
        return ESCAPES[character]
    if character.isprintable():
        return character
    return f"\\U{ord(character):08x}"
