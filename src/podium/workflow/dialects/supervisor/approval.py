"""Approval by risk: conditions that the engine can measure select the level of approval (C29)."""

from __future__ import annotations

import re
from typing import Any, Final

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items

POLICY: Final = "approval"
REQUIRING: Final = ("require_multi_approval", "require_approval")
"""Actions whose rule applies if one of its conditions holds; the others apply only if all of theirs do."""
LENIENT: Final = ("auto_approve", "notify_and_timeout")
ACTIONS: Final = (*REQUIRING, *LENIENT)
MEASURES: Final = {"file_count": "change.files", "test_coverage": "default(change.coverage, 0)"}
MEASURED: Final = re.compile(r"(?P<what>\w+)\s*(?P<sign><=|>=|<|>|==)\s*(?P<number>\d+)")
PATHS: Final = {
    "security_sensitive_files": ("**/auth/**", "**/security/**", "**/crypto/**", "**/keys/**"),
    "changes_auth_code": ("**/auth/**", "**/*auth*"),
    "changes_payment_code": ("**/payment/**", "**/payments/**"),
    "changes_encryption": ("**/crypto/**", "**/encryption/**"),
    "changes_key_management": ("**/keys/**",),
    "production_config_changes": ("config/production/**",),
    "breaking_changes": ("**/api/**", "interfaces/**"),
    "breaking_api_changes": ("**/api/**", "interfaces/**"),
}
"""The paths each word stands for. Whether an interface broke is left to a check of its own."""


def approval(node: Node, translation: Translation) -> dict[str, Any]:
    """A policy whose first rule that applies decides; a person decides what no rule matches.

    It is asked before anything lands. What requires a person comes first. Of the other rules the most lenient comes first, because its conditions are the
    narrowest: fewer than 3 files are also fewer than 10. One without conditions covers the rest, so it comes last.
    """
    rules = sorted(fields(node).values(), key=_order)
    native_rules = [_rule(rule, translation) for rule in rules]
    rest = new_node({"level": "human"}, node)
    return {"policies": {POLICY: [*native_rules, rest]}, "git": {"approval": POLICY}}


def _order(rule: Node) -> tuple[bool, int]:
    entries = fields(rule)
    action = str(entries.get("action", rule).value)
    is_rest = action in LENIENT and not items(entries.get("conditions"))
    position = ACTIONS.index(action) if action in ACTIONS else 0
    return is_rest, -position if is_rest else position


def _rule(rule: Node, translation: Translation) -> Node:
    translation.check_part(rule, "an approval gate", keys.APPROVAL)
    entries = fields(rule)
    action = entries.get("action", rule)
    if action.value not in ACTIONS:
        translation.add_problem(
            action, 2, f'"{action.value}" is not an action', did_you_mean(str(action.value), ACTIONS)
        )
    is_strict = action.value in REQUIRING
    when = (" or " if is_strict else " and ").join(
        _condition(each, translation) for each in items(entries.get("conditions"))
    )
    minutes = entries.get("timeout_minutes")
    level = "human" if is_strict else {"notify_and_timeout": "notify"}.get(str(action.value), "auto")
    return new_node(
        {
            "when": when or "true",
            "level": level,
            "by": entries.get("approvers"),
            "approvals": entries.get("min_approvers"),
            "veto": None if minutes is None else new_node(f"{minutes.value}m", minutes),
        },
        rule,
    )


def _condition(node: Node, translation: Translation) -> str:
    condition = str(node.value)
    comparison = MEASURED.fullmatch(condition)
    if comparison is not None and comparison["what"] in MEASURES:
        return f"{MEASURES[comparison['what']]} {comparison['sign']} {comparison['number']}"
    word = condition.removeprefix("no_")
    if word not in PATHS:
        words = (*MEASURES, *PATHS)
        translation.add_problem(
            node, 32, f'"{condition}" is not a condition that can be measured', did_you_mean(word, words)
        )
        return "true"
    touched = f"touched({', '.join(repr(path) for path in PATHS[word])})"
    return touched if word == condition else f"not {touched}"
