"""Translates files of the supervisor format other than workflows: roles, limits, policies, features."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.supervisor.approval import approval
from podium.workflow.dialects.supervisor.features import feature, phase
from podium.workflow.dialects.supervisor.roles import is_role, role
from podium.workflow.dialects.translation import (
    Kind,
    Translation,
    filled,
    name_of,
    new_node,
    one_more,
    seconds,
)
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items

DEFAULT: Final = "default"
STRATEGY: Final = frozenset({"algorithm", "priority_order", "token_budget", "name"})


def translate(root: Node, kind: Kind, translation: Translation) -> Node | None:
    entries = fields(root)
    match kind:
        case "role":
            return role(root, translation) if is_role(root) else None
        case "feature" if "feature" in entries:
            return feature(entries["feature"], translation)
        case "feature" if "phase_output" in entries:
            return phase(entries["phase_output"], translation)
        case "configuration":
            return _configuration(root, translation)
        case _:
            return None


def _configuration(root: Node, translation: Translation) -> Node | None:
    if set(fields(root)) >= STRATEGY:
        return _strategy(root, translation)
    if not any(key in PARTS and PARTS[key][0](node) for key, node in fields(root).items()):
        return None
    translation.check_part(root, "a supervisor-format configuration", keys.CONFIGURATION)
    configuration: dict[str, Any] = {}
    # In the order of the table, so that a policy named "default" replaces the one that limits make.
    for key, (_, translate_part) in PARTS.items():
        if key in fields(root):
            part = translate_part(fields(root)[key], translation)
            configuration |= {name: {**configuration.get(name, {}), **value} for name, value in part.items()}
    return new_node(configuration, root)


def _limits(node: Node, translation: Translation) -> dict[str, Any]:
    """A step may be entered and tried once more than it may be retried."""
    translation.check_part(node, "limits", keys.LIMITS)
    entries = fields(node)
    retries = entries.get("step_max_retries")
    attempts = None if retries is None else new_node(one_more(retries), retries)
    backoff = {
        "first": seconds(entries.get("retry_base_delay_seconds")),
        "times": entries.get("retry_exponential_base"),
        "max": seconds(entries.get("retry_max_delay_seconds")),
    }
    retry = {"attempts": attempts, "backoff": filled(backoff)}
    parts = {
        "limits": filled({"transitions": entries.get("workflow_max_steps")}),
        "breaker": filled({"visits": attempts}),
        "retries": filled({DEFAULT: filled(retry)}),
        "defaults": filled(
            {
                "timeout": seconds(entries.get("step_timeout_seconds")),
                "retry": DEFAULT if filled(retry) else None,
            }
        ),
        "context": filled(
            {
                "budget": entries.get("default_token_budget"),
                "max_budget": entries.get("max_token_budget"),
            }
        ),
    }
    return filled(parts) or {}


def _continuity(node: Node, translation: Translation) -> dict[str, Any]:
    translation.check_part(node, "continuity", keys.CONTINUITY)
    entries = fields(node)
    allowed = entries.get("allow_continuation")
    turns = entries.get("max_continuation_turns", 1)
    if allowed is not None and allowed.value is False:
        return {}
    names = items(entries.get("continuation_roles"))
    return {
        "roles": {
            name_of(str(name.value)): new_node({"continuity": {"turns": turns}}, name) for name in names
        }
    }


def _policies(node: Node, translation: Translation) -> dict[str, Any]:
    presets: dict[str, Any] = {}
    for name, policy in fields(node).items():
        translation.check_part(policy, f'policy "{name}"', keys.POLICY)
        entries = fields(policy)
        jitter = entries.get("jitter")
        share = None if jitter is None else new_node(_share(jitter.value), jitter)
        backoff = {
            "first": seconds(entries.get("initial_delay_seconds")),
            "times": entries.get("backoff_multiplier"),
            "max": seconds(entries.get("max_delay_seconds")),
            "jitter": share,
        }
        presets[name_of(name)] = new_node(
            {"attempts": entries.get("max_attempts"), "backoff": backoff}, policy
        )
    # The policy with this name is that of all steps that name none.
    return {"retries": presets, **({"defaults": {"retry": DEFAULT}} if DEFAULT in presets else {})}


def _share(value: object) -> object:
    return f"{round(value * 100)}%" if isinstance(value, int | float) else value


def _steps(node: Node, translation: Translation) -> dict[str, Any]:
    """The policies by step; a step of a workflow that names one itself keeps that."""
    steps: dict[str, Any] = {}
    for name, each in fields(node).items():
        translation.check_part(each, f'step "{name}"', keys.POLICY_OF_STEP)
        steps[name_of(name)] = new_node({"retry": fields(each).get("retry_policy")}, each)
    return {"defaults": {"steps": steps}}


def _git(node: Node, translation: Translation) -> dict[str, Any]:
    translation.check_part(node, "git", keys.GIT)
    entries = fields(node)
    has_branch = _is_true(entries.get("auto_branch"))
    pattern = entries.get("branch_pattern")
    if pattern is not None and not has_branch:
        translation.add_warning(pattern, '"branch_pattern" of git has no effect: auto_branch is not true')
    branch = _branch(pattern or new_node(BRANCH, node), translation) if has_branch else None
    policy = {
        "branch": branch,
        "commit": entries.get("auto_commit"),
        "preview": entries.get("dry_run_preview"),
        "on_failure": "stash" if has_branch else None,
    }
    return {"git": filled(policy) or {}}


def _is_true(node: Node | None) -> bool:
    return node is not None and node.value is True


def _branch(pattern: Node, translation: Translation) -> Node:
    """The pattern with expressions in place of the names of the format."""

    def insert(name: re.Match[str]) -> str:
        if name[1] not in PLACEHOLDERS:
            message = f'"{{{name[1]}}}" of branch_pattern is not known'
            hint = did_you_mean(name[1], PLACEHOLDERS) or f"there are {', '.join(PLACEHOLDERS)}"
            translation.add_problem(pattern, 2, message, hint)
        return "${{ " + PLACEHOLDERS.get(name[1], "run.id") + " }}"

    return new_node(re.sub(r"\{(\w+)\}", insert, str(pattern.value)), pattern)


BRANCH: Final = "ai/{task_id}"
PLACEHOLDERS: Final = {
    "task_id": "run.id",
    "description": "slug(inputs.task, 40)",
    "task": "slug(inputs.task, 40)",
    "date": "run.date",
    "workflow": "run.name",
}


def _workers(node: Node, translation: Translation) -> dict[str, Any]:
    for name, worker in fields(node).items():
        translation.check_part(worker, f'worker "{name}"', keys.WORKERS)
    return {}


def _adaptive(node: Node, translation: Translation) -> dict[str, Any]:
    translation.check_part(node, "adaptive", keys.ADAPTIVE)
    entries = fields(node)
    locked = fields(entries.get("locked_assignments"))
    settings: dict[str, Any] = {
        name: entries[key]
        for key, name in (
            ("min_samples_before_adapt", "min_samples"),
            ("max_deviation_from_default", "max_deviation"),
        )
        if key in entries
    }
    enabled, days = entries.get("enabled"), entries.get("adaptation_interval_days")
    if enabled is not None:
        settings["policy"] = new_node("first" if enabled.value is False else "rule", enabled)
    if days is not None:
        settings["interval"] = new_node(f"{days.value}d", days)
    roles = {name_of(name): new_node({"agent": agent}, agent) for name, agent in locked.items()}
    return {"roles": roles} | ({"adaptive": settings} if settings else {})


def _roles(node: Node, translation: Translation) -> dict[str, Any]:
    return {"roles": {name_of(name): role(each, translation) for name, each in fields(node).items()}}


def _strategy(root: Node, translation: Translation) -> Node:
    entries = fields(root)
    translation.check_part(root, "a packing strategy", keys.STRATEGY)
    groups = [name for item in items(entries.get("inputs")) if (name := INPUTS.get(str(item.value)))]
    has_diff = any(item.value == "git_diff" for item in items(entries.get("inputs")))
    context = {
        "include": [target for group in groups for target in group],
        "diff": has_diff or None,
        "budget": entries["token_budget"],
        # A strategy of the author's own is what its inputs and its budget say.
        "strategy": entries["name"] if str(entries["name"].value) in keys.STRATEGIES else None,
    }
    return new_node({"context": context}, root)


INPUTS: Final = {"target_file": ("$TARGET", "$TARGET_IMPORTS")}

Test = Callable[[Node], bool]
Part = Callable[[Node, Translation], dict[str, Any]]


def _always(node: Node) -> bool:  # noqa: ARG001 (has the shape of a Test)
    return True


def _has(*keys: str) -> Test:
    return lambda node: bool(set(keys) & set(fields(node)))


NATIVE_ADAPTIVE: Final = frozenset(
    "policy last min_samples weights edge max_deviation explore half_life interval locked from".split()
)
"""The keys of the native `adaptive`, none of which this format has."""
PARTS: Final[dict[str, tuple[Test, Part]]] = {
    "roles": (lambda node: any(map(is_role, fields(node).values())), _roles),
    "limits": (_has(*keys.LIMITS), _limits),
    "continuity": (_always, _continuity),
    "policies": (
        lambda node: any("max_attempts" in fields(each) for each in fields(node).values()),
        _policies,
    ),
    "steps": (_has(), _steps),
    "git": (_has(*keys.GIT), _git),
    "workers": (_always, _workers),
    "adaptive": (lambda node: not NATIVE_ADAPTIVE & set(fields(node)), _adaptive),
    "approval_gates": (_always, approval),
}
"""By key: whether a value has the shape of this format, since some keys are native too, and its translation."""
