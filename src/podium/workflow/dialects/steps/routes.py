"""Transitions of the steps format: `success`, `failure` and `timeout`, each with `goto`, `error` or `end`.

A native route stays in its block. A transition that leaves a loop sets the variable `jump`, breaks the loop, and a check
after the loop leads on from there.
"""

from __future__ import annotations

from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.steps import keys
from podium.workflow.dialects.steps.places import inner_steps, step_name, with_handlers
from podium.workflow.dialects.steps.scope import Jump, Scope
from podium.workflow.dialects.steps.text import as_value, split_references
from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, text

WORDS: Final = {"success": "passed", "timeout": "timeout", "failure": "else"}
SPECIAL: Final = ("_start", "_end", "_error", "_loop_break", "_loop_continue")
NO_TIMEOUT: Final = ("for_each", "while", "set_context")
JUMP: Final = "jump"
JUMP_MESSAGE: Final = "jump message"
END: Final = Jump("end", "")
ERROR: Final = Jump("fail", "")


def routes(step: Node, scope: Scope, translation: Translation, *, kind: str) -> dict[str, Any]:
    """The native target of each outcome that the step routes."""
    on = fields(step).get("on")
    targets: dict[str, Any] = {}
    if on is not None:
        part = keys.ROUTES_OF_SET if kind == "set_context" else keys.ROUTES
        translation.check_part(on, f'"on" of "{step_name(step)}"', part)
    for word, outcome in WORDS.items():
        action = fields(on).get(word)
        if action is None or (kind == "set_context" and word != "success"):
            continue
        if outcome == "timeout" and kind in NO_TIMEOUT:
            translation.add_problem(
                action, 8, f'a step with "{kind}" cannot have a timeout', 'remove "timeout"'
            )
            continue
        targets[outcome] = _Transition(action, word, scope, translation).target()
    return targets


def handles_failures(loop: Node) -> bool:
    """Whether every failure inside the loop leads somewhere, so that the loop itself does not fail."""
    failing = [step for step in with_handlers(inner_steps(loop)) if "set_context" not in fields(step)]
    return bool(failing) and all(
        "failure" in fields(fields(step).get("on")) or "catch" in fields(step) for step in failing
    )


def continues_after_failure(step: Node) -> bool:
    """Whether later steps may read the result of a failure."""
    on = fields(fields(step).get("on"))
    actions = [on[word] for word in ("failure", "timeout") if word in on]
    return "catch" in fields(step) or any("goto" in fields(action) for action in actions)


@dataclass(frozen=True, slots=True)
class _Transition:
    action: Node
    word: str
    scope: Scope
    translation: Translation

    def target(self) -> Any:
        self.translation.check_part(self.action, "a transition", keys.TARGET)
        entries = fields(self.action)
        if "error" in entries:
            return self._error(entries["error"])
        if "end" in entries:
            return self._end(entries["end"])
        goto = entries.get("goto")
        if text(goto) is None or goto is None:
            self.translation.add_problem(self.action, 2, "this transition has no goto, error or end")
            return "next"
        match str(goto.value):
            case "_end":
                return self._end(goto)
            case "_error":
                return self._error(goto)
            case "_start":
                return self._step(goto, self.scope.places.first)
            case "_loop_break" | "_loop_continue" as word:
                return self._loop(goto, word)
            case name:
                return self._step(goto, name)

    @property
    def _where(self) -> str:
        entries = fields(self.action)
        action = "end: true" if "end" in entries else f"goto: {text(entries.get('goto'))}"
        return f'{self.word}: {{{action}}} of "{self.scope.step}"'

    def _refuse(self, node: Node, rule: int, fact: str, hint: str = "") -> str:
        self.translation.add_problem(node, rule, f"{self._where}: {fact}", hint)
        return "next"

    def _error(self, node: Node) -> Any:
        scope = self.scope
        is_message = node.value != "_error"
        words = (
            as_value(split_references(str(node.value)), scope.meaning(node, self.translation))
            if is_message
            else ""
        )
        if scope.in_loop and scope.can_jump:
            return self._jump(ERROR, node, words)
        if scope.in_loop and self.word != "success":
            return new_node("break", node)
        return new_node({"fail": new_node(words, node)} if words else "fail", node)

    def _end(self, node: Node) -> Any:
        scope = self.scope
        if node.value is False:
            return self._refuse(node, 2, "end can only be true", "leave the transition out, or name a step")
        if scope.in_parallel:
            return new_node("next", node)
        if not scope.block:
            return new_node("end", node)
        if not scope.can_jump:
            return self._refuse(node, 7, "a loop inside parallel cannot end the run", "use _loop_break")
        return self._jump(END, node)

    def _loop(self, node: Node, word: str) -> Any:
        scope = self.scope
        if not scope.in_loop:
            return self._refuse(node, 7, "the step is not inside a loop")
        native = "break" if word == "_loop_break" else "end"
        if self.word == "success" or not scope.is_soft:
            return new_node(native, node)
        name = scope.added_step(f"{scope.block[-1]} {'leave' if native == 'break' else 'continue'}")
        scope.added[name] = new_node({"check": "true", "on": {"passed": native, "failed": "fail"}}, node)
        return new_node(name, node)

    def _step(self, node: Node, name: str) -> Any:
        scope, places = self.scope, self.scope.places
        if name not in places:
            hint = did_you_mean(name, (*places, *SPECIAL))
            return self._refuse(node, 7, f'step "{name}" does not exist', hint)
        block = places[name].block
        if scope.in_parallel:
            if name == places.after(scope.block[-1]):
                return new_node("next", node)
            return self._refuse(
                node, 11, "a step inside parallel can lead only to _end or to the step after parallel"
            )
        if block == scope.block:
            return new_node(scope.names[name], node)
        if scope.block[: len(block)] != block:
            return self._refuse(
                node, 7, f'"{name}" is inside "{block[-1]}"', f'lead to "{block[-1]}" instead'
            )
        if not scope.can_jump:
            return self._refuse(node, 7, "a loop inside parallel cannot lead there", "use _loop_break")
        return self._jump(Jump(scope.names[name], name), node)

    def _jump(self, jump: Jump, node: Node, message: str = "") -> Node:
        """Leads to a step at the end of the loop's body that leaves the loop."""
        scope = self.scope
        scope.jumps[jump] = None
        values = {scope.added_variable(JUMP): jump.label}
        if jump == ERROR:
            values[scope.added_variable(JUMP_MESSAGE)] = message or f"{scope.step} failed"
        name = scope.added_step(f"{scope.block[-1]} to {jump.label}{f' of {scope.step}' if message else ''}")
        scope.added[name] = new_node({"set": values, "on": {"passed": "break"}}, node)
        return new_node(name, node)


def jump_steps(
    loop: str, jumps: dict[Jump, None], scope: Scope, near: Node, onwards: Any
) -> tuple[str, dict[str, Node]]:
    """The steps after a loop that lead to where its body has jumped; `onwards` if it has not. Returns the first of them."""
    checks = [scope.added_step(f"{loop} left {jump.label}") for jump in jumps]
    added: dict[str, Node] = {}
    variable = scope.added_variable(JUMP)
    for number, (name, jump) in enumerate(zip(checks, jumps, strict=True)):
        following = checks[number + 1] if number + 1 < len(checks) else onwards
        go = scope.added_step(f"{loop} go {jump.label}")
        test = f"vars.{variable} != '{jump.label}'"
        added[name] = new_node({"check": test, "on": {"passed": following, "failed": go}}, near)
        added[go] = new_node(_leave(jump, scope, variable), near)
    return checks[0], added


def _leave(jump: Jump, scope: Scope, variable: str) -> dict[str, Any]:
    is_here = jump.target and scope.places[jump.target].block == scope.block
    if scope.block and not is_here:
        scope.jumps[jump] = None
        return {"check": "true", "on": {"passed": "break", "failed": "fail"}}
    if jump == ERROR:
        target: Any = {"fail": f"${{{{ vars.{scope.added_variable(JUMP_MESSAGE)} }}}}"}
    else:
        target = "end" if jump == END else scope.names[jump.target]
    return {"set": {variable: ""}, "on": {"passed": target}}
