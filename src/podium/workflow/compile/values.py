"""Compiles texts of a file to values of the core: expressions, inserts, prompts, argument lists."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final

from podium.core.expressions.nodes import Const, Node
from podium.core.expressions.templates import Text, Value
from podium.core.model import Fields
from podium.core.policy import Count
from podium.core.queries.computed import UNIT_NAMES, ComputedNames, ComputedNumber, Setting, Unit
from podium.core.step_settings import Prompt
from podium.core.types import Millis
from podium.fast_dataclass import dataclass
from podium.workflow.context import WorkflowSource
from podium.workflow.expressions.parser import ExpressionError, parse_expression, parse_value
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.step import Step

_INSERT: Final = re.compile(r"""(?<!\$)\$\{\{(?:[^'"}]|'[^']*'|"[^"]*"|\}(?!\}))*\}\}""")
_PLACEHOLDER: Final = re.compile("\ue000([0-9]+)\ue001")


@dataclass(frozen=True, slots=True)
class CompileContext:
    """Where something is compiled: its file, its surroundings, and the list that collects problems."""

    source: WorkflowSource
    problems: list[Problem] = field(default_factory=list)
    failure_handled: bool = False
    """A step around this one routes a failure, or needs only some members to pass."""
    merged: bool = False
    """The work of the steps is merged with that of parallel steps, where it can conflict."""
    claim: Node | None = None
    """The files that the component being built may change."""
    protect: tuple[Value, ...] = ()
    interfaces: tuple[Value, ...] = ()
    """The locked interfaces of the component being built."""
    judged: Step | None = None
    """The step whose gates are compiled."""
    computed: list[DocPath] = field(default_factory=list)
    """Collects the settings of the file that its inputs decide."""

    def problem(self, rule: int, path: DocPath, message: str, *, hint: str = "") -> None:
        self.problems.append(self.source.problem(rule, path, message, hint=hint))

    def line(self, path: DocPath) -> int:
        return self.source.position(path, key=True).line

    def expression(self, text: str, path: DocPath) -> Node:
        try:
            return parse_expression(text)
        except ExpressionError as error:
            self.problem(17, path, error.message, hint=error.hint or "")
            return Const(None)

    def optional(self, text: str | None, path: DocPath) -> Node | None:
        return None if text is None else self.expression(text, path)

    def value(self, raw: Any, path: DocPath) -> Value:
        """A literal with the `${{ }}` inside it parsed, at any depth."""
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
        value = self.value(raw, path)
        if isinstance(value, Node):
            return value
        self.problem(2, path, 'this must be a number, or one "${{ }}" whose value is a number')
        return 1

    def setting(
        self,
        raw: Any,
        path: DocPath,
        unit: Unit,
        *,
        most: int | None = None,
        unknown: int | None = None,
    ) -> Any:
        """A number as written, or what holds its place until the inputs are known."""
        if not isinstance(raw, str):
            return raw
        value = self.value(raw, path)
        if not isinstance(value, Node):
            what = UNIT_NAMES[unit]
            self.problem(2, path, f'this must be {what}, or one "${{{{ }}}}" whose value is {what}')
            return 1
        self.computed.append(path)
        return ComputedNumber(Setting(_key(path), unit, value, most, unknown))

    def duration(self, raw: Millis | str | None, path: DocPath, *, unknown: int | None = None) -> Any:
        return self.setting(raw, path, "duration", unknown=unknown)

    def names(self, raw: tuple[str, ...] | None, path: DocPath) -> tuple[str, ...]:
        """Names as written, or what holds the place of those that the inputs decide."""
        values = self.values(raw or (), path)
        if not any(isinstance(value, Node | Text) for value in values):
            return raw or ()
        self.computed.append(path)
        return ComputedNames(Setting(_key(path), "names", values))

    def globs(self, raw: str | Iterable[str], path: DocPath) -> tuple[Value, ...] | Node:
        """A list of globs, or the expression whose value is the list."""
        if not isinstance(raw, str):
            return self.values(raw, path)
        value = self.value(raw, path)
        return value if isinstance(value, Node) else (value,)

    def prompt(self, text: str, path: DocPath) -> Prompt:
        prompt = self.source.prompt(text)
        if prompt is None:
            self.problem(20, path, f"{text} does not exist")
        return prompt or Prompt("", text)

    def argv(self, raw: str | Iterable[str], path: DocPath) -> tuple[Value, ...]:
        """The words of a command; a string is split before values are inserted, so that a value is never split."""
        if not isinstance(raw, str):
            return self.values(raw, path)
        try:
            return self.values(split_command(raw), path)
        except ValueError as error:
            self.problem(2, path, f"cannot split this command into words: {error}".lower())
            return ()


def _key(path: DocPath) -> str:
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return "".join(parts).removeprefix(".")


def split_command(text: str) -> tuple[str, ...]:
    inserts: list[str] = []

    def hide(match: re.Match[str]) -> str:
        inserts.append(match[0])
        return f"\ue000{len(inserts) - 1}\ue001"

    words = shlex.split(_INSERT.sub(hide, text))
    return tuple(_PLACEHOLDER.sub(lambda match: inserts[int(match[1])], word) for word in words)


def freeze(value: Any) -> Any:
    """JSON-like data made immutable."""
    if isinstance(value, Mapping):
        return MappingProxyType({key: freeze(item) for key, item in value.items()})
    return tuple(freeze(item) for item in value) if isinstance(value, (list, tuple)) else value


def present_fields(entries: Mapping[str, Any]) -> Fields:
    """The entries that are present; an absent setting is left to the attempt."""
    return MappingProxyType({key: item for key, item in entries.items() if item is not None and item != ()})
