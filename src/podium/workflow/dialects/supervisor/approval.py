"""Approval by risk: conditions the engine can measure choose how far a person has a say (C29)."""

from __future__ import annotations

import re
from typing import Any, Final

from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.problems import did_you_mean
from podium.workflow.source.nodes import Node, fields, items

GATE: Final = ("conditions", "action", "timeout_minutes", "notification", "approvers", "min_approvers")
STRICTEST: Final = ("require_multi_approval", "require_approval", "notify_and_timeout", "auto_approve")
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
"""What the words mean: files that were touched. That an interface broke is for its own check to say."""


def approval(node: Node, page: Translation) -> dict[str, Any]:
    """The strictest rule first; what no rule knows, a person decides."""
    rules = sorted(fields(node).values(), key=_strictness)
    made = [_rule(rule, page) for rule in rules]
    return {"policies": {"approval": [*made, new_node({"level": "human"}, node)]}}


def _strictness(rule: Node) -> int:
    action = str(fields(rule).get("action", rule).value)
    return STRICTEST.index(action) if action in STRICTEST else 0


def _rule(rule: Node, page: Translation) -> Node:
    page.check_keys(rule, "an approval gate", GATE)
    said = fields(rule)
    action = said.get("action", rule)
    if action.value not in STRICTEST:
        page.complain(action, 2, f'"{action.value}" is no action', did_you_mean(str(action.value), STRICTEST))
    is_strict = str(action.value).startswith("require")
    when = (" or " if is_strict else " and ").join(
        _condition(each, page) for each in items(said.get("conditions"))
    )
    minutes = said.get("timeout_minutes")
    if "notification" in said:
        page.note(said["notification"], "channels are named by notify, in the workflow or the configuration")
    level = "human" if is_strict else {"notify_and_timeout": "notify"}.get(str(action.value), "auto")
    return new_node(
        {
            "when": when or "true",
            "level": level,
            "by": said.get("approvers"),
            "approvals": said.get("min_approvers"),
            "veto": None if minutes is None else new_node(f"{minutes.value}m", minutes),
        },
        rule,
    )


def _condition(node: Node, page: Translation) -> str:
    written = str(node.value)
    found = MEASURED.fullmatch(written)
    if found is not None and found["what"] in MEASURES:
        return f"{MEASURES[found['what']]} {found['sign']} {found['number']}"
    word = written.removeprefix("no_")
    if word not in PATHS:
        known = (*MEASURES, *PATHS)
        page.complain(node, 32, f'"{written}" is nothing that is measured', did_you_mean(word, known))
        return "true"
    touched = f"touched({', '.join(repr(path) for path in PATHS[word])})"
    return touched if word == written else f"not {touched}"
