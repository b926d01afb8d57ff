"""Transitions of the steps format: `success`, `failure` and `timeout`, each with `goto`, `error` or `end`."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.steps.scope import Scope, inner_steps
from podium.workflow.dialects.steps.text import as_value, parts_of
from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, text

WORDS: Final = {"success": "passed", "timeout": "timeout", "failure": "else"}
BREAK: Final = "_loop_break"
HANDLED: Final = (BREAK, "_loop_continue")
NO_TIMEOUT: Final = ("for_each", "while", "set_context")


def routes(  # what surrounds a step
    step: Node, scope: Scope, page: Translation, *, kind: str, first: str, following: str
) -> dict[str, Any] | None:
    on = fields(step).get("on")
    found: dict[str, Any] = {}
    if on is not None:
        page.check_keys(on, '"on"', WORDS)
    for word, outcome in WORDS.items():
        action = fields(on).get(word)
        if action is None or (kind == "set_context" and word != "success"):
            continue
        if outcome == "timeout" and kind in NO_TIMEOUT:
            page.complain(action, 8, f'a step with "{kind}" has no time of its own', 'leave out "timeout"')
            continue
        found[outcome] = _action(action, scope, page, first)
        if scope.leave is not None and outcome != "passed" and _goal(action) == BREAK:
            found[outcome] = new_node(scope.leave, action)
    if kind == "for_each" and "passed" in found and _handles_failures(step):
        # What the body has given to _loop_break or _loop_continue is dealt with.
        found["else"] = found["passed"]
    if "catch" in fields(step):
        found["passed"] = found.get("passed", following)
        found["else"] = f"{scope.names[text(fields(step).get('name')) or 'step']}_catch"
        found.pop("timeout", None)
    return found or None


def _action(action: Node, scope: Scope, page: Translation, first: str) -> Node:
    page.check_keys(action, "a transition", ("goto", "error", "end"))
    said = fields(action)
    if "error" in said:
        return _error(said["error"], scope, page)
    if "end" in said:
        return _end(said["end"], scope, page)
    goto = said.get("goto", action)
    match goto.value:
        case "_end":
            return _end(goto, scope, page)
        case "_error":
            return new_node("break" if scope.in_loop else "fail", goto)
        case "_start":
            return new_node(scope.names[first], goto)
        case str(target) if target == BREAK:
            return new_node("break", goto)
        case "_loop_continue":
            if not scope.in_loop:
                page.complain(goto, 7, "_loop_continue outside of a loop leads nowhere")
            return new_node("end", goto)
        case str(target):
            return new_node(scope.names[target], goto)
        case _:
            page.complain(action, 2, "a transition needs goto, error or end")
            return new_node("next", action)


def _error(message: Node, scope: Scope, page: Translation) -> Node:
    if scope.in_loop:
        return new_node("break", message)
    words = as_value(parts_of(str(message.value)), scope.meaning(message, page))
    return new_node({"fail": new_node(words, message)}, message)


def _end(node: Node, scope: Scope, page: Translation) -> Node:
    if scope.in_loop:
        page.complain(node, 7, "a loop cannot end the run", "leave the loop with _loop_break")
    return new_node("end", node)


def leaving(step: Node, kind: str) -> str | None:
    """What the step is called that a loop needs to be left as passed, after a failure that was dealt with by leaving.

    A loop that is left by a failed round has failed, as it has by `error`. Only where every failure of a `for_each` is
    dealt with, the loop itself can lead on as if it had passed; `while` also fails when its rounds are used up.
    """
    inner = inner_steps(fields(step).get(kind))
    actions = [fields(fields(each).get("on")).get(word) for each in inner for word in ("failure", "timeout")]
    is_left = any(action is not None and _goal(action) == BREAK for action in actions)
    needs_one = is_left and not (kind == "for_each" and _handles_failures(step))
    return f"{name_of(text(fields(step).get('name')) or 'step')}_leave" if needs_one else None


def _goal(action: Node) -> str | None:
    return text(fields(action).get("goto"))


def _handles_failures(step: Node) -> bool:
    """Whether every failure inside the loop leads to the loop itself."""
    failing = [
        None if action is None else _goal(action)
        for inner in inner_steps(fields(step).get("for_each"))
        if "set_context" not in fields(inner)
        for action in [fields(fields(inner).get("on")).get("failure")]
    ]
    return bool(failing) and all(target in HANDLED for target in failing)
