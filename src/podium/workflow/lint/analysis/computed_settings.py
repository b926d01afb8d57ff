"""Checks settings that the inputs decide, such as `timeout: ${{ inputs.patience }}`: what they read (15) and its type (17)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from podium.core.expressions.nodes import Node
from podium.core.expressions.templates import chain_of, references
from podium.core.expressions.values import phrase
from podium.core.queries.computed import LIMIT_UNITS, PARSERS, UNIT_NAMES, Unit
from podium.fast_dataclass import dataclass
from podium.workflow.expressions.inference import kind
from podium.workflow.expressions.parser import has_insert
from podium.workflow.lint.analysis.names import type_of
from podium.workflow.lint.analysis.scope import Scope

SETTINGS: Final[Mapping[str, Unit]] = {
    **dict.fromkeys(("timer", "timeout", "every", "veto", "remind", "after"), "duration"),
    **LIMIT_UNITS,
    "min_score": "score",
    "by": "names",
    "to": "names",
}
"""By their keys: what each takes."""

KINDS: Final[Mapping[Unit, tuple[str, ...]]] = {
    "duration": ("text",),
    "share": ("text",),
    "tokens": ("number", "text"),
    "names": ("text", "list"),
    **dict.fromkeys(("usd", "count", "score"), ("number",)),
}
HINTS: Final[Mapping[Unit, str]] = {
    "duration": "write it as 90s, 5m or 1h30m",
    "share": "write it as 80%",
}


@dataclass(frozen=True, slots=True)
class Violation:
    rule: int
    message: str
    hint: str = ""
    warning: bool = False


def setting_violations(scope: Scope, node: Node, key: str) -> Iterator[Violation]:
    """A setting gets its value when its workflow is entered, from values that do not change during the run."""
    unit = SETTINGS.get(key)
    if unit is None:
        return
    reads = tuple(_changing_reads(scope, node, key))
    yield from reads
    shape = kind(type_of(scope, node))
    if shape is not None and shape not in KINDS[unit] and not reads:
        message = f'"{key}" takes {UNIT_NAMES[unit]}, and this is {phrase(shape)}'
        yield Violation(17, message, HINTS.get(unit, ""))
    elif not reads:
        yield from _default(scope, node, key, unit)


def _changing_reads(scope: Scope, node: Node, key: str) -> Iterator[Violation]:
    setters = scope.facts.setters
    for reference in references(node):
        name, *fields = reference.chain
        if name == "inputs":
            continue
        hint = "a setting gets its value when the workflow starts"
        if name == "vars" and fields:
            if fields[0] in setters:
                hint = "a variable that a step sets cannot be read here"
            elif _is_computed(scope, fields[0]):
                hint = "a variable that is itself computed cannot be read here"
            else:
                continue
        yield Violation(15, f'"{key}" can read only inputs and vars, not {".".join(reference.chain)}', hint)


def _is_computed(scope: Scope, name: str) -> bool:
    literal = scope.facts.survey.context.file.vars.get(name)
    return isinstance(literal, str) and has_insert(literal)


def _default(scope: Scope, node: Node, key: str, unit: Unit) -> Iterator[Violation]:
    """The default of the one input or variable that is read."""
    chain, file = chain_of(node) or (), scope.facts.survey.context.file
    if len(chain) != 2 or chain[0] not in {"inputs", "vars"} or unit == "names":
        return
    own = file.inputs.get(chain[1])
    default = file.vars.get(chain[1]) if chain[0] == "vars" else None if own is None else own.default
    if default is None or (isinstance(default, str) and has_insert(default)):
        return
    try:
        PARSERS[unit](default)
    except ValueError as error:
        yield Violation(17, f'{".".join(chain)} is "{default}", but "{key}" takes {error}')
