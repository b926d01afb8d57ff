"""From texts of a file to values of the core: expressions, inserted values, prompts, argument lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from podium.core.expressions.nodes import Const, Node
from podium.core.expressions.templates import Value
from podium.core.fast_dataclass import dataclass
from podium.core.model import Fields, Prompt
from podium.core.policy import Count
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import DocPath

_INSERT: Final = re.compile(r"""(?<!\$)\$\{\{(?:[^'"}]|'[^']*'|"[^"]*"|\}(?!\}))*\}\}""")
_HOLDER: Final = re.compile("\ue000([0-9]+)\ue001")


@dataclass(frozen=True, slots=True)
class CompileContext:
    """Where something is compiled: its file, what surrounds it, and where its problems are put down."""

    context: WorkflowSource
    problems: list[Problem] = field(default_factory=list)
    provided: bool = False
    """Somebody around routes a failure, or needs only some members to pass."""
    claim: Node | None = None
    """What the component being built may touch."""
    protect: tuple[Value, ...] = ()

    def problem(self, rule: int, path: DocPath, message: str, *, hint: str = "") -> None:
        self.problems.append(self.context.problem(rule, path, message, hint=hint))

    def line(self, path: DocPath) -> int:
        return self.context.position(path, key=True).line

    def expression(self, text: str, path: DocPath) -> Node:
        try:
            return parse_expression(text)
        except ExpressionError as error:
            self.problem(17, path, error.message, hint=error.hint or "")
            return Const(None)

    def optional(self, text: str | None, path: DocPath) -> Node | None:
        return None if text is None else self.expression(text, path)

    def value(self, raw: Any, path: DocPath) -> Value:
        """A literal with its `${{ }}` read, however deep they stand."""
        if isinstance(raw, str):
            return self._text(raw, path)
        if isinstance(raw, Mapping):
            return MappingProxyType(dict(self.pairs(raw, path)))
        if isinstance(raw, list | tuple):
            return self.values(raw, path)
        plain: Value = raw
        return plain

    def _text(self, raw: str, path: DocPath) -> Value:
        try:
            return parse_value(raw)
        except ExpressionError as error:
            self.problem(17, path, error.message, hint=error.hint or "")
            return None

    def values(self, raw: Iterable[Any], path: DocPath) -> tuple[Value, ...]:
        return tuple(self.value(item, (*path, index)) for index, item in enumerate(raw))

    def pairs(self, raw: Mapping[str, Any] | None, path: DocPath) -> tuple[tuple[str, Value], ...]:
        return tuple((name, self.value(item, (*path, name))) for name, item in (raw or {}).items())

    def count(self, raw: int | str, path: DocPath) -> Count:
        if isinstance(raw, int):
            return raw
        found = self.value(raw, path)
        if isinstance(found, Node):
            return found
        self.problem(2, path, 'this must be a number, or one "${{ }}" that gives it')
        return 1

    def globs(self, raw: str | Iterable[str], path: DocPath) -> tuple[Value, ...] | Node:
        """A list of globs, or the expression that gives the list."""
        if not isinstance(raw, str):
            return self.values(raw, path)
        found = self.value(raw, path)
        return found if isinstance(found, Node) else (found,)

    def prompt(self, text: str, path: DocPath) -> Prompt:
        found = self.context.prompt(text)
        if found is None:
            self.problem(20, path, f"{text} does not exist")
        return found or Prompt("", text)

    def argv(self, raw: str | Iterable[str], path: DocPath) -> tuple[Value, ...]:
        """A string is split before values are inserted, so that a value is never taken apart."""
        if not isinstance(raw, str):
            return self.values(raw, path)
        try:
            return self.values(split_command(raw), path)
        except ValueError as error:
            self.problem(2, path, f"this command cannot be split: {error}".lower())
            return ()


def split_command(text: str) -> tuple[str, ...]:
    inserts: list[str] = []

    def hide(match: re.Match[str]) -> str:
        inserts.append(match[0])
        return f"\ue000{len(inserts) - 1}\ue001"

    words = shlex.split(_INSERT.sub(hide, text))
    return tuple(_HOLDER.sub(lambda match: inserts[int(match[1])], word) for word in words)


def frozen(value: Any) -> Any:
    """JSON-like data that nobody can change."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: frozen(item) for key, item in value.items()})
    return tuple(frozen(item) for item in value) if isinstance(value, (list, tuple)) else value


def fields(entries: Mapping[str, Any]) -> Fields:
    """Only what was said: a setting that is absent is one the attempt decides."""
    return MappingProxyType({key: item for key, item in entries.items() if item is not None and item != ()})
