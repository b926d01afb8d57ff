"""The steps format: a list of named steps with `command` or `provider`, and `goto` for every outcome.

    version: "1.0"
    name: demo
    steps:
      - name: Build
        command: [make, "${context.target}"]
        on: {success: {goto: _end}, failure: {error: Build failed}}

All steps work in the folder `workspace/` of the project itself, one after the other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.conditions import condition
from podium.workflow.dialects.steps.routes import exit_step_name, routes
from podium.workflow.dialects.steps.scope import Scope, all_steps, artifact, inner_steps
from podium.workflow.dialects.steps.shims import shims_of
from podium.workflow.dialects.steps.text import as_expression, as_value, split_references
from podium.workflow.dialects.steps.work import command, provider
from podium.workflow.dialects.translation import Kind, Names, Translation, name_of, new_node, seconds
from podium.workflow.source.nodes import Node, fields, items, text

KINDS: Final = tuple(keys.STEPS)
MAX_ROUNDS: Final = 1000


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    steps = fields(root).get("steps")
    is_ours = steps is not None and isinstance(steps.value, tuple) and "workflow" not in fields(root)
    if kind != "workflow" or not is_ours or any("id" in fields(step) for step in items(steps)):
        return None
    translation.check_part(root, "a steps-format workflow", keys.FILE)
    _check_version(fields(root).get("version"), translation)
    return _file(root, translation)


def _check_version(node: Node | None, translation: Translation) -> None:
    if node is None:
        return
    version = node.source or str(node.value)
    if version.partition(".")[0] != "1":
        translation.add_problem(
            node, 2, f'version "{version}" of the steps format is not supported', 'write version: "1.0"'
        )


def _file(root: Node, translation: Translation) -> Node:
    entries = fields(root)
    everything = all_steps(items(entries.get("steps")))
    shims, agents = shims_of(everything, translation)
    scope = Scope(
        names=Names(_name(step) for step in everything),
        agents=frozenset(_name(step) for step in everything if "provider" in fields(step)),
        files={
            artifact(_name(step), output_file): _name(step)
            for step in everything
            if (output_file := text(fields(step).get("output_file")))
        },
        shims=shims,
    )
    steps = _block(items(entries.get("steps")), scope, translation, top=entries.get("secrets"))
    file: dict[str, Any] = {
        "podium": 1,
        "name": _title(entries.get("name")),
        "description": entries.get("description"),
        "strict": entries.get("strict_flow"),
        "vars": _vars(entries.get("context"), scope) or None,
        "secrets": entries.get("secrets"),
        "env": _env(entries.get("env"), scope),
        "limits": {"time": seconds(entries["timeout"])} if "timeout" in entries else None,
        "workspace": "inplace",
        "agents": agents or None,
        "steps": new_node(steps, entries["steps"]),
    }
    return new_node(file, root)


def _name(step: Node) -> str:
    return text(fields(step).get("name")) or "step"


def _title(node: Node | None) -> Node | None:
    return new_node(name_of(node.value), node) if node is not None and isinstance(node.value, str) else node


def _vars(context: Node | None, scope: Scope) -> dict[str, Any]:
    """Scalars become texts; a key that is read but not set must come from `--context`, or is missing where it is read."""
    values: dict[str, Any] = {
        name_of(key): replace(node, value=node.source) if node.source is not None else node
        for key, node in fields(context).items()
    }
    missing = {
        name: Node(None, node.place, node.key) for name, node in scope.read.items() if name not in values
    }
    return {**values, **missing}


def _env(env: Node | None, scope: Scope) -> Node | list[str] | None:
    additional = sorted(scope.env - {str(item.value) for item in items(env)})
    if not additional:
        return env
    return [*(str(item.value) for item in items(env)), *additional]


def _block(
    steps: tuple[Node, ...], scope: Scope, translation: Translation, *, top: Node | None
) -> dict[str, Node]:
    block: dict[str, Node] = {}
    for step in steps:
        name_node = fields(step).get("name")
        if text(name_node) is None:
            translation.add_problem(step, 2, "this step has no name", "add name: with a text")
        name = scope.names[_name(step)]
        if name in block:
            translation.add_problem(step, 6, f'two steps are named "{_name(step)}"')
        following = _after(step, steps, scope)
        block[name] = _step(step, scope, translation, top=top, first=_name(steps[0]), following=following)
        handler = fields(step).get("catch")
        if handler is not None:
            block[f"{name}_catch"] = _catch(step, handler, scope, translation, top=top, first=_name(steps[0]))
    return block


def _after(step: Node, steps: tuple[Node, ...], scope: Scope) -> str:
    index = steps.index(step)
    return scope.names[_name(steps[index + 1])] if index + 1 < len(steps) else "end"


def _step(  # everything around a step
    step: Node, scope: Scope, translation: Translation, *, top: Node | None, first: str, following: str
) -> Node:
    entries = fields(step)
    kinds = [kind for kind in KINDS if kind in entries]
    if len(kinds) != 1:
        actions = " and ".join(f'"{kind}"' for kind in kinds) or "nothing to do"
        translation.add_problem(
            step, 4, f'step "{_name(step)}" has {actions}', f"use exactly one of {', '.join(KINDS)}"
        )
        return new_node({"run": ["true"]}, step)
    [kind] = kinds
    translation.check_part(step, f'step "{_name(step)}"', keys.STEPS[kind])
    scope_of_step = replace(
        scope, optional=frozenset(str(item.value) for item in items(entries.get("allow_missing_vars")))
    )
    native: dict[str, Any] = {"description": entries.get("description")}
    if "when" in entries:
        native["when"] = new_node(condition(entries["when"], scope_of_step, translation), entries["when"])
    native |= _work(kind, step, scope_of_step, translation, top=top)
    native["on"] = routes(step, scope_of_step, translation, kind=kind, first=first, following=following)
    return new_node(native, entries.get("name", step))


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
            return {
                "set": {
                    name_of(key): _set(item, scope, translation)
                    for key, item in fields(entries[kind]).items()
                }
            }
        case "parallel":
            inner = _block(inner_steps(entries[kind]), replace(scope, leave=None), translation, top=top)
            return {"parallel": True, "steps": inner}
        case "while":
            return _while(entries[kind], scope, translation, top=top, leave=exit_step_name(step, kind))
        case _:
            return _for_each(entries[kind], scope, translation, top=top, leave=exit_step_name(step, kind))


def _set(node: Node, scope: Scope, translation: Translation) -> Node:
    is_scalar = not isinstance(node.value, str) and node.source is not None
    return (
        replace(node, value=node.source, source=None)
        if is_scalar
        else _resolve_references(node, scope, translation)
    )


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


def _for_each(
    loop: Node, scope: Scope, translation: Translation, *, top: Node | None, leave: str | None
) -> dict[str, Any]:
    translation.check_part(loop, "for_each", keys.FOR_EACH)
    entries = fields(loop)
    item = text(entries.get("as")) or "item"
    loop_items = entries.get("items", loop)
    if isinstance(loop_items.value, str):
        loop_items = new_node(
            as_expression(split_references(loop_items.value), scope.meaning(loop_items, translation)),
            loop_items,
        )
    elif isinstance(loop_items.value, tuple):
        loop_items = replace(
            loop_items, value=tuple(_set(each, scope, translation) for each in loop_items.value)
        )
    item_name = name_of(item)
    inner = _with_exit_step(
        _block(inner_steps(loop), scope.inside(item, leave), translation, top=top), leave, loop
    )
    return {
        "for_each": loop_items if item_name == "item" else {"in": loop_items, "as": item_name},
        "steps": inner,
    }


def _while(
    loop: Node, scope: Scope, translation: Translation, *, top: Node | None, leave: str | None
) -> dict[str, Any]:
    translation.check_part(loop, "while", keys.WHILE)
    entries = fields(loop)
    test = condition(entries.get("condition", loop), scope, translation)
    rounds = entries.get("max_iterations", MAX_ROUNDS)
    inner = _with_exit_step(
        _block(inner_steps(loop), scope.inside(None, leave), translation, top=top), leave, loop
    )
    return {"repeat": {"while": test, "max": rounds, "on_exhausted": "fail"}, "steps": inner}


def _with_exit_step(body: dict[str, Node], leave: str | None, loop: Node) -> dict[str, Node]:
    """Adds a last step that leaves the loop as passed; only failed steps lead to it."""
    if leave is None:
        return body
    name, last = list(body.items())[-1]
    routes_of_last = {"passed": "end", **fields(fields(last).get("on"))}
    exit_step = new_node({"check": "true", "on": {"passed": "break", "failed": "fail"}}, loop)
    return {**body, name: new_node({**fields(last), "on": routes_of_last}, last), leave: exit_step}


def _catch(  # everything around a step
    step: Node, handler: Node, scope: Scope, translation: Translation, *, top: Node | None, first: str
) -> Node:
    """The steps that handle a failure; after them the run continues as if the step had passed."""
    inner = _block(inner_steps(handler), replace(scope, leave=None), translation, top=top)
    without_catch = replace(step, value={key: node for key, node in fields(step).items() if key != "catch"})
    targets = routes(without_catch, scope, translation, kind="for_each", first=first, following="next")
    return new_node({"steps": inner, "on": targets}, handler)
