"""Translates one step of the supervisor format: a role's work, a review, a command or an approval."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.supervisor.proofs import command_of_tests, proof_gate
from podium.workflow.dialects.translation import (
    APPROVAL,
    PLAN_PROMPT,
    PLAN_TITLE,
    REVIEW_FORM,
    TASK_PROMPT,
    TASK_TITLE,
    Names,
    ReviewForm,
    Translation,
    name_of,
    needs_shell,
    new_node,
    one_more,
)
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

KINDS: Final = ("orchestrator_gate", "orchestrator", "human_gate", "human")
JUDGING: Final = re.compile(r"(?:^|_)(?:review|validation)$")
CHANGING: Final = re.compile(r"^(?:implementer|test_engineer)")
"""Roles whose output is the files they change."""

PARAMETERS: Final = {"unit_test_coverage": "coverage"}
APPROVED: Final = "Is this good enough to continue?"
COMMIT: Final = "git commit"


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything around a step."""

    names: Names
    steps: Mapping[str, Node]
    """The steps of this file, in their order."""
    available: frozenset[str]
    """The steps of this file and, as far as known, of the templates it extends."""
    switches: frozenset[str] = frozenset()
    """Settings of the template, which become inputs."""
    has_parent: bool = False
    """Whether the file extends a template, so that its order is not the order of the run."""

    @property
    def title(self) -> str:
        return PLAN_TITLE if "plan" in self.available else TASK_TITLE

    def follows(self, name: str, target: str) -> bool:
        order = list(self.steps)
        index = order.index(name) + 1
        return index < len(order) and order[index] == target

    def entry(self, name: str) -> str:
        """The native step that leads into a step: the approval before it, if there is one."""
        is_asked = name in self.steps and approval_before(name, self.steps[name], self) is not None
        return f"{self.names[name]}{APPROVAL if is_asked else ''}"


def step(name: str, node: Node, plan: Plan, translation: Translation) -> Node:
    entries = fields(node)
    kind = _kind(name, node)
    translation.check_part(node, f'step "{name}"', keys.STEPS[kind])
    _check_type(node, translation)
    _check_end(name, node, plan, translation)
    native: dict[str, Any] = {"description": entries.get("description")}
    match kind:
        case "approval":
            question = entries.get("description", f"Continue after {name}?")
            native = {"human": question, "retry": _visits(entries.get("max_retries"))}
        case "command":
            native |= _command(node, plan, translation)
        case "review":
            native |= _review(name, node, plan)
        case _:
            native |= _work(name, node, plan, translation)
    native |= {"required": entries.get("required"), "on": _routes(name, node, plan, kind)}
    if kind == "work" and "role" in entries:
        native[REVIEW_FORM] = new_node(ReviewForm(new_node(_review_form(name, node, plan), node)), node)
    return new_node(native, node)


def _review_form(name: str, node: Node, plan: Plan) -> dict[str, Any]:
    """The step if its role is a kind of reviewer, which this file does not show."""
    entries = fields(node)
    return {
        "description": entries.get("description"),
        **_review(name, node, plan),
        "required": entries.get("required"),
        "on": _routes(name, node, plan, "review"),
    }


def _kind(name: str, node: Node) -> str:
    entries = fields(node)
    if _is_asking(node):
        return "approval"
    if _type(node).startswith("orchestrator") or "command" in entries:
        return "command"
    return "review" if _is_review(name, node) else "work"


def _type(node: Node) -> str:
    entries = fields(node)
    return text(entries.get("type", entries.get("gate_type"))) or ""


def _check_type(node: Node, translation: Translation) -> None:
    entries = fields(node)
    if {"type", "gate_type"} <= set(entries):
        message = 'a step cannot have both "type" and "gate_type"'
        translation.add_problem(entries["gate_type"], 5, message, "remove one of the two")
    if {"role", "roles"} <= set(entries):
        message = 'a step cannot have both "role" and "roles"'
        translation.add_problem(entries["role"], 5, message, "name all reviewers under roles")
    for key in ("type", "gate_type"):
        if key in entries and entries[key].value not in KINDS:
            message = f'"{entries[key].value}" is not a kind of step'
            hint = did_you_mean(str(entries[key].value), KINDS) or f"use one of {', '.join(KINDS)}"
            translation.add_problem(entries[key], 2, message, hint)


def _check_end(name: str, node: Node, plan: Plan, translation: Translation) -> None:
    terminal = fields(node).get("terminal")
    if terminal is None:
        return
    is_last = not plan.has_parent and list(plan.steps)[-1] == name
    if terminal.value is False and is_last and "next" not in fields(node):
        message = f'"terminal: false" of step "{name}" has no effect: no step follows it'
        translation.add_warning(terminal, message, "write next: NAME, or terminal: true")
    if not isinstance(terminal.value, bool):
        translation.add_problem(terminal, 2, f'terminal must be true or false, not "{terminal.value}"')
    elif terminal.value and "next" in fields(node):
        message = 'a step cannot have both "terminal: true" and "next"'
        translation.add_problem(terminal, 5, message, "remove one of the two")


def _is_asking(node: Node) -> bool:
    return _type(node).startswith("human")


def _is_review(name: str, node: Node) -> bool:
    entries = fields(node)
    role = text(entries.get("role")) or ""
    return (
        bool({"roles", "gate", "on_reject"} & set(entries))
        or role.startswith("reviewer")
        or bool(JUDGING.search(name))
    )


def _work(name: str, node: Node, plan: Plan, translation: Translation) -> dict[str, Any]:
    """A step that changes one of its template may have no role."""
    entries = fields(node)
    role = entries.get("role")
    gate = {"human": APPROVED, "show": ["diff", "verdicts", "cost"], "when": _when(plan)}
    commands = [fields(each).get("command") for each in plan.steps.values()]
    proof = proof_gate(fields(entries.get("config")), command_of_tests(commands))
    return {
        "role": role,
        "prompt": None if role is None else _prompt(name, plan),
        "with": {PARAMETERS.get(key, key): value for key, value in fields(entries.get("config")).items()}
        or None,
        "output": _output(name, node),
        "context": _context(node, plan, translation),
        "gates": [
            *([proof] if proof is not None else []),
            *([new_node(gate, entries["human_approval"])] if _is_on(entries.get("human_approval")) else []),
        ]
        or None,
        "retry": _retry(node, translation),
    }


def _prompt(name: str, plan: Plan) -> str:
    if name == "plan" or "plan" not in plan.available:
        return TASK_PROMPT
    return PLAN_PROMPT


def _output(name: str, node: Node) -> Any:
    """The format gives only names; a name with `file` becomes a list of paths, any other a text."""
    outputs = fields(node).get("outputs")
    if outputs is None or CHANGING.match(text(fields(node).get("role")) or ""):
        return None
    shape: dict[str, Any] = {"title": "string"} if name == "plan" else {}
    shape |= {
        name_of(str(item.value)): ["path"] if "file" in str(item.value) else "string"
        for item in items(outputs)
    }
    return {"schema": new_node(shape, outputs)}


def _context(node: Node, plan: Plan, translation: Translation) -> Any:
    scope = fields(node).get("context_scope")
    if scope is None:
        return None
    if scope.value not in keys.STRATEGIES:
        message = f'"{scope.value}" is not a context_scope'
        names = sorted(keys.STRATEGIES)
        hint = did_you_mean(str(scope.value), names) or f"use one of {', '.join(names)}"
        translation.add_problem(scope, 2, message, hint)
    return {"strategy": scope, "target": _planned_files(plan.steps.get("plan"))}


def _planned_files(planning: Node | None) -> Any:
    """The field of the plan with the files of the component; a plan without outputs is of the shipped shape."""
    if planning is None:
        return None
    outputs = [name_of(str(item.value)) for item in items(fields(planning).get("outputs"))]
    names = [name for name in outputs or ["files"] if "file" in name]
    return [f"${{{{ steps.plan.output.{names[0]} }}}}"] if names else None


def _retry(node: Node, translation: Translation) -> Any:
    """The name of a preset, or its settings; a plain number counts retries after the first attempt."""
    policy, tries = fields(node).get("retry_policy"), fields(node).get("max_retries")
    if policy is None:
        return None if tries is None else new_node({"attempts": one_more(tries)}, tries)
    if tries is not None:
        translation.add_problem(
            tries, 5, "retry_policy already sets the number of attempts", "remove one of the two"
        )
    if isinstance(policy.value, str):
        return policy
    translation.check_part(policy, "retry_policy", keys.RETRY_POLICY)
    entries = fields(policy)
    on_failure = entries.get("on_failure")
    asks = text(on_failure) == "ask_human"
    if on_failure is not None and not asks:
        message = f'"{on_failure.value}" is not an on_failure of a retry policy'
        translation.add_problem(on_failure, 2, message, "write ask_human, or remove it")
    return new_node(
        {"attempts": entries.get("max_attempts"), "on_exhausted": "human" if asks else None}, policy
    )


def _visits(tries: Node | None) -> Any:
    return None if tries is None else new_node({"visits": one_more(tries)}, tries)


def _review(name: str, node: Node, plan: Plan) -> dict[str, Any]:
    entries = fields(node)
    level = (
        "${{ 'human' if inputs.human_approval else 'auto' }}"
        if "human_approval" in plan.switches
        else "human"
    )
    return {
        "review": entries.get("roles", entries.get("role")),
        "of": _judged(name, node, plan),
        "level": new_node(level, entries["human_approval"])
        if _is_on(entries.get("human_approval"))
        else None,
        "parallel": _width(entries.get("parallel")),
        "retry": _visits(entries.get("max_retries")),
    }


def _width(parallel: Node | None) -> Any:
    """Reviewers work at once unless the file says otherwise."""
    return None if parallel is None or parallel.value is True else parallel


def _judged(name: str, node: Node, plan: Plan) -> Any:
    back = fields(node).get("on_reject")
    if back is not None:
        return new_node(plan.names[str(back.value)], back)
    default_step = "plan" if name.startswith("plan") else "implement"
    return plan.names[default_step] if default_step in plan.available else None


def approval_before(name: str, node: Node, plan: Plan) -> dict[str, Any] | None:
    """An approval step before a commit, so that what lands is what the person saw."""
    entries = fields(node)
    command = text(entries.get("command"))
    is_commit = command == COMMIT or (
        command is None and str(entries.get("type", node).value) == "orchestrator_gate"
    )
    if not is_commit or not _is_on(entries.get("human_approval")):
        return None
    return {"human": f"May {name} happen?", "show": ["diff", "verdicts", "cost"], "when": _when(plan)}


def _command(node: Node, plan: Plan, translation: Translation) -> dict[str, Any]:
    entries = fields(node)
    command = text(entries.get("command"))
    if command is not None and command != COMMIT and command.startswith(f"{COMMIT} "):
        message = "a commit made by a command is discarded with its checkout"
        translation.add_problem(
            entries["command"], 5, message, f"write command: {COMMIT}, which lands the work"
        )
    gate = {"human": APPROVED, "show": ["diff", "verdicts", "cost"], "when": _when(plan)}
    gates = [new_node(gate, entries["human_approval"])] if _is_on(entries.get("human_approval")) else None
    if command == COMMIT:
        return {"git": {"land": "${{ run.branch }}", "message": plan.title}}
    if command is None:
        return {}
    return {**_run(entries["command"], plan), "gates": gates, "retry": _visits(entries.get("max_retries"))}


def _run(command: Node, plan: Plan) -> dict[str, Any]:
    """A line without signs of a shell is split into words; anything else is a script that gets its variables from the environment."""
    script = str(command.value)
    if "\n" not in script.strip() and not needs_shell(script):
        return {"run": new_node(script.strip(), command)}
    names = dict.fromkeys(re.findall(r"\$\{([A-Z_]+)\}", script))
    return {
        "run": {"script": command},
        "env": [f"{name}={plan.title}" if name.startswith("PR_") else name for name in names] or None,
        "network": ["api.github.com"] if re.match(r"\s*gh\b", script) else None,
        "output": "text",
    }


def _when(plan: Plan) -> str | None:
    return "inputs.human_approval" if "human_approval" in plan.switches else None


def _is_on(node: Node | None) -> bool:
    return node is not None and node.value is True


def _routes(name: str, node: Node, plan: Plan, kind: str) -> dict[str, Any] | None:
    entries = fields(node)
    routes: dict[str, Any] = {}
    following = entries.get("next")
    if _is_on(entries.get("terminal")) and (plan.has_parent or list(plan.steps)[-1] != name):
        routes["passed"] = new_node("end", entries["terminal"])
    elif (
        following is not None
        and following.value in plan.steps
        and not plan.has_parent
        and not plan.follows(name, str(following.value))
    ):
        routes["passed"] = new_node(plan.entry(str(following.value)), following)
    if "on_fail" in entries:
        routes["failed"] = new_node(plan.names[str(entries["on_fail"].value)], entries["on_fail"])
    if kind == "approval":
        back = entries.get("on_reject")
        routes |= {} if back is None else {"rejected": new_node(plan.names[str(back.value)], back)}
    elif kind == "review":
        back = _judged(name, node, plan)
        routes |= {"rejected": back} if back is not None else {}
    return routes or None
