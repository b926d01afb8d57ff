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

from podium.workflow.defaults import LIMITS
from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.blocks import MAX_ROUNDS, block_of, nodes_of
from podium.workflow.dialects.steps.places import BLOCKS, Places, all_steps, inner_steps, step_name
from podium.workflow.dialects.steps.routes import JUMP, JUMP_MESSAGE, continues_after_failure
from podium.workflow.dialects.steps.scope import OWN, Scope
from podium.workflow.dialects.steps.work import is_process
from podium.workflow.dialects.translation import (
    Kind,
    Names,
    Translation,
    name_of,
    new_node,
    seconds,
    without_rules,
)
from podium.workflow.source.nodes import Node, fields, items

MANY_MOVES: Final = 1000
"""What a file with jumps back gets: more than such loops need, and an end for one that has none."""
RESERVED: Final = frozenset({"next", "end", "fail", "break", "finally"})
"""Native words that a step cannot be named after."""


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    steps = fields(root).get("steps")
    is_ours = steps is not None and isinstance(steps.value, tuple) and "workflow" not in fields(root)
    if kind != "workflow" or not is_ours or any("id" in fields(step) for step in items(steps)):
        return None
    translation.check_part(root, "a steps-format workflow", keys.FILE)
    _check_version(fields(root).get("version"), translation)
    _check_names(items(steps), translation)
    # Twice: only a whole translation shows which results have to be kept in variables.
    scope = _scope(root, {})
    _file(root, scope, Translation())
    return _file(root, _scope(root, scope.kept_results), translation)


def _check_version(node: Node | None, translation: Translation) -> None:
    if node is None:
        return
    version = node.source or str(node.value)
    if version.partition(".")[0] != "1":
        translation.add_problem(
            node, 2, f'version "{version}" of the steps format is not supported', 'write version: "1.0"'
        )


def _check_names(steps: tuple[Node, ...], translation: Translation) -> None:
    names: set[str] = set()
    for step in all_steps(steps):
        if step_name(step) in names:
            translation.add_problem(step, 6, f'two steps are named "{step_name(step)}"')
        names.add(step_name(step))


def _scope(root: Node, kept_results: dict[str, set[str]]) -> Scope:
    steps = items(fields(root).get("steps"))
    everything = all_steps(steps)
    return Scope(
        names=Names((step_name(step) for step in everything), reserved=RESERVED),
        variables=Names(fields(fields(root).get("context"))),
        without_process=frozenset(step_name(step) for step in everything if not is_process(step)),
        without_output=frozenset(
            step_name(step) for step in everything if not {"command", "provider"} & set(fields(step))
        ),
        failing=frozenset(step_name(step) for step in everything if continues_after_failure(step)),
        places=Places(steps),
        kept_results=kept_results,
    )


def _file(root: Node, scope: Scope, translation: Translation) -> Node:
    entries = fields(root)
    listed = items(entries.get("steps"))
    is_strict = _check_transitions(root, translation)
    block = block_of(listed, scope, translation, top=entries.get("secrets"))
    _check_kept_results(listed, scope, translation)
    steps = nodes_of(block, root)
    file: dict[str, Any] = {
        "podium": 1,
        "name": _title(entries.get("name")),
        "description": entries.get("description"),
        "strict": entries.get("strict_flow") if is_strict else None,
        "vars": _vars(root, scope) or None,
        "secrets": entries.get("secrets"),
        "env": _env(entries.get("env"), scope),
        "limits": _limits(root, scope),
        "breaker": without_rules(root) if scope.places.has_jump_back else None,
        "workspace": "inplace",
        "labels": _labels(scope),
        "steps": new_node(steps, entries["steps"]),
    }
    return new_node(file, root)


def _check_transitions(root: Node, translation: Translation) -> bool:
    """In a strict file every step says where its success and its failure lead; False if one does not."""
    strict = fields(root).get("strict_flow")
    if strict is None or strict.value is not True:
        return True
    is_complete = True
    for step in all_steps(items(fields(root).get("steps"))):
        on = fields(fields(step).get("on"))
        needed = ("success",) if {"set_context", "catch"} & set(fields(step)) else ("success", "failure")
        missing = [word for word in needed if word not in on]
        if missing:
            is_complete = False
            message = f'strict_flow: step "{step_name(step)}" has no transition for {" and ".join(missing)}'
            hint = f"add on: {{{missing[0]}: {{goto: ...}}}}"
            translation.add_problem(fields(step).get("name", step), 30, message, hint)
    return is_complete


def _check_kept_results(steps: tuple[Node, ...], scope: Scope, translation: Translation) -> None:
    """The variables of a parallel branch end with it, so nothing after the block knows the rounds of a loop in it."""
    for step in all_steps(steps):
        name = step_name(step)
        if name in scope.kept_results and scope.places.is_below_parallel(name):
            message = (
                f'the result of "{name}", which is in a loop inside parallel, is read outside of the loop'
            )
            hint = "write it to a file, and read the file after the block"
            translation.add_problem(fields(step).get("name", step), 12, message, hint)


def _title(node: Node | None) -> Node | None:
    return new_node(name_of(node.value), node) if node is not None and isinstance(node.value, str) else node


def _vars(root: Node, scope: Scope) -> dict[str, Any]:
    """Scalars become texts; a key that is read but not set must come from `--context`, or is missing where it is read."""
    values: dict[str, Any] = {
        scope.variables[key]: replace(node, value=node.source) if node.source is not None else node
        for key, node in fields(fields(root).get("context")).items()
    }
    missing = {
        name: Node(None, node.place, node.key) for name, node in scope.read.items() if name not in values
    }
    results = {
        scope.kept_variable(step, result): Node(None, root.place, root.key)
        for step, fields_read in scope.kept_results.items()
        for result in sorted(fields_read)
    }
    jumps = {name: "" for key in (JUMP, JUMP_MESSAGE) if (name := scope.variables.get(f"{OWN}{key}"))}
    return {**values, **missing, **results, **jumps}


def _limits(root: Node, scope: Scope) -> dict[str, Any]:
    """Only its own `timeout` ends a run of this format. Loops get room, but one without an end is stopped."""
    entries = fields(root)
    steps = items(entries.get("steps"))
    loops = [each for step in all_steps(steps) if (each := fields(step).get("for_each"))]
    width = max((_width(fields(loop).get("items", loop)) for loop in loops), default=0)
    moves = max(_moves(steps), MANY_MOVES if scope.places.has_jump_back else 0)
    return {
        "time": seconds(entries["timeout"]) if "timeout" in entries else Node(None, root.place, root.key),
        "transitions": moves if moves > (LIMITS.transitions or 0) else None,
        "members": width if width > (LIMITS.members or 0) else None,
    }


def _moves(steps: tuple[Node, ...]) -> int:
    """How many moves of control the steps need at most, without jumps back."""
    moves = 0
    for step in steps:
        moves += 1
        for key in (*BLOCKS, "catch"):
            inner = _moves(inner_steps(fields(step).get(key)))
            rounds = fields(fields(step).get(key)).get("max_iterations") if key == "while" else None
            most = MAX_ROUNDS if rounds is None else rounds.value
            moves += inner * (most if key == "while" and isinstance(most, int) else 1)
    return moves


def _width(listed: Node) -> int:
    """The number of items; of a list that is computed, nothing is known."""
    return len(listed.value) if isinstance(listed.value, tuple) else MAX_ROUNDS


def _labels(scope: Scope) -> Mapping[str, Any]:
    """What the author calls each step and variable."""
    steps = {native: name for name, native in scope.names.items() if not name.startswith(OWN)}
    variables = {native: name for name, native in scope.variables.items() if not name.startswith(OWN)}
    return {"steps": steps, "vars": variables or None}


def _env(env: Node | None, scope: Scope) -> Node | list[str] | None:
    additional = sorted(scope.env - {str(item.value) for item in items(env)})
    if not additional:
        return env
    return [*(str(item.value) for item in items(env)), *additional]
