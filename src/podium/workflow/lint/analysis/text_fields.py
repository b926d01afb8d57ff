"""Every text of a step, a gate or a role, with what it is: an expression, a value, a prompt, a script, or itself.

The tables say it by key. A key that no table names holds values: literal, with `${{ }}` inserted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.workflow.schema.parts import DocPath

Kind: TypeAlias = Literal["expression", "value", "template", "script", "plain"]

EXPRESSIONS: Final = frozenset({"when", "check", "until", "while", "where", "key", "in", "for_each"})
TEMPLATES: Final = frozenset({"prompt", "system", "human", "degrade"})
PLAIN: Final = frozenset(
    "description name needs of by notify to secrets runs_on phrase choice fallback candidates asks tools network"
    " as workflow after before strengths strategy extends replace gates shell on schema choices".split()
)
"""Keys whose texts are taken as they stand."""

PATHS: Final = frozenset(
    "dir stdin junit touches protect workflow build copy file files report include always exclude context"
    " schema show".split()
)
"""Keys whose texts are paths or globs, or may be."""

ELSEWHERE: Final = frozenset({"steps", "design", "component", "phases"})
"""What stands below these is looked at in its own place."""

FREE: Final = frozenset({"with", "set"})
"""Below these every text is a value, whatever its key."""


@dataclass(frozen=True, slots=True)
class TextField:
    """`top` is the key of the step that it stands under, `key` the nearest one; `gate` where that gate stands."""

    path: DocPath
    text: str
    kind: Kind
    key: str
    top: str
    gate: DocPath | None = None

    @property
    def is_path(self) -> bool:
        return self.key in PATHS


def spots(data: Mapping[str, Any], path: DocPath, broken: frozenset[DocPath]) -> Iterator[TextField]:
    """`broken` leads to what was wrong in itself and is told already."""
    for key, value in data.items():
        if key not in ELSEWHERE:
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
        if key in FREE:
            return "value"
        if key in EXPRESSIONS or (key == "needs" and self.top == "for_each"):
            # The elements of a list that is written out are values; a text in its place is an expression.
            return "value" if isinstance(path[-1], int) else "expression"
        if key in TEMPLATES:
            return "template"
        if key == "script":
            return "script"
        return "plain" if key in PLAIN else "value"

    def _list(self, value: list[Any], path: DocPath, key: str) -> Iterator[TextField]:
        for number, item in enumerate(value):
            here = (*path, number)
            if key == "gates" and isinstance(item, Mapping):
                yield from replace(self, gate=here).read(item, here, key)
            else:
                yield from self.read(item, here, key)

    def _map(self, value: Mapping[Any, Any], path: DocPath, key: str) -> Iterator[TextField]:
        if key == "schema":
            return
        for name, item in value.items():
            here = (*path, name)
            if key == "on" and isinstance(item, Mapping):
                yield from (self._message(text, (*here, word)) for word, text in item.items())
            elif name not in ELSEWHERE:
                yield from self.read(item, here, key if key in FREE or key == "on" else str(name))

    def _message(self, text: Any, path: DocPath) -> TextField:
        return TextField(path, str(text), "value", "message", self.top)
