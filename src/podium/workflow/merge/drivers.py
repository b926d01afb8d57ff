"""Carries out `driver`: an agent decides after each step of a sequence which one is next, out of the legal ones.

    driver: tech_lead
    steps: {plan: ..., build: ...}

becomes a sequence with a question to that role behind each step, whose answers are routes:

    plan: ...  on: {else: after_failed_plan}
    after_plan: {role: tech_lead, output: {schema: {go: build | plan | fail, ...}}, on: {passed: [...]}}
    after_failed_plan: {role: tech_lead, output: {schema: {go: plan | fail, ...}}, on: {passed: [...]}}

So everything that holds for steps holds for the driver too: limits, contracts, the breaker, simulation, forecasts and
graphs. What is legal is decided here:

Rule 1: after a step that has passed: the next one, any step up to this one again, `fail`, and further ahead over steps that
        may be left out. `end` is legal if everything that is left may be left out.
Rule 2: after a step that has not passed: any step up to this one again, and `fail`; nobody passes over a failure.
Rule 3: a step may be left out unless it says `required: true`, or anything in the file reads its result.
Rule 4: a route that the file names for an outcome is followed without asking.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from podium.workflow.dialects.translation import new_node
from podium.workflow.merge.step_nodes import map_parts
from podium.workflow.source.nodes import Node, fields, text, with_field, without_keys

READ: Final = re.compile(r"\bsteps\.([a-z][a-z0-9_]*)")
WORDS: Final = frozenset({"end", "fail"})
MAX_ATTEMPTS: Final = {"attempts": 1, "repair": 1, "on_exhausted": "human"}
"""An answer that is not legal is handed back once; then a person is asked."""
UNFAILING: Final = frozenset({"set"})
"""Verbs that always pass."""
SHOWN_LIMITS: Final = ("usd", "time", "calls", "tokens", "transitions")
TEXTUAL: Final = ("role", "agent", "run", "steps")
"""Verbs whose result has a text."""
PROMPT: Final = """\
You lead the steps of this block: after each of them you decide which one is next. You do none of their work, and you change no \
files. Gates, limits and people are not yours to decide.

{goal}The steps, in their order:
{steps}

So far:
{outcomes}
{result}
{{% if feedback %}}
{{{{ feedback }}}}
{{% endif %}}
Used by the run so far: {{{{ run.usd }}}} dollars{limits}.

Answer with `go`, one of these:
{choices}
and with `reason`, which is recorded, and `guidance`: words for the step that comes next, or an empty text.
"""


class _Boundary(NamedTuple):
    """The point behind one step: where control may go from there."""

    step: str
    names: Sequence[str]
    position: int
    passed: bool
    ahead: tuple[str, ...]
    may_end: bool

    @property
    def targets(self) -> tuple[str, ...]:
        """What the driver may answer. A rehearsal without a cast takes the word in the middle, so that is the usual one."""
        repeated = tuple(self.names[: self.position + 1])
        targets = [*self.ahead, *repeated, *(["end"] if self.may_end else []), "fail"]
        targets.remove(self.usual)
        targets.insert((len(targets) + 1) // 2, self.usual)
        return tuple(targets)

    @property
    def usual(self) -> str:
        if not self.passed:
            return self.step
        return self.ahead[0] if self.ahead else "end"


def expand_drivers(root: Node, role_names: Collection[str]) -> Node:
    """The workflow without `driver` in its sequences; where it cannot be carried out it stays, and is reported."""
    if not any(key == "driver" for key in _keys(root)):
        return root
    read = frozenset(name for value in _texts(root) for name in READ.findall(value))
    shared = _Shared(root, read, role_names)
    return shared.expanded(map_parts(root, shared.expanded))


class _Shared(NamedTuple):
    root: Node
    read: Collection[str]
    role_names: Collection[str]

    @property
    def is_strict(self) -> bool:
        """Whether every failure must have a route in the file."""
        strict = fields(self.root).get("strict")
        return strict is not None and strict.value is True

    def expanded(self, block: Node) -> Node:
        keys = fields(block)
        role, steps = text(keys.get("driver")), keys.get("steps")
        if role is None or steps is None or not _is_sequence(block):
            return block
        names = list(fields(steps))
        if WORDS & set(names) or any(_questions(name) & set(names) for name in names):
            return block
        inner = {name: node for index in range(len(names)) for name, node in self._around(block, role, index)}
        return with_field(without_keys(block, "driver"), "steps", new_node(inner, steps))

    def _around(self, block: Node, role: str, index: int) -> Iterator[tuple[str, Node]]:
        """A step and the questions behind it."""
        steps = fields(fields(block)["steps"])
        name, step = list(steps.items())[index]
        routes = dict(fields(fields(step).get("on")))
        asks_after_pass = "passed" not in routes
        asks_after_failure = "else" not in routes and not UNFAILING & fields(step).keys()
        if asks_after_pass and self.is_strict:
            routes["passed"] = new_node(f"after_{name}", step)
        if asks_after_failure:
            routes["else"] = new_node(f"after_failed_{name}", step)
        if not asks_after_pass and "when" in fields(step) and "skipped" not in routes:
            following = list(steps)[index + 1 : index + 2]
            routes["skipped"] = new_node(following[0] if following else "end", step)
        stripped = without_keys(step, "required")
        yield name, with_field(stripped, "on", new_node(routes, step)) if routes else stripped
        near = fields(block)["driver"]
        if asks_after_pass:
            yield (
                f"after_{name}",
                self._question(block, role, self._boundary(block, index, passed=True), near),
            )
        if asks_after_failure:
            boundary = self._boundary(block, index, passed=False)
            yield f"after_failed_{name}", self._question(block, role, boundary, near)

    def _boundary(self, block: Node, index: int, *, passed: bool) -> _Boundary:
        steps = fields(fields(block)["steps"])
        names = list(steps)
        ahead: list[str] = []
        may_end = passed
        for name in names[index + 1 :] if passed else ():
            if may_end:
                ahead.append(name)
            may_end = may_end and self._may_leave_out(name, steps[name])
        return _Boundary(names[index], names, index, passed, tuple(ahead), may_end)

    def _may_leave_out(self, name: str, step: Node) -> bool:
        required = fields(step).get("required")
        return not (required is not None and required.value is True) and name not in self.read

    def _question(self, block: Node, role: str, at: _Boundary, near: Node) -> Node:
        own = f"after_{at.step}" if at.passed else f"after_failed_{at.step}"
        answer = f"steps.{own}.output"
        routes: list[dict[str, str]] = [
            {"when": f'{answer}.go == "{target}"', **_route(target, answer)}
            for target in at.targets
            if target != "fail"
        ]
        # Also if a person accepts an answer that names no legal step, once the driver has had its tries.
        routes.append({"fail": f"${{{{ default({answer}.reason, 'no legal step was named') }}}}"})
        value: dict[str, Any] = {
            "log": f"which step follows {at.step}",
            "role"
            if role in self.role_names or role not in fields(fields(self.root).get("agents"))
            else "agent": role,
            "prompt": self._prompt(block, at),
            "touches": [],
            "output": {"schema": {"go": " | ".join(at.targets), "reason": "string", "guidance": "string"}},
            "retry": dict(MAX_ATTEMPTS),
            "on": {"passed": routes, "else": "fail" if self.is_strict else None},
        }
        return new_node(value, near)

    def _prompt(self, block: Node, at: _Boundary) -> str:
        steps = fields(fields(block)["steps"])
        last = fields(steps[at.step])
        limits = dict.fromkeys(
            f"{unit} {limit.value}"
            for owner in (self.root, block)
            for unit, limit in fields(fields(owner).get("limits")).items()
            if unit in SHOWN_LIMITS and isinstance(limit.value, str | int | float)
        )
        has_text = at.passed and any(verb in last for verb in TEXTUAL)
        return PROMPT.format(
            goal=self._goal(block),
            steps="\n".join(f"- {name}: {_about(step)}" for name, step in steps.items()),
            outcomes="\n".join(
                f"- {name}: {{{{ default(steps.{name}.outcome, 'left out') }}}}"
                for name in at.names[: at.position + 1]
            ),
            result=f"\n{at.step} has answered:\n{{{{ default(steps.{at.step}.text, '') | fence }}}}\n"
            if has_text
            else "",
            limits=f"; limits: {', '.join(limits)}" if limits else "",
            choices="\n".join(f"- {target}: {_meaning(target, at)}" for target in at.targets),
        )

    def _goal(self, block: Node) -> str:
        described = text(fields(block).get("description")) or text(fields(self.root).get("description"))
        inputs = "".join(
            f"- {name}: {{{{ default(inputs.{name}, '') | json }}}}\n"
            for name in fields(fields(self.root).get("inputs"))
        )
        goal = f"{_harmless(described)}\n\n" if described else ""
        return goal + (f"The inputs of the run:\n{inputs}\n" if inputs else "")


def _route(target: str, answer: str) -> dict[str, str]:
    if target in WORDS:
        return {target: f"${{{{ {answer}.reason }}}}"}
    return {"to": target, "feedback": f"${{{{ {answer}.guidance }}}}"}


def _is_sequence(block: Node) -> bool:
    steps = fields(fields(block)["steps"]).values()
    return "parallel" not in fields(block) and not any("needs" in fields(step) for step in steps)


def _questions(name: str) -> set[str]:
    return {f"after_{name}", f"after_failed_{name}"}


def _meaning(target: str, at: _Boundary) -> str:
    if target == "end":
        return (
            "this block is done; the steps that are left may be left out"
            if at.position + 1 < len(at.names)
            else "this block is done"
        )
    if target == "fail":
        return "this block has failed, and nothing of it can be saved"
    if target in at.names[: at.position + 1]:
        return "do this step again; later results are discarded"
    return (
        "the next step"
        if at.names.index(target) == at.position + 1
        else "continue here and skip the steps before it"
    )


def _about(step: Node) -> str:
    """What a step is for, in a line."""
    keys = fields(step)
    described = text(keys.get("description")) or text(keys.get("log"))
    if described:
        return _harmless(described)
    verb = next(
        (key for key in ("role", "agent", "run", "review", "human", "steps", "git", "check") if key in keys),
        "step",
    )
    what = text(keys.get("human")) or text(keys.get("prompt")) or text(keys.get(verb)) or ""
    return _harmless(f"{verb} {what}".strip())[:160].replace("\n", " ")


def _harmless(words: str) -> str:
    """Text of the file that must not be read as a template again."""
    return " ".join(re.sub(r"[{}]+[%#]?|[%#][{}]+", " ", words).split())


def _keys(node: Node) -> Iterator[str]:
    for key, value in _fields(node):
        yield key
        yield from _keys(value)


def _texts(node: Node) -> Iterator[str]:
    if isinstance(node.value, str):
        yield node.value
    for _, value in _fields(node):
        yield from _texts(value)


def _fields(node: Node) -> Iterator[tuple[str, Node]]:
    if isinstance(node.value, Mapping):
        yield from node.value.items()
    elif isinstance(node.value, tuple):
        yield from (("", item) for item in node.value)
