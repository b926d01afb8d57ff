"""Roles of the supervisor format."""

from __future__ import annotations

from typing import Any, Final

from podium.workflow.dialects.translation import Translation, name_of, new_node
from podium.workflow.source.nodes import Node, fields, items, text

ROLE: Final = (
    "name",
    "extends",
    "description",
    "cli",
    "flags",
    "template",
    "system_prompt_additions",
    "context",
    "allowed_tools",
    "gates",
    "strengths",
    "config",
    "preferred_worker",
    "fallback_worker",
    "version",
    "author",
    "dependencies",
)
MARKS: Final = frozenset(ROLE) - {
    "name",
    "extends",
    "description",
    "context",
    "gates",
    "strengths",
    "version",
    "dependencies",
}
CONTEXT: Final = ("include", "always_include", "exclude", "git_diff", "token_budget")
DIFF: Final = "git diff"
TOOLS: Final = {
    "read_file": "read",
    "edit_file": "edit",
    "write_file": "edit",
    "run_command": "run",
    "web_search": "web",
}
WORDS: Final = {
    "$INTERFACE_DEFINITIONS": "$INTERFACES",
    "$COMPONENT_PUBLIC_API": "$PUBLIC_API",
    "$IMPLEMENTATION_INTERNALS": "$INTERNALS",
}
UNUSED: Final = {
    "flags": "how an agent is called is known by its type",
    "template": "a prompt belongs to the step",
    "author": "who wrote a role is told by where it came from",
}


def is_role(node: Node) -> bool:
    said = fields(node)
    context = set(fields(said.get("context"))) & {"always_include", "git_diff", "token_budget"}
    commands = any("command" in fields(gate) for gate in items(said.get("gates")))
    return bool(MARKS & set(said)) or bool(context) or commands


def role(node: Node, page: Translation) -> Node:
    page.check_keys(node, "a role", ROLE)
    said = fields(node)
    for key, why in UNUSED.items():
        if key in said:
            page.note(said[key], f"{key} has no native form: {why}")
    extends = said.get("extends")
    where = [said[key] for key in ("preferred_worker", "fallback_worker") if key in said]
    return new_node(
        {
            "extends": None if extends is None else new_node(name_of(str(extends.value)), extends),
            "description": said.get("description"),
            "agent": said.get("cli"),
            "system": said.get("system_prompt_additions"),
            "context": _context(said.get("context"), page),
            "tools": [
                new_node(TOOLS.get(str(tool.value), tool.value), tool)
                for tool in items(said.get("allowed_tools"))
            ]
            or None,
            "gates": [_gate(gate, page) for gate in items(said.get("gates"))] or None,
            "strengths": said.get("strengths"),
            "with": said.get("config"),
            "runs_on": where or None,
        },
        node,
    )


def _context(node: Node | None, page: Translation) -> Any:
    if node is None:
        return None
    page.check_keys(node, "context", CONTEXT)
    said = fields(node)
    included = [item for item in items(said.get("include")) if not str(item.value).startswith(DIFF)]
    has_diff = len(included) < len(items(said.get("include")))
    return new_node(
        {
            "include": [_word(item) for item in included] or None,
            "always": said.get("always_include"),
            "exclude": [_word(item) for item in items(said.get("exclude"))] or None,
            "diff": True if has_diff else said.get("git_diff"),
            "budget": said.get("token_budget"),
        },
        node,
    )


def _word(node: Node) -> Node:
    return new_node(WORDS.get(text(node) or "", node.value), node)


def _gate(node: Node, page: Translation) -> Node:
    page.check_keys(node, "a gate of a role", ("name", "command", "on_fail"))
    said = fields(node)
    name = said.get("name")
    return new_node(
        {
            "name": None if name is None else new_node(name_of(str(name.value)), name),
            "run": said.get("command"),
            "on_fail": said.get("on_fail"),
        },
        node,
    )
