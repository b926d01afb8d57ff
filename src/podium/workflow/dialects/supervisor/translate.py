"""The supervisor format: a map of steps that name a role and the next step, with gates as strings, and templates.

    workflow:
      initial_step: plan
      steps:
        plan: {role: planner, next: review}
        review: {role: reviewer_gemini, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: commit}
        commit: {gate_type: orchestrator, command: git commit, terminal: true}

A gate passes by a verdict of a known shape, never by the string (C3).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.supervisor.projects import project_workflow
from podium.workflow.dialects.supervisor.steps import Plan, approval_before, step
from podium.workflow.dialects.translation import (
    APPROVAL,
    NEXT_STEP,
    Kind,
    Names,
    NextStep,
    Translation,
    labels_of_steps,
    name_of,
    new_node,
    shell_command,
    without_rules,
)
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items, text

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


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    entries = fields(root)
    if kind != "workflow":
        return None
    inner = entries.get("workflow")
    if inner is not None and {"steps", "template"} & set(fields(inner)):
        translation.check_part(root, "a supervisor-format file", keys.FILE)
        translation.check_part(inner, "workflow", keys.WORKFLOW)
        return (
            _composition(inner, translation) if "template" in fields(inner) else _workflow(inner, translation)
        )
    if "projects" in entries:
        return project_workflow(root, translation)
    if _is_template(root):
        translation.check_part(root, "a template", keys.TEMPLATE)
        return _template(root, translation)
    return None


def _is_template(root: Node) -> bool:
    entries = fields(root)
    steps = fields(entries.get("steps")).values()
    return bool({"settings", "hooks"} & set(entries)) or any(MARKS & set(fields(node)) for node in steps)


def _workflow(node: Node, translation: Translation) -> Node:
    entries = fields(node)
    _check_targets(node, translation)
    order = _in_order(entries["steps"], text(entries.get("initial_step")))
    plan = Plan(Names(order), order, frozenset(order))
    steps = _all_steps(plan, translation, is_child=False)
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(entries.get("name")) or "supervised"),
            "description": entries.get("description"),
            "labels": labels_of_steps(_labels(plan)),
            "inputs": {"task": "string"},
            "breaker": _breaker(entries["steps"]),
            "steps": new_node(steps, entries["steps"]),
        },
        node,
    )


FAILURES: Final = 5
"""How many failures of one step within `WITHIN` open the circuit breaker of this format."""
WITHIN: Final = "5m"


def _breaker(steps: Node) -> dict[str, Any] | None:
    """The rules of this format where steps lead back: failures in a short time, and the same work again.

    What `max_retries` allows is not cut short.
    """
    if not any({"on_fail", "on_reject"} & set(fields(each)) for each in fields(steps).values()):
        return None
    counts = [
        fields(each)["max_retries"].value for each in fields(steps).values() if "max_retries" in fields(each)
    ]
    most = max((count + 1 for count in counts if isinstance(count, int)), default=0)
    return {
        **without_rules(steps, "cycle", "plateau", "reversals"),
        "failures": {"count": max(FAILURES, most), "within": WITHIN},
        "visits": most if most > FAILURES else None,
    }


def _labels(plan: Plan) -> dict[str, str]:
    """What the author calls each step; the question before one is called after it."""
    questions = {
        f"{plan.names[name]}{APPROVAL}": f"{name}{APPROVAL}"
        for name, node in plan.steps.items()
        if approval_before(name, node, plan) is not None
    }
    return {plan.names[name]: name for name in plan.steps} | questions


def _all_steps(plan: Plan, translation: Translation, *, is_child: bool) -> dict[str, Any]:
    steps: dict[str, Any] = {}
    for name, node in plan.steps.items():
        approval = approval_before(name, node, plan)
        if approval is not None:
            place = {"before": plan.names[name]} if is_child else {}
            steps[f"{plan.names[name]}{APPROVAL}"] = new_node({**place, **approval}, node)
        steps[plan.names[name]] = (
            _positioned(name, node, plan, translation) if is_child else step(name, node, plan, translation)
        )
    return steps


def _check_targets(node: Node, translation: Translation) -> None:
    """Reports targets that do not exist, in a file without a parent; a child may lead to a step of its parent."""
    entries = fields(node)
    steps = fields(entries.get("steps"))
    targets = [(entries.get("initial_step"), "initial_step")]
    targets += [(fields(each).get("next"), f'next of "{name}"') for name, each in steps.items()]
    for target, source in targets:
        if target is not None and target.value not in steps:
            message = f'{source} leads to "{target.value}", which is not a step'
            translation.add_problem(target, 7, message, did_you_mean(str(target.value), steps))


def _in_order(steps: Node, first: str | None) -> dict[str, Node]:
    """The steps along `next` from the first one, then those that nothing leads to, in the order of the file."""
    by_name = fields(steps)
    order: dict[str, Node] = {}
    current = first if first in by_name else next(iter(by_name), None)
    while current is not None and current in by_name and current not in order:
        order[current] = by_name[current]
        current = text(fields(by_name[current]).get("next"))
    return {**order, **by_name}


def _composition(node: Node, translation: Translation) -> Node:
    entries = fields(node)
    changes = fields(entries.get("overrides", entries.get("steps")))
    plan = Plan(Names(list(changes)), changes, INHERITED | set(changes), has_parent=True)
    steps = _all_steps(plan, translation, is_child=True)
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(entries.get("name")) or "composed"),
            "extends": _parent(entries["template"]),
            "disable": entries.get("disable"),
            "steps": steps or None,
        },
        node,
    )


INHERITED: Final = frozenset({"plan", "implement", "commit"})
"""The steps that every template inherits from the base."""


def _template(root: Node, translation: Translation) -> Node:
    entries = fields(root)
    own_steps = fields(entries.get("steps"))
    extends = entries.get("extends")
    if extends is None:
        _check_targets(root, translation)
    available = frozenset(own_steps) | (INHERITED if extends is not None else frozenset())
    plan = Plan(
        Names(list(own_steps)),
        own_steps,
        available,
        switches=frozenset(fields(entries.get("settings"))),
        has_parent=extends is not None,
    )
    steps = _all_steps(plan, translation, is_child=extends is not None)
    gates, steps = _with_hooks(entries.get("hooks"), steps, translation)
    settings = _settings(entries.get("settings"), translation)
    inputs = settings.get("inputs", {})
    return new_node(
        {
            "podium": 1,
            "name": name_of(text(entries.get("name")) or "template"),
            "description": entries.get("description"),
            "labels": labels_of_steps(_labels(plan)) if extends is None else None,
            "extends": None if extends is None else _parent(extends),
            "disable": entries.get("disable"),
            "inputs": {**({} if extends is not None else {"task": "string"}), **inputs} or None,
            "switches": settings.get("switches"),
            "reviews": settings.get("reviews"),
            "roles": _external_roles(own_steps) or None,
            "gates": gates or None,
            "breaker": None if extends is not None or "steps" not in entries else _breaker(entries["steps"]),
            "steps": steps or None,
        },
        root,
    )


def _settings(settings: Node | None, translation: Translation) -> dict[str, Any]:
    """The switches as inputs with what they require, and how reviews are done."""
    if settings is None:
        return {}
    translation.check_part(settings, "settings", keys.SETTINGS)
    entries = {name: value for name, value in fields(settings).items() if name in keys.SETTINGS.keys}
    names = [name for name in entries if name in keys.SWITCHES]
    reviews = {
        native: entries[name]
        for name, native in (("parallel_reviews", "parallel"), ("dual_review", "dual"))
        if name in entries
    }
    return {
        "inputs": {name: {"type": "bool", "default": entries[name]} for name in names},
        "switches": [new_node(name, entries[name]) for name in names] or None,
        "reviews": reviews or None,
    }


def _external_roles(steps: Mapping[str, Node]) -> dict[str, Any]:
    """`security_auditor_external` is the role `security_auditor` with another vendor's agent."""
    role_names = [name for each in steps.values() for name in items(fields(each).get("roles"))]
    return {
        str(name.value): new_node({"extends": str(name.value).removesuffix(OUTSIDE), "agent": "gemini"}, name)
        for name in role_names
        if str(name.value).endswith(OUTSIDE)
    }


def _parent(node: Node) -> Node:
    return new_node(name_of(str(node.value)), node)


def _positioned(name: str, node: Node, plan: Plan, translation: Translation) -> Node:
    """The step with its position among the parent's steps: the given one, or after the step that leads to it."""
    native = dict(fields(step(name, node, plan, translation)))
    following = fields(node).get("next")
    if following is not None:
        native[NEXT_STEP] = new_node(NextStep(plan.names[str(following.value)]), following)
    position = fields(node).get("position")
    if position is not None:
        word, _, where = str(position.value).partition(" ")
        if word not in ("after", "before") or not where:
            translation.add_problem(
                position, 33, f'"{position.value}" is not a position', "write: after NAME, or before NAME"
            )
        place = {word if word == "before" else "after": new_node(plan.names[where.strip()], position)}
        return new_node({**place, **native}, node)
    predecessors = [
        other
        for other, each in plan.steps.items()
        if text(fields(each).get("next")) == name and "position" not in fields(each)
    ]
    if predecessors and name not in INHERITED:
        native = {"after": new_node(plan.names[predecessors[0]], node), **native}
    return new_node(native, node)


def _with_hooks(
    hooks: Node | None, steps: dict[str, Any], translation: Translation
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Turns the hooks that run before a commit into gates of the commit."""
    if hooks is None:
        return {}, steps
    translation.check_part(hooks, "hooks", keys.HOOKS)
    names = items(fields(hooks).get("pre_commit"))
    gates: Mapping[str, Any] = {
        name_of(str(each.value)): new_node({"run": HOOKS.get(str(each.value)) or shell_command(each)}, each)
        for each in names
    }
    commit = steps.get("commit")
    if commit is None:
        translation.add_problem(hooks, 36, "pre_commit hooks need a step named commit, and there is none")
        return {}, steps
    with_gates = {**fields(commit), "gates": new_node([*gates, *items(fields(commit).get("gates"))], hooks)}
    return dict(gates), {**steps, "commit": new_node(with_gates, commit)}
