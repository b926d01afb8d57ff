"""Every text of a step, a gate or a role with its kind: an expression, a value, a prompt, a script, or plain text.

The tables give the kind by key. A key in no table has values: literal text with `${{ }}` inserts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.schema.parts import DocPath

Kind: TypeAlias = Literal["expression", "value", "template", "script", "plain"]

EXPRESSIONS: Final = frozenset({"when", "check", "until", "while", "where", "key", "in", "for_each"})
TEMPLATES: Final = frozenset({"prompt", "system", "human", "degrade"})
PLAIN: Final = frozenset(
    "description log name needs of notify secrets runs_on phrase approve verdict choice fallback candidates asks tools approve_tools network"
    " as workflow after before strengths strategy extends replace gates shell on schema choices carry cancel continue_as driver".split()
)
"""Keys whose texts are used as written."""

PATHS: Final = frozenset(
    "dir stdin junit touches protect workflow build copy file files folder save may_change report include always exclude"
    " context"
    " schema show tests".split()
)
"""Keys whose texts are, or may be, paths or globs."""

NESTED_KEYS: Final = frozenset({"steps", "design", "component", "phases"})
"""Keys whose contents are handled in their own place."""

VALUE_KEYS: Final = frozenset({"with", "set"})
"""Keys below which every text is a value, whatever its key."""


_ROUTE_KEYS: Final[Mapping[str, tuple[Kind, str]]] = {
    "when": ("expression", "when"),
    "feedback": ("value", "feedback"),
    "to": ("plain", "to"),
    "start": ("plain", "start"),
}
"""The keys of a route; the others have a message."""


@dataclass(frozen=True, slots=True)
class TextField:
    """`top` is the key of the step around the text, `key` the nearest key, `gate` the path of the gate around it."""

    path: DocPath
    text: str
    kind: Kind
    key: str
    top: str
    gate: DocPath | None = None

    @property
    def is_path(self) -> bool:
        return self.key in PATHS


def text_fields(data: Mapping[str, Any], path: DocPath, broken: frozenset[DocPath]) -> Iterator[TextField]:
    """All texts of a map; `broken` are paths that were already reported and omitted."""
    for key, value in data.items():
        if key not in NESTED_KEYS:
            yield from _Reader(str(key), broken).read(value, (*path, key), str(key))


@dataclass(frozen=True, slots=True)
class _Reader:
    top: str
    broken: frozenset[DocPath]
    gate: DocPath | None = None

    def read(self, value: Any, path: DocPath, key: str) -> Iterator[TextField]:
        if path in self.broken:
            return
        if isinstance(value, str):
            yield TextField(path, value, self.kind_of(path, key), key, self.top, self.gate)
        elif isinstance(value, list):
            yield from self._list(value, path, key)
        elif isinstance(value, Mapping):
            yield from self._map(value, path, key)

    def kind_of(self, path: DocPath, key: str) -> Kind:
        if key in VALUE_KEYS:
            return "value"
        if (self.top, key) == ("team", "until"):
            return "plain"  # The word by which a person ends a conversation.
        if self.top == "workflow":
            return "plain"  # A file and its repository; this `in` is not that of a loop.
        if key in EXPRESSIONS or (key == "needs" and self.top == "for_each"):
            # Elements of a literal list are values; a text in place of the list is an expression.
            return "value" if isinstance(path[-1], int) else "expression"
        if key in TEMPLATES:
            return "template"
        if key == "script":
            return "script"
        if self.top == "escalate":
            return "value"
        return "plain" if key in PLAIN else "value"

    def _list(self, value: list[Any], path: DocPath, key: str) -> Iterator[TextField]:
        for number, item in enumerate(value):
            item_path = (*path, number)
            if key == "gates" and isinstance(item, Mapping):
                yield from replace(self, gate=item_path).read(item, item_path, key)
            else:
                yield from self.read(item, item_path, key)

    def _map(self, value: Mapping[Any, Any], path: DocPath, key: str) -> Iterator[TextField]:
        if key == "schema":
            return
        for name, item in value.items():
            item_path = (*path, name)
            if key == "on" and isinstance(item, Mapping | list):
                yield from () if item_path in self.broken else self._routes(item, item_path)
            elif name not in NESTED_KEYS:
                yield from self.read(item, item_path, key if key in VALUE_KEYS or key == "on" else str(name))

    def _routes(self, route: Mapping[Any, Any] | list[Any], path: DocPath) -> Iterator[TextField]:
        if isinstance(route, list):
            for number, entry in enumerate(route):
                yield from self._routes(entry, (*path, number))
            return
        for word, text in route.items():
            kind, key = _ROUTE_KEYS.get(word, ("value", "message"))
            yield TextField((*path, word), str(text), kind, key, self.top)
