"""Conditions of the steps format as expressions: predicates, and `all`, `any`, `not` around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podium.workflow.dialects.steps.scope import Scope
from podium.workflow.dialects.steps.text import as_expression, parts_of, quoted
from podium.workflow.dialects.translation import Translation
from podium.workflow.source.nodes import Node, fields, items, text

OPERATORS: Final = ("==", "!=", ">", "<", ">=", "<=")
NO_EXIT: Final = "-1"
"""What a step that has not run is compared by; no process ends so."""


def condition(node: Node, scope: Scope, page: Translation) -> str:
    """Several predicates side by side must all hold."""
    found = []
    for word, value in fields(node).items():
        if word in PREDICATES:
            found.append(PREDICATES[word](value, scope, page))
        else:
            page.check_keys(node, "a condition", PREDICATES)
    if not found:
        page.complain(node, 4, "a condition has no predicate", f"write one of {', '.join(PREDICATES)}")
    return " and ".join(found) if len(found) < 2 else " and ".join(map(_tight, found))


def _tight(expression: str) -> str:
    return f"({expression})" if " or " in expression else expression


def _all(node: Node, scope: Scope, page: Translation) -> str:
    return " and ".join(_tight(condition(item, scope, page)) for item in items(node)) or "true"


def _any(node: Node, scope: Scope, page: Translation) -> str:
    parts = [condition(item, scope, page) for item in items(node)]
    return " or ".join(f"({part})" if " and " in part else part for part in parts) or "false"


def _not(node: Node, scope: Scope, page: Translation) -> str:
    inner = condition(node, scope, page)
    simple = inner.startswith("exists(") and " and " not in inner and " or " not in inner
    return f"not {inner}" if simple else f"not ({inner})"


def _step_ok(node: Node, scope: Scope, page: Translation) -> str:
    return scope.passed(_written(node, page))


def _file_exists(node: Node, scope: Scope, page: Translation) -> str:
    written = _written(node, page)
    maker = scope.maker_of(written)
    if maker is not None:
        return scope.passed(maker)
    parts = parts_of(written)
    if all(isinstance(part, str) for part in parts):
        path = scope.path(node)
        if path.startswith(("/", "../")):
            page.complain(node, 24, f'"{written}" leaves the project', f"paths begin in {scope.folder}/")
        return f"exists({quoted(path)})"
    folder = quoted(f"{scope.folder}/")
    return f"exists(join([{folder}, {as_expression(parts, scope.meaning(node, page))}], ''))"


def _env_set(node: Node, scope: Scope, page: Translation) -> str:
    name = _written(node, page)
    scope.env.add(name)
    return f"{quoted(name)} in env"


def _exit_code(node: Node, scope: Scope, page: Translation) -> str:
    said = _fields(node, ("step", "op", "value"), page)
    step = text(said.get("step")) or ""
    number = said["value"].value if "value" in said else 0
    return f"default({scope.exit_code(step)}, {NO_EXIT}) {_operator(said, page)} {number}"


def _equals(node: Node, scope: Scope, page: Translation) -> str:
    said = _fields(node, ("left", "right"), page)
    left, right = (_expression(said.get(key, node), scope, page) for key in ("left", "right"))
    return f"{left} == {right}"


def _contains(node: Node, scope: Scope, page: Translation) -> str:
    said = _fields(node, ("haystack", "needle"), page)
    haystack, needle = (_expression(said.get(key, node), scope, page) for key in ("haystack", "needle"))
    return f"{needle} in {haystack}"


def _regex(node: Node, scope: Scope, page: Translation) -> str:
    said = _fields(node, ("text", "pattern", "flags"), page)
    subject = _expression(said.get("text", node), scope, page)
    flags = text(said.get("flags")) or ""
    pattern = _expression(said.get("pattern", node), scope, page, before="(?i)" if "i" in flags else "")
    if set(flags) - {"i"}:
        page.complain(said["flags"], 2, f'the flag "{flags}" is not known', 'only "i" has a meaning here')
    return f"matches({subject}, {pattern})"


def _number(node: Node, scope: Scope, page: Translation) -> str:
    said = _fields(node, ("left", "op", "right"), page)
    left = _expression(said.get("left", node), scope, page)
    right = said["right"].value if "right" in said else 0
    return f"number({left}) {_operator(said, page)} {right}"


def _expression(node: Node, scope: Scope, page: Translation, *, before: str = "") -> str:
    """A text, since everything is one there; what is a number here is spelled."""
    parts = parts_of(before + _written(node, page))
    return scope.spelled(parts, as_expression(parts, scope.meaning(node, page)))


def _written(node: Node, page: Translation) -> str:
    """A text; a number or boolean counts as the text it was spelled with."""
    if isinstance(node.value, str):
        return node.value
    if node.source is None:
        page.complain(node, 2, "a text belongs here")
    return node.source or ""


def _fields(node: Node, keys: tuple[str, ...], page: Translation) -> Any:
    page.check_keys(node, "a predicate", keys)
    said = fields(node)
    for key in keys:
        if key not in said and key != "flags":
            page.complain(node, 2, f'a predicate needs "{key}"')
    return said


def _operator(said: Any, page: Translation) -> str:
    word = text(said.get("op")) or "=="
    if word not in OPERATORS:
        page.complain(said["op"], 2, f'"{word}" does not compare numbers', f"one of {' '.join(OPERATORS)}")
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
