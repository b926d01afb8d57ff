"""Translates roles of the supervisor format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from podium.workflow.dialects.supervisor import keys
from podium.workflow.dialects.supervisor.proofs import command_of_tests, proof_gate
from podium.workflow.dialects.translation import Translation, name_of, new_node, shell_command
from podium.workflow.source.nodes import Node, fields, items, text

MARKS: Final = frozenset(keys.ROLE) - {
    "name",
    "extends",
    "description",
    "context",
    "gates",
    "strengths",
    "version",
    "dependencies",
}
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


def is_role(node: Node) -> bool:
    entries = fields(node)
    context = set(fields(entries.get("context"))) & {"always_include", "git_diff", "token_budget"}
    commands = any("command" in fields(gate) for gate in items(entries.get("gates")))
    return bool(MARKS & set(entries)) or bool(context) or commands


def role(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "a role", keys.ROLE)
    entries = fields(node)
    extends = entries.get("extends")
    gates = [_gate(gate, translation) for gate in items(entries.get("gates"))]
    commands = [fields(gate).get("command") for gate in items(entries.get("gates"))]
    proof = proof_gate(fields(entries.get("config")), command_of_tests(commands))
    labels = [entries[key] for key in ("preferred_worker", "fallback_worker") if key in entries]
    return new_node(
        {
            "extends": None if extends is None else new_node(name_of(str(extends.value)), extends),
            "description": entries.get("description"),
            "agent": entries.get("cli"),
            "model": _model(node, translation),
            "prompt": _template(entries.get("template")),
            "system": entries.get("system_prompt_additions"),
            "context": _context(entries.get("context"), translation),
            "tools": [
                new_node(TOOLS.get(str(tool.value), tool.value), tool)
                for tool in items(entries.get("allowed_tools"))
            ]
            or None,
            "gates": [*gates, *([proof] if proof is not None else [])] or None,
            "strengths": entries.get("strengths"),
            "with": entries.get("config"),
            "runs_on": labels or None,
        },
        node,
    )


def _template(node: Node | None) -> Node | None:
    """Templates are in the folder `prompts`, unless their path names another."""
    name = text(node)
    if node is None or name is None:
        return node
    return node if "/" in name else new_node(f"prompts/{name}", node)


def _model(role: Node, translation: Translation) -> Node | None:
    """The model that `flags` name. The type of an agent gives the other options that a run needs."""
    entries = fields(role)
    own = OWN_FLAGS.get(text(entries.get("cli")) or "", ANY_FLAGS)
    model: Node | None = None
    flags = list(items(entries.get("flags")))
    while flags:
        flag = flags.pop(0)
        name, _, value = str(flag.value).partition("=")
        if name in MODEL_FLAGS and (value or flags):
            model = new_node(value, flag) if value else flags.pop(0)
        elif name in own:
            del flags[: 0 if value else own[name]]
        else:
            message = f'a role cannot have the flag "{flag.value}"'
            hint = "options of an agent belong into .podium/config.yaml: agents: {NAME: {type: TYPE, args: [...]}}"
            translation.add_problem(flag, 3, message, hint)
    return model


MODEL_FLAGS: Final = ("--model", "-m")
OWN_FLAGS: Final[Mapping[str, Mapping[str, int]]] = {
    "claude": {
        "-p": 0,
        "--print": 0,
        "--output-format": 1,
        "--verbose": 0,
        "--dangerously-skip-permissions": 0,
    },
    "codex": {"exec": 0, "--json": 0, "--full-auto": 0, "--skip-git-repo-check": 0},
    "gemini": {"-p": 0, "--prompt": 0, "-o": 1, "--output-format": 1, "--yolo": 0, "-y": 0},
}
"""By program: the options with which Podium calls it itself, or in their place its own, and how many values each has."""
ANY_FLAGS: Final = {name: count for flags in OWN_FLAGS.values() for name, count in flags.items()}


def _context(node: Node | None, translation: Translation) -> Any:
    if node is None:
        return None
    translation.check_part(node, "context", keys.CONTEXT)
    entries = fields(node)
    included = [item for item in items(entries.get("include")) if not str(item.value).startswith(DIFF)]
    has_diff = len(included) < len(items(entries.get("include")))
    return new_node(
        {
            "include": [_word(item) for item in included] or None,
            "always": entries.get("always_include"),
            "exclude": [_word(item) for item in items(entries.get("exclude"))] or None,
            "diff": True if has_diff else entries.get("git_diff"),
            "budget": entries.get("token_budget"),
        },
        node,
    )


def _word(node: Node) -> Node:
    return new_node(WORDS.get(text(node) or "", node.value), node)


def _gate(node: Node, translation: Translation) -> Node:
    translation.check_part(node, "a gate of a role", keys.ROLE_GATE)
    entries = fields(node)
    name = entries.get("name")
    return new_node(
        {
            "name": None if name is None else new_node(name_of(str(name.value)), name),
            "run": shell_command(entries["command"]) if "command" in entries else None,
            "on_fail": entries.get("on_fail"),
        },
        node,
    )
