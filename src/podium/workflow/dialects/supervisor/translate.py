"""The supervisor format: a map of steps that name a role and what comes next, with gates as strings, and templates.

    workflow:
      initial_step: plan
      steps:
        plan: {role: planner, next: review}
        review: {role: reviewer_gemini, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: commit}
        commit: {gate_type: orchestrator, command: git commit, terminal: true}

What opens a gate is a verdict of a known shape, never the string (C3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.supervisor.projects import project_workflow
from podium.workflow.dialects.supervisor.steps import Plan, approval_before, step
from podium.workflow.dialects.translation import Kind, Names, Translation, name_of, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

WORKFLOW: Final = ("initial_step", "steps", "name", "description", "template", "overrides", "disable")
TEMPLATE: Final = ("name", "description", "extends", "settings", "steps", "hooks", "disable")
MARKS: Final = frozenset(
    {"next", "gate", "gate_type", "type", "command", "on_reject", "on_fail", "position", "roles", "terminal"}
)
"""Keys of a step that no native step has."""

OUTSIDE: Final = "_external"

HOOKS: Final = {
    "lint": "make lint",
    "type_check": "make type-check",
    "format": "make format",
    "test": "make test",
}


def translate(root: Node, kind: Kind, page: Translation) -> Node | None:
    said = fields(root)
    if kind != "workflow":
        return None
    inner = said.get("workflow")
    if inner is not None and {"steps", "template"} & set(fields(inner)):
        page.check_keys(root, "a file of the supervisor", ("workflow",))
        page.check_keys(inner, "workflow", WORKFLOW)
        return _composition(inner, page) if "template" in fields(inner) else _workflow(inner, page)
    if "projects" in said:
        return project_workflow(root, page)
    if _is_template(root):
        page.check_keys(root, "a template", TEMPLATE)
        return _template(root, page)
    return None


def _is_template(root: Node) -> bool:
    said = fields(root)
    steps = fields(said.get("steps")).values()
    return bool({"settings", "hooks"} & set(said)) or any(MARKS & set(fields(node)) for node in steps)


def _workflow(node: Node, page: Translation) -> Node:
    said = fields(node)
    _check_ways(node, page)
    order = _in_order(said["steps"], text(said.get("initial_step")))
    plan = Plan(Names(order), order, frozenset(order))
    steps = _all_steps(plan, page, is_child=False)
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(said.get("name")) or "supervised"),
            "description": said.get("description"),
            "inputs": {"task": "string"},
            "steps": new_node(steps, said["steps"]),
        },
        node,
    )


def _all_steps(plan: Plan, page: Translation, *, is_child: bool) -> dict[str, Any]:
    steps: dict[str, Any] = {}
    for name, node in plan.steps.items():
        asked = approval_before(name, node, plan)
        if asked is not None:
            place = {"before": plan.names[name]} if is_child else {}
            steps[f"{plan.names[name]}_approval"] = new_node({**place, **asked}, node)
        steps[plan.names[name]] = (
            _placed(name, node, plan, page) if is_child else step(name, node, plan, page)
        )
    return steps


def _check_ways(node: Node, page: Translation) -> None:
    """Where there is no parent: of a child this cannot be told, since what it leads to may stand there."""
    said = fields(node)
    steps = fields(said.get("steps"))
    ways = [(said.get("initial_step"), "initial_step")]
    ways += [(fields(each).get("next"), f'next of "{name}"') for name, each in steps.items()]
    for way, what in ways:
        if way is not None and way.value not in steps:
            fault = f'{what} leads to "{way.value}", which is no step'
            page.complain(way, 7, fault, did_you_mean(str(way.value), steps))


def _in_order(steps: Node, first: str | None) -> dict[str, Node]:
    """Along `next` from the first step; what nothing leads to keeps its place in the file."""
    found = fields(steps)
    order: dict[str, Node] = {}
    here = first if first in found else next(iter(found), None)
    while here is not None and here in found and here not in order:
        order[here] = found[here]
        here = text(fields(found[here]).get("next"))
    return {**order, **found}


def _composition(node: Node, page: Translation) -> Node:
    said = fields(node)
    changes = fields(said.get("overrides", said.get("steps")))
    plan = Plan(Names(list(changes)), changes, INHERITED | set(changes))
    steps = _all_steps(plan, page, is_child=True)
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(said.get("name")) or "composed"),
            "extends": _parent(said["template"]),
            "disable": said.get("disable"),
            "steps": steps or None,
        },
        node,
    )


INHERITED: Final = frozenset({"plan", "implement", "commit"})
"""What every template has, by way of the base."""


def _template(root: Node, page: Translation) -> Node:
    said = fields(root)
    written = fields(said.get("steps"))
    extends = said.get("extends")
    if extends is None:
        _check_ways(root, page)
    known = frozenset(written) | (INHERITED if extends is not None else frozenset())
    plan = Plan(Names(list(written)), written, known, switches=frozenset(fields(said.get("settings"))))
    steps = _all_steps(plan, page, is_child=extends is not None)
    gates, steps = _hooked(said.get("hooks"), steps, page)
    inputs = {key: {"type": "bool", "default": value} for key, value in fields(said.get("settings")).items()}
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(said.get("name")) or "template"),
            "description": said.get("description"),
            "extends": None if extends is None else _parent(extends),
            "disable": said.get("disable"),
            "inputs": {**({} if extends is not None else {"task": "string"}), **inputs} or None,
            "roles": _outsiders(written) or None,
            "gates": gates or None,
            "steps": steps or None,
        },
        root,
    )


def _outsiders(steps: Mapping[str, Node]) -> dict[str, Any]:
    """`security_auditor_external` is the same role, played by somebody else."""
    named = [name for each in steps.values() for name in items(fields(each).get("roles"))]
    return {
        str(name.value): new_node({"extends": str(name.value).removesuffix(OUTSIDE), "agent": "gemini"}, name)
        for name in named
        if str(name.value).endswith(OUTSIDE)
    }


def _parent(node: Node) -> Node:
    return new_node(name_of(str(node.value)), node)


def _placed(name: str, node: Node, plan: Plan, page: Translation) -> Node:
    """With its place among the steps of the parent: where it says so, or behind the step that leads to it."""
    made = dict(fields(step(name, node, plan, page)))
    position = fields(node).get("position")
    if position is not None:
        word, _, where = str(position.value).partition(" ")
        if word not in ("after", "before") or not where:
            page.complain(
                position, 33, f'"{position.value}" is no position', "write: after NAME, or before NAME"
            )
        where_to = {word if word == "before" else "after": new_node(plan.names[where.strip()], position)}
        return new_node({**where_to, **made}, node)
    leading = [
        other
        for other, each in plan.steps.items()
        if text(fields(each).get("next")) == name and "position" not in fields(each)
    ]
    if leading and name not in INHERITED:
        made = {"after": new_node(plan.names[leading[0]], node), **made}
    return new_node(made, node)


def _hooked(
    hooks: Node | None, steps: dict[str, Any], page: Translation
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What runs before a commit is a gate of the commit."""
    if hooks is None:
        return {}, steps
    page.check_keys(hooks, "hooks", ("pre_commit",))
    names = items(fields(hooks).get("pre_commit"))
    gates: Mapping[str, Any] = {
        name_of(str(each.value)): new_node({"run": HOOKS.get(str(each.value), str(each.value))}, each)
        for each in names
    }
    commit = steps.get("commit")
    if commit is None:
        page.complain(hooks, 36, "pre_commit hooks need a step named commit")
        return {}, steps
    used = {**fields(commit), "gates": new_node([*gates, *items(fields(commit).get("gates"))], hooks)}
    return dict(gates), {**steps, "commit": new_node(used, commit)}
