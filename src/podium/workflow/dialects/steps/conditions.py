"""Translates conditions of the steps format into expressions: predicates, combined by `all`, `any` and `not`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.scope import Scope
from podium.workflow.dialects.steps.text import as_expression, quoted, split_references
from podium.workflow.dialects.translation import Translation
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

OPERATORS: Final = ("==", "!=", ">", "<", ">=", "<=")
NO_EXIT: Final = "-1"
"""Compared instead of the exit code of a step that has not run; no process ends with it."""


def condition(node: Node, scope: Scope, translation: Translation) -> str:
    """An expression for a map of predicates, which must all hold."""
    translation.check_part(node, "a condition", keys.CONDITION)
    expressions = [
        PREDICATES[word](value, scope, translation)
        for word, value in fields(node).items()
        if word in PREDICATES
    ]
    if not expressions:
        translation.add_problem(
            node, 4, "this condition has no predicate", f"use one of {', '.join(PREDICATES)}"
        )
    return (
        " and ".join(expressions) if len(expressions) < 2 else " and ".join(map(_parenthesized, expressions))
    )


def _parenthesized(expression: str) -> str:
    return f"({expression})" if " or " in expression else expression


def _all(node: Node, scope: Scope, translation: Translation) -> str:
    return " and ".join(_parenthesized(condition(item, scope, translation)) for item in items(node)) or "true"


def _any(node: Node, scope: Scope, translation: Translation) -> str:
    parts = [condition(item, scope, translation) for item in items(node)]
    return " or ".join(f"({part})" if " and " in part else part for part in parts) or "false"


def _not(node: Node, scope: Scope, translation: Translation) -> str:
    inner = condition(node, scope, translation)
    simple = inner.startswith("exists(") and " and " not in inner and " or " not in inner
    return f"not {inner}" if simple else f"not ({inner})"


def _step_ok(node: Node, scope: Scope, translation: Translation) -> str:
    step = _text_value(node, translation)
    return scope.passed(step) if _check_step("step_ok", node, step, scope, translation) else "false"


def _file_exists(node: Node, scope: Scope, translation: Translation) -> str:
    file_name = _text_value(node, translation)
    parts = split_references(file_name)
    if all(isinstance(part, str) for part in parts):
        path = scope.path(node)
        if path.startswith(("/", "../")):
            translation.add_problem(
                node, 24, f'"{file_name}" leaves the project', f"paths begin in {scope.folder}/"
            )
        return f"exists({quoted(path)})"
    folder = quoted(f"{scope.folder}/")
    return f"exists(join([{folder}, {as_expression(parts, scope.meaning(node, translation))}], ''))"


def _env_set(node: Node, scope: Scope, translation: Translation) -> str:
    name = _text_value(node, translation)
    scope.env.add(name)
    return f"{quoted(name)} in env"


def _exit_code(node: Node, scope: Scope, translation: Translation) -> str:
    entries = _fields(node, "exit_code", translation)
    step = text(entries.get("step")) or ""
    if "step" not in entries or not _check_step("exit_code", entries["step"], step, scope, translation):
        return "false"
    number = entries["value"].value if "value" in entries else 0
    return f"default({scope.exit_code(step)}, {NO_EXIT}) {_operator(entries, translation)} {number}"


def _check_step(predicate: str, node: Node, step: str, scope: Scope, translation: Translation) -> bool:
    if step in scope.places:
        return True
    message = f'{predicate} of "{scope.step}": step "{step}" does not exist'
    translation.add_problem(node, 15, message, did_you_mean(step, scope.places))
    return False


def _equals(node: Node, scope: Scope, translation: Translation) -> str:
    entries = _fields(node, "equals", translation)
    left, right = (_expression(entries.get(key, node), scope, translation) for key in ("left", "right"))
    return f"{left} == {right}"


def _contains(node: Node, scope: Scope, translation: Translation) -> str:
    entries = _fields(node, "contains", translation)
    haystack, needle = (
        _expression(entries.get(key, node), scope, translation) for key in ("haystack", "needle")
    )
    return f"{needle} in {haystack}"


def _regex(node: Node, scope: Scope, translation: Translation) -> str:
    entries = _fields(node, "regex", translation)
    subject = _expression(entries.get("text", node), scope, translation)
    flags = text(entries.get("flags")) or ""
    pattern = _expression(
        entries.get("pattern", node), scope, translation, before="(?i)" if "i" in flags else ""
    )
    if set(flags) - {"i"}:
        translation.add_problem(
            entries["flags"], 2, f'the flag "{flags}" is not supported', 'only "i" is supported'
        )
    return f"matches({subject}, {pattern})"


def _number(node: Node, scope: Scope, translation: Translation) -> str:
    entries = _fields(node, "number", translation)
    left = _expression(entries.get("left", node), scope, translation)
    right = entries["right"].value if "right" in entries else 0
    return f"number({left}) {_operator(entries, translation)} {right}"


def _expression(node: Node, scope: Scope, translation: Translation, *, before: str = "") -> str:
    """A text, because every value is a text in the steps format; a number is written out."""
    parts = split_references(before + _text_value(node, translation))
    return scope.as_text(parts, as_expression(parts, scope.meaning(node, translation)))


def _text_value(node: Node, translation: Translation) -> str:
    """A text; a number or boolean counts as the text it was written as."""
    if isinstance(node.value, str):
        return node.value
    if node.source is None:
        translation.add_problem(node, 2, "this value must be text")
    return node.source or ""


def _fields(node: Node, predicate: str, translation: Translation) -> Any:
    part = keys.PREDICATES[predicate]
    translation.check_part(node, f'"{predicate}"', part)
    entries = fields(node)
    for key in part:
        if key not in entries and key != "flags":
            translation.add_problem(node, 2, f'"{predicate}" has no "{key}"')
    return entries


def _operator(entries: Any, translation: Translation) -> str:
    word = text(entries.get("op")) or "=="
    if word not in OPERATORS:
        translation.add_problem(
            entries["op"], 2, f'"{word}" is not a comparison', f"use one of {' '.join(OPERATORS)}"
        )
    return word


PREDICATES: Final[dict[str, Callable[[Node, Scope, Translation], str]]] = {
    "step_ok": _step_ok,
    "file_exists": _file_exists,
    "equals": _equals,
    "exit_code": _exit_code,
    "env_set": _env_set,
    "contains": _contains,
    "regex": _regex,
    "number": _number,
    "all": _all,
    "any": _any,
    "not": _not,
}
