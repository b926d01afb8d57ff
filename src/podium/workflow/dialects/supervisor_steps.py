"""One step of the supervisor format: a role at work, a review, a command of the orchestrator, a person."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podium.core.records import dataclass
from podium.workflow.dialects.page import Names, Page, grown, name_of
from podium.workflow.tree import Node, fields, items, text

STEP: Final = (
    "role",
    "roles",
    "parallel",
    "type",
    "gate_type",
    "command",
    "next",
    "gate",
    "on_reject",
    "on_fail",
    "outputs",
    "max_retries",
    "terminal",
    "config",
    "retry_policy",
    "context_scope",
    "human_approval",
    "description",
    "position",
    "required",
)
JUDGING: Final = re.compile(r"(?:^|_)(?:review|validation)$")
CHANGING: Final = re.compile(r"^(?:implementer|test_engineer)")
"""Roles whose output is what they change."""

PARAMETERS: Final = {"unit_test_coverage": "coverage"}
APPROVED: Final = "Is this good to go on?"
COMMIT: Final = "git commit"
TITLE: Final = "${{ steps.plan.output.title }}"


@dataclass(frozen=True, slots=True)
class Plan:
    """What a step has around it."""

    names: Names
    steps: Mapping[str, Node]
    """Those of this file, in their order."""
    known: frozenset[str]
    """Those of the templates below too, as far as they are known here."""
    switches: frozenset[str] = frozenset()
    """Settings of the template, which are inputs."""

    @property
    def title(self) -> str:
        return TITLE if "plan" in self.known else "${{ inputs.task }}"

    def follows(self, name: str, target: str) -> bool:
        order = list(self.steps)
        index = order.index(name) + 1
        return index < len(order) and order[index] == target


def step(name: str, node: Node, plan: Plan, page: Page) -> Node:
    page.check_keys(node, f'step "{name}"', STEP)
    said = fields(node)
    kind = text(said.get("type", said.get("gate_type"))) or ""
    native: dict[str, Any] = {"description": said.get("description")}
    if kind.startswith("human"):
        native |= {"human": said.get("description", f"May the run go on after {name}?"), "description": None}
    elif kind.startswith("orchestrator") or "command" in said:
        native |= _command(node, plan)
    elif _is_review(name, node):
        native |= _review(name, node, plan)
    elif "role" in said:
        native |= _work(name, node, plan)
    native |= {"required": said.get("required"), "on": _routes(name, node, plan)}
    return grown(native, node)


def _is_review(name: str, node: Node) -> bool:
    said = fields(node)
    role = text(said.get("role")) or ""
    return "roles" in said or "gate" in said or role.startswith("reviewer") or bool(JUDGING.search(name))


def _work(name: str, node: Node, plan: Plan) -> dict[str, Any]:
    said = fields(node)
    role = said["role"]
    scope = said.get("context_scope")
    gate = {"human": APPROVED, "show": ["diff", "verdicts", "cost"], "when": _when(plan)}
    return {
        "role": role,
        "prompt": _prompt(name, plan),
        "with": {PARAMETERS.get(key, key): value for key, value in fields(said.get("config")).items()}
        or None,
        "context": None if scope is None else {"strategy": grown("implementer_targeted", scope)},
        "output": _output(name, node),
        "gates": [grown(gate, said["human_approval"])] if _is_on(said.get("human_approval")) else None,
        "retry": _retry(said.get("retry_policy")),
    }


def _prompt(name: str, plan: Plan) -> str:
    if name == "plan" or "plan" not in plan.known:
        return "{{ inputs.task }}"
    return "{{ inputs.task }}\n{{ steps.plan.output | json }}"


def _output(name: str, node: Node) -> Any:
    """Names only are said; files are paths and everything else is text."""
    outputs = fields(node).get("outputs")
    if outputs is None or CHANGING.match(text(fields(node).get("role")) or ""):
        return None
    shape: dict[str, Any] = {"title": "string"} if name == "plan" else {}
    shape |= {
        name_of(str(item.value)): ["path"] if "file" in str(item.value) else "string"
        for item in items(outputs)
    }
    return {"schema": grown(shape, outputs)}


def _retry(policy: Node | None) -> Any:
    """The name of a preset, or what one says."""
    if policy is None or isinstance(policy.value, str):
        return policy
    said = fields(policy)
    asks = text(said.get("on_failure")) == "ask_human"
    return grown({"attempts": said.get("max_attempts"), "on_exhausted": "human" if asks else None}, policy)


def _review(name: str, node: Node, plan: Plan) -> dict[str, Any]:
    said = fields(node)
    level = (
        "${{ 'human' if inputs.human_approval else 'auto' }}"
        if "human_approval" in plan.switches
        else "human"
    )
    return {
        "review": said.get("roles", said.get("role")),
        "of": _judged(name, node, plan),
        "level": grown(level, said["human_approval"]) if _is_on(said.get("human_approval")) else None,
    }


def _judged(name: str, node: Node, plan: Plan) -> Any:
    back = fields(node).get("on_reject")
    if back is not None:
        return grown(plan.names[str(back.value)], back)
    wanted = "plan" if name.startswith("plan") else "implement"
    return plan.names[wanted] if wanted in plan.known else None


def approval_before(name: str, node: Node, plan: Plan) -> dict[str, Any] | None:
    """Who wants to be asked about a commit is asked before it: what lands is what the person saw."""
    said = fields(node)
    command = text(said.get("command"))
    is_commit = command == COMMIT or (
        command is None and str(said.get("type", node).value) == "orchestrator_gate"
    )
    if not is_commit or not _is_on(said.get("human_approval")):
        return None
    return {"human": f"May {name} happen?", "show": ["diff", "verdicts", "cost"], "when": _when(plan)}


def _command(node: Node, plan: Plan) -> dict[str, Any]:
    said = fields(node)
    command = text(said.get("command"))
    gate = {"human": APPROVED, "show": ["diff", "verdicts", "cost"], "when": _when(plan)}
    gates = [grown(gate, said["human_approval"])] if _is_on(said.get("human_approval")) else None
    if command == COMMIT:
        return {"git": {"land": "${{ run.branch }}", "message": plan.title}}
    if command is None:
        return {}
    tries = said.get("max_retries")
    visits = tries.value + 1 if tries is not None and isinstance(tries.value, int) else None
    return {
        **_run(said["command"], plan),
        "gates": gates,
        "retry": None if visits is None else {"visits": visits},
    }


def _run(command: Node, plan: Plan) -> dict[str, Any]:
    """One line is split into words; several are a script, whose variables come by the environment."""
    written = str(command.value)
    if "\n" not in written.strip():
        return {"run": grown(written.strip(), command)}
    names = dict.fromkeys(re.findall(r"\$\{([A-Z_]+)\}", written))
    return {
        "run": {"script": command},
        "env": [f"{name}={plan.title}" if name.startswith("PR_") else name for name in names] or None,
        "network": ["api.github.com"] if re.match(r"\s*gh\b", written) else None,
        "output": "text",
    }


def _when(plan: Plan) -> str | None:
    return "inputs.human_approval" if "human_approval" in plan.switches else None


def _is_on(node: Node | None) -> bool:
    return node is not None and node.value is True


def _routes(name: str, node: Node, plan: Plan) -> dict[str, Any] | None:
    said = fields(node)
    found: dict[str, Any] = {}
    following = said.get("next")
    if _is_on(said.get("terminal")) and list(plan.steps)[-1] != name:
        found["passed"] = grown("end", said["terminal"])
    elif (
        following is not None
        and following.value in plan.steps
        and not plan.follows(name, str(following.value))
    ):
        found["passed"] = grown(plan.names[str(following.value)], following)
    if "on_fail" in said:
        found["failed"] = grown(plan.names[str(said["on_fail"].value)], said["on_fail"])
    if _is_review(name, node) and "command" not in said:
        back = _judged(name, node, plan)
        found |= {"rejected": back} if back is not None else {}
    return found or None
