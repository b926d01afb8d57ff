"""Blocks of the steps format as native blocks: each step, what it leads to, and the steps that the translation adds.

Rule: an added step is reached only by a route, so a step before one names its successor itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.conditions import condition
from podium.workflow.dialects.steps.places import inner_steps, step_name
from podium.workflow.dialects.steps.routes import handles_failures, jump_steps, routes
from podium.workflow.dialects.steps.scope import Scope
from podium.workflow.dialects.steps.text import as_expression, as_value, split_references
from podium.workflow.dialects.steps.work import command, provider
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text

KINDS: Final = tuple(keys.STEPS)
MAX_ROUNDS: Final = 1000
OUTCOMES_KEPT: Final = {"passed": "'passed'", "timeout": "'timeout'", "else": "'failed'"}

Entries = dict[str, dict[str, Any]]
"""Native steps that are not finished yet, by name and in order."""


def block_of(steps: tuple[Node, ...], scope: Scope, translation: Translation, *, top: Node | None) -> Entries:
    entries = _entries(steps, scope, translation, top=top, after="end", failure=None)
    return {**entries, **{name: dict(fields(node)) for name, node in scope.added.items()}}


def nodes_of(entries: Entries, near: Node) -> dict[str, Node]:
    return {name: new_node(entry, entry.pop("", near)) for name, entry in entries.items()}


def _entries(  # everything around the steps
    steps: tuple[Node, ...],
    scope: Scope,
    translation: Translation,
    *,
    top: Node | None,
    after: Any,
    failure: Any,
) -> Entries:
    """`after` is where the last step leads, `failure` where a failure leads that its step does not route."""
    entries: Entries = {}
    for index, step in enumerate(steps):
        name_node = fields(step).get("name")
        if text(name_node) is None:
            translation.add_problem(step, 2, "this step has no name", "add name: with a text")
        following = scope.names[step_name(steps[index + 1])] if index + 1 < len(steps) else after
        scope_of_step = replace(
            scope,
            step=step_name(step),
            optional=frozenset(str(item.value) for item in items(fields(step).get("allow_missing_vars"))),
        )
        entries |= _with_handlers(
            step, scope_of_step, translation, top=top, following=following, failure=failure
        )
    return entries


def _with_handlers(  # everything around a step
    step: Node, scope: Scope, translation: Translation, *, top: Node | None, following: Any, failure: Any
) -> Entries:
    """A step, the steps of its `catch`, and those that the translation adds to it."""
    entry, kind = _step(step, scope, translation, top=top)
    on: dict[str, Any] = routes(step, scope, translation, kind=kind) if kind else {}
    if failure is not None and kind != "set_context":
        on.setdefault("else", failure)
    handlers: Entries = {}
    handler = fields(step).get("catch")
    if handler is not None:
        inner, written_failure = inner_steps(handler), on.get("else")
        on.setdefault("passed", following)
        handlers = _entries(inner, scope, translation, top=top, after=on["passed"], failure=written_failure)
        on["else"] = next(iter(handlers), "fail")
        on.pop("timeout", None)
    added: Entries = {}
    if entry.get("jumps"):
        added |= _jumps(step, scope, entry["jumps"], on, following)
    entry.pop("jumps", None)
    if not scope.in_parallel and scope.results_to_keep(scope.step):
        on.setdefault("passed", following)
        added |= _kept_results(step, scope, on)
    if kind == "for_each" and handles_failures(fields(step)[kind]):
        # Every failure in the body leads somewhere and is thereby handled.
        handled = ("failed", "partial") if "else" in on else ("else",)
        on |= dict.fromkeys(handled, on.setdefault("passed", following))
    is_last = following == "end" and bool(scope.added)
    if (added or handlers or is_last or following != _next(step, scope)) and not scope.in_parallel:
        on.setdefault("passed", following)
        if "when" in entry:
            on.setdefault("skipped", following)
    entry["on"] = on or None
    entry[""] = fields(step).get("name", step)
    return {scope.names[scope.step]: entry, **handlers, **added}


def _next(step: Node, scope: Scope) -> str:
    """Where the native block leads without a route, if nothing is added."""
    following = scope.places.after(step_name(step))
    return "end" if following is None else scope.names[following]


def _jumps(step: Node, scope: Scope, jumps: Any, on: dict[str, Any], following: Any) -> Entries:
    onwards = on.get("passed", following)
    first, added = jump_steps(scope.step, jumps, scope, step, onwards)
    on["passed"] = first
    return {name: dict(fields(node)) for name, node in added.items()}


def _kept_results(step: Node, scope: Scope, on: dict[str, Any]) -> Entries:
    """Steps that keep results in variables, one for each outcome that leads somewhere."""
    added: Entries = {}
    for outcome in [word for word in OUTCOMES_KEPT if word in on]:
        values = {
            scope.kept_variable(name, result): new_node(
                f"${{{{ {_kept_result(scope, name, result, outcome)} }}}}", step
            )
            for name in scope.results_to_keep(scope.step)
            for result in sorted(scope.kept_results[name])
        }
        name = scope.added_step(f"{scope.step} kept {outcome}")
        added[name] = {"set": values, "on": {"passed": on[outcome]}}
        on[outcome] = name
    return added


def _kept_result(scope: Scope, step: str, result: str, outcome: str) -> str:
    """The value that is kept; `outcome` is that of the step itself, or of the parallel block that `step` is in."""
    expression = scope.own_result(step, result, scope.way_to(step, scope.step))
    if step != scope.step:
        return f"default({expression}, null)"
    if result == "outcome":
        return OUTCOMES_KEPT[outcome]
    if outcome == "passed":
        return expression
    return f"default({expression}, {1 if result == 'exit_code' else repr('')})"


def _step(
    step: Node, scope: Scope, translation: Translation, *, top: Node | None
) -> tuple[dict[str, Any], str]:
    """The native step without its routes, and its kind; `jumps` are the ways out of a loop."""
    entries = fields(step)
    kinds = [kind for kind in KINDS if kind in entries]
    if len(kinds) != 1:
        actions = " and ".join(f'"{kind}"' for kind in kinds) or "nothing to do"
        translation.add_problem(
            step, 4, f'step "{step_name(step)}" has {actions}', f"use exactly one of {', '.join(KINDS)}"
        )
        return {"run": ["true"]}, ""
    [kind] = kinds
    translation.check_part(step, f'step "{step_name(step)}"', keys.STEPS[kind])
    native: dict[str, Any] = {"description": entries.get("description")}
    if "when" in entries:
        native["when"] = new_node(condition(entries["when"], scope, translation), entries["when"])
    return native | _work(kind, step, scope, translation, top=top), kind


def _work(
    kind: str, step: Node, scope: Scope, translation: Translation, *, top: Node | None
) -> dict[str, Any]:
    entries = fields(step)
    match kind:
        case "command":
            return command(step, scope, translation, secrets=entries.get("secrets", top))
        case "provider":
            return provider(step, scope, translation, secrets=entries.get("secrets", top))
        case "set_context":
            return {"set": _values(entries[kind], scope, translation)}
        case "parallel":
            inner = block_of(
                inner_steps(entries[kind]), scope.inside(None, is_soft=False), translation, top=top
            )
            return {"parallel": True, "steps": nodes_of(inner, step)}
        case "while":
            return _while(entries[kind], scope, translation, top=top)
        case _:
            return _for_each(entries[kind], scope, translation, top=top)


def _values(node: Node, scope: Scope, translation: Translation) -> dict[str, Node]:
    if not scope.can_jump:
        translation.add_problem(
            node,
            5,
            "set_context cannot be used inside parallel: its branches run at the same time",
            "set the context after the block, from the results of its steps",
        )
    return {scope.variables.add(key): _set(item, scope, translation) for key, item in fields(node).items()}


def _set(node: Node, scope: Scope, translation: Translation) -> Node:
    """A number or boolean becomes the text it was written as."""
    if node.source is not None and not isinstance(node.value, str):
        return replace(node, value=node.source, source=None)
    return _resolve_references(node, scope, translation)


def _resolve_references(node: Node, scope: Scope, translation: Translation) -> Node:
    """Resolves the references in all texts of a value, at any depth."""
    if isinstance(node.value, str):
        parts, meaning = split_references(node.value), scope.meaning(node, translation)
        # A single number becomes text, so that a condition can compare it with a text.
        return new_node(as_value(parts, lambda ref: scope.as_text(parts, meaning(ref))), node)
    if isinstance(node.value, tuple):
        return replace(
            node, value=tuple(_resolve_references(each, scope, translation) for each in node.value)
        )
    if isinstance(node.value, Mapping):
        return replace(
            node,
            value={key: _resolve_references(each, scope, translation) for key, each in node.value.items()},
        )
    return node


def _for_each(loop: Node, scope: Scope, translation: Translation, *, top: Node | None) -> dict[str, Any]:
    translation.check_part(loop, "for_each", keys.FOR_EACH)
    entries = fields(loop)
    item = text(entries.get("as")) or "item"
    loop_items = entries.get("items", loop)
    if isinstance(loop_items.value, str):
        parts = split_references(loop_items.value)
        loop_items = new_node(as_expression(parts, scope.meaning(loop_items, translation)), loop_items)
    elif isinstance(loop_items.value, tuple):
        loop_items = replace(
            loop_items, value=tuple(_set(each, scope, translation) for each in loop_items.value)
        )
    inside = scope.inside(item, is_soft=not handles_failures(loop))
    inner = block_of(inner_steps(loop), inside, translation, top=top)
    carry = list(dict.fromkeys(_variables_set(inner)))
    for name in carry:
        # A key that only the body sets has to be a variable before the loop.
        scope.read.setdefault(name, loop)
    settings = {
        "in": loop_items,
        "as": name_of(item) if name_of(item) != "item" else None,
        "carry": carry or None,
    }
    is_short = settings["as"] is None and settings["carry"] is None
    return {
        "for_each": loop_items if is_short else settings,
        "steps": nodes_of(inner, loop),
        "jumps": inside.jumps,
    }


def _variables_set(entries: Mapping[str, Any]) -> list[str]:
    """The variables that steps set, at any depth."""
    names: list[str] = []
    for entry in entries.values():
        keys_of_step = fields(entry) if isinstance(entry, Node) else entry
        values = keys_of_step.get("set") or {}
        names += fields(values) if isinstance(values, Node) else values
        inner = keys_of_step.get("steps") or {}
        names += _variables_set(fields(inner) if isinstance(inner, Node) else inner)
    return names


def _while(loop: Node, scope: Scope, translation: Translation, *, top: Node | None) -> dict[str, Any]:
    translation.check_part(loop, "while", keys.WHILE)
    entries = fields(loop)
    test = condition(entries.get("condition", loop), scope, translation)
    rounds = entries.get("max_iterations", MAX_ROUNDS)
    inside = scope.inside(None, is_soft=True)
    inner = block_of(inner_steps(loop), inside, translation, top=top)
    return {
        "repeat": {"while": test, "max": rounds, "on_exhausted": "fail"},
        "steps": nodes_of(inner, loop),
        "jumps": inside.jumps,
    }
