"""Transitions of the steps format: `success`, `failure` and `timeout`, each with `goto`, `error` or `end`."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.scope import Scope, inner_steps
from podium.workflow.dialects.steps.text import as_value, split_references
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, text

WORDS: Final = {"success": "passed", "timeout": "timeout", "failure": "else"}
BREAK: Final = "_loop_break"
HANDLED: Final = (BREAK, "_loop_continue")
NO_TIMEOUT: Final = ("for_each", "while", "set_context")


def routes(  # everything around a step
    step: Node, scope: Scope, translation: Translation, *, kind: str, first: str, following: str
) -> dict[str, Any] | None:
    on = fields(step).get("on")
    targets: dict[str, Any] = {}
    if on is not None:
        part = keys.ROUTES_OF_SET if kind == "set_context" else keys.ROUTES
        translation.check_part(on, f'"on" of "{text(fields(step).get("name")) or "step"}"', part)
    for word, outcome in WORDS.items():
        action = fields(on).get(word)
        if action is None or (kind == "set_context" and word != "success"):
            continue
        if outcome == "timeout" and kind in NO_TIMEOUT:
            translation.add_problem(
                action, 8, f'a step with "{kind}" cannot have a timeout', 'remove "timeout"'
            )
            continue
        targets[outcome] = _action(action, scope, translation, first)
        if scope.leave is not None and outcome != "passed" and _goto(action) == BREAK:
            targets[outcome] = new_node(scope.leave, action)
    if kind == "for_each" and "passed" in targets and _handles_failures(step):
        # Every failure in the body leads to _loop_break or _loop_continue and is thereby handled.
        targets["else"] = targets["passed"]
    if "catch" in fields(step):
        targets["passed"] = targets.get("passed", following)
        targets["else"] = f"{scope.names[text(fields(step).get('name')) or 'step']}_catch"
        targets.pop("timeout", None)
    return targets or None


def _action(action: Node, scope: Scope, translation: Translation, first: str) -> Node:
    translation.check_part(action, "a transition", keys.TARGET)
    entries = fields(action)
    if "error" in entries:
        return _error(entries["error"], scope, translation)
    if "end" in entries:
        return _end(entries["end"], scope, translation)
    goto = entries.get("goto", action)
    match goto.value:
        case "_end":
            return _end(goto, scope, translation)
        case "_error":
            return new_node("break" if scope.in_loop else "fail", goto)
        case "_start":
            return new_node(scope.names[first], goto)
        case str(target) if target == BREAK:
            return new_node("break", goto)
        case "_loop_continue":
            if not scope.in_loop:
                translation.add_problem(goto, 7, "_loop_continue is not inside a loop")
            return new_node("end", goto)
        case str(target):
            return new_node(scope.names[target], goto)
        case _:
            translation.add_problem(action, 2, "this transition has no goto, error or end")
            return new_node("next", action)


def _error(message: Node, scope: Scope, translation: Translation) -> Node:
    if scope.in_loop:
        return new_node("break", message)
    words = as_value(split_references(str(message.value)), scope.meaning(message, translation))
    return new_node({"fail": new_node(words, message)}, message)


def _end(node: Node, scope: Scope, translation: Translation) -> Node:
    if scope.in_loop:
        translation.add_problem(
            node, 7, "a step inside a loop cannot end the run", "leave the loop with _loop_break"
        )
    return new_node("end", node)


def exit_step_name(step: Node, kind: str) -> str | None:
    """The name of an extra step that ends the loop as passed after a failure leads out of it; None if it needs none.

    A loop that is left by a failed round has failed, as it has after `error`. Only a `for_each` that handles every failure
    can itself continue as if it had passed; `while` also fails when its rounds are used up.
    """
    inner = inner_steps(fields(step).get(kind))
    actions = [fields(fields(each).get("on")).get(word) for each in inner for word in ("failure", "timeout")]
    is_left = any(action is not None and _goto(action) == BREAK for action in actions)
    needs_one = is_left and not (kind == "for_each" and _handles_failures(step))
    return f"{name_of(text(fields(step).get('name')) or 'step')}_leave" if needs_one else None


def _goto(action: Node) -> str | None:
    return text(fields(action).get("goto"))


def _handles_failures(step: Node) -> bool:
    """Whether every failure inside the loop leads to _loop_break or _loop_continue."""
    failing = [
        None if action is None else _goto(action)
        for inner in inner_steps(fields(step).get("for_each"))
        if "set_context" not in fields(inner)
        for action in [fields(fields(inner).get("on")).get("failure")]
    ]
    return bool(failing) and all(target in HANDLED for target in failing)
