"""Files of the supervisor format beside its workflows: roles, limits, retry and approval policies, features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from podium.workflow.dialects.supervisor.approval import approval
from podium.workflow.dialects.supervisor.features import feature, phase
from podium.workflow.dialects.supervisor.roles import is_role, role
from podium.workflow.dialects.translation import Kind, Translation, name_of, new_node, seconds
from podium.workflow.source.nodes import Node, fields, items, text

LIMITS: Final = (
    "step_timeout_seconds",
    "step_max_retries",
    "workflow_max_steps",
    "default_token_budget",
    "max_token_budget",
    "retry_base_delay_seconds",
    "retry_max_delay_seconds",
    "retry_exponential_base",
)
POLICY: Final = ("max_attempts", "initial_delay_seconds", "backoff_multiplier", "max_delay_seconds", "jitter")
GIT: Final = ("auto_branch", "branch_pattern", "auto_commit", "dry_run_preview")
STRATEGY: Final = frozenset({"algorithm", "priority_order", "token_budget", "name"})


def translate(root: Node, kind: Kind, page: Translation) -> Node | None:
    said = fields(root)
    match kind:
        case "role":
            return role(root, page) if is_role(root) else None
        case "feature" if "feature" in said:
            return feature(said["feature"], page)
        case "feature" if "phase_output" in said:
            return phase(said["phase_output"], page)
        case "configuration":
            return _configuration(root, page)
        case _:
            return None


def _configuration(root: Node, page: Translation) -> Node | None:
    if set(fields(root)) >= STRATEGY:
        return _strategy(root, page)
    if not any(key in PARTS and PARTS[key][0](node) for key, node in fields(root).items()):
        return None
    page.check_keys(root, "a configuration of the supervisor", PARTS)
    whole: dict[str, Any] = {}
    for key, node in fields(root).items():
        made = PARTS[key][1](node, page) if key in PARTS else {}
        roles = {**whole.get("roles", {}), **made.pop("roles", {})}
        whole |= made
        whole |= {"roles": roles} if roles else {}
    return new_node(whole, root)


def _limits(node: Node, page: Translation) -> dict[str, Any]:
    page.check_keys(node, "limits", LIMITS)
    said = fields(node)
    for key in ("step_timeout_seconds", "max_token_budget"):
        if key in said:
            page.note(said[key], f"{key} is said by steps and roles: timeout, context.budget")
    backoff = {
        "first": seconds(said.get("retry_base_delay_seconds")),
        "times": said.get("retry_exponential_base"),
        "max": seconds(said.get("retry_max_delay_seconds")),
    }
    steps, budget = said.get("workflow_max_steps"), said.get("default_token_budget")
    return {
        "limits": None if steps is None else {"transitions": steps},
        "retries": {"default": {"attempts": said.get("step_max_retries"), "backoff": backoff}},
        "context": None if budget is None else {"budget": budget},
    }


def _continuity(node: Node, page: Translation) -> dict[str, Any]:
    said = fields(node)
    allowed = said.get("allow_continuation")
    turns = said.get("max_continuation_turns", 1)
    if allowed is not None and allowed.value is False:
        page.note(node, "every attempt is a new conversation, as without this")
        return {}
    names = items(said.get("continuation_roles"))
    return {
        "roles": {
            name_of(str(name.value)): new_node({"continuity": {"turns": turns}}, name) for name in names
        }
    }


def _policies(node: Node, page: Translation) -> dict[str, Any]:
    presets: dict[str, Any] = {}
    for name, policy in fields(node).items():
        page.check_keys(policy, f'policy "{name}"', POLICY)
        said = fields(policy)
        jitter = said.get("jitter")
        share = None if jitter is None else new_node(_share(jitter.value), jitter)
        backoff = {
            "first": seconds(said.get("initial_delay_seconds")),
            "times": said.get("backoff_multiplier"),
            "max": seconds(said.get("max_delay_seconds")),
            "jitter": share,
        }
        presets[name_of(name)] = new_node({"attempts": said.get("max_attempts"), "backoff": backoff}, policy)
    return {"retries": presets}


def _share(value: object) -> object:
    return f"{round(value * 100)}%" if isinstance(value, int | float) else value


def _steps(node: Node, page: Translation) -> dict[str, Any]:
    for name, each in fields(node).items():
        policy = text(fields(each).get("retry_policy"))
        page.note(each, f"the step {name} of a workflow says so itself: retry: {policy}")
    return {}


def _git(node: Node, page: Translation) -> dict[str, Any]:
    page.check_keys(node, "git", GIT)
    page.note(node, "nothing is committed without a step; a branch is git: {branch: NAME}")
    return {}


def _workers(node: Node, page: Translation) -> dict[str, Any]:
    page.note(node, "where work may run is told by the labels in runs_on")
    return {}


def _adaptive(node: Node, page: Translation) -> dict[str, Any]:
    page.note(node, "agent: auto chooses among a role's candidates; a named agent is a lock")
    locked = fields(fields(node).get("locked_assignments"))
    return {"roles": {name_of(name): new_node({"agent": agent}, agent) for name, agent in locked.items()}}


def _roles(node: Node, page: Translation) -> dict[str, Any]:
    return {"roles": {name_of(name): role(each, page) for name, each in fields(node).items()}}


def _strategy(root: Node, page: Translation) -> Node:
    said = fields(root)
    page.note(said["algorithm"], "how files are chosen is built in; the name of the strategy says which way")
    wanted = [name for item in items(said.get("inputs")) if (name := INPUTS.get(str(item.value)))]
    has_diff = any(item.value == "git_diff" for item in items(said.get("inputs")))
    context = {
        "include": [target for name in wanted for target in name],
        "diff": has_diff or None,
        "budget": said["token_budget"],
        "strategy": said["name"],
    }
    return new_node({"context": context}, root)


INPUTS: Final = {"target_file": ("$TARGET", "$TARGET_IMPORTS")}

Test = Callable[[Node], bool]
Part = Callable[[Node, Translation], dict[str, Any]]


def _always(node: Node) -> bool:  # noqa: ARG001 (has the shape of a Test)
    return True


def _has(*keys: str) -> Test:
    return lambda node: bool(set(keys) & set(fields(node)))


PARTS: Final[dict[str, tuple[Test, Part]]] = {
    "roles": (lambda node: any(map(is_role, fields(node).values())), _roles),
    "limits": (_has(*LIMITS), _limits),
    "continuity": (_always, _continuity),
    "policies": (
        lambda node: any("max_attempts" in fields(each) for each in fields(node).values()),
        _policies,
    ),
    "steps": (_has(), _steps),
    "git": (_has(*GIT), _git),
    "workers": (_always, _workers),
    "adaptive": (_always, _adaptive),
    "approval_gates": (_always, approval),
}
"""By their key: whether a value has the shape of this format, since some keys are native too, and what it becomes."""
