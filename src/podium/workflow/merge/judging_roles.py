"""Makes a review of a step whose role turns out to be a reviewer, and leaves the prompt to a role that has one.

A file of the supervisor format only names the role of a step; whether that role extends `reviewer` is known when all role files
are read. Its translation therefore has both forms of such a step.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from podium.workflow.dialects.translation import (
    PLAN_PROMPT,
    PLAN_TITLE,
    REVIEW_FORM,
    TASK_PROMPT,
    TASK_TITLE,
    ReviewForm,
    new_node,
)
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import map_parts
from podium.workflow.source.nodes import Node, fields, text, with_field, without_keys

REVIEWER: Final = "reviewer"
CHANGING: Final = ("implementer", "test_engineer")
"""Roles whose output is the files they change."""


def choose_forms(root: Node, layers: Sequence[Layer], step_names: Collection[str]) -> Node:
    """The document with one form of each step; `step_names` are those of the workflow and its templates."""

    def choose(part: Node) -> Node:
        if "plan" not in step_names:
            part = _without_plan(part)
        node = fields(part).get(REVIEW_FORM)
        form: object = None if node is None else node.value
        if not isinstance(form, ReviewForm):
            return part
        role = text(fields(part).get("role")) or ""
        if is_kind_of(REVIEWER, role, layers):
            return form.step
        own = ("prompt",) if has_key("prompt", role, layers) else ()
        work = without_keys(part, REVIEW_FORM, *own)
        return with_report(work, role, layers)

    return map_parts(root, choose)


def _without_plan(part: Node) -> Node:
    """The step as it is in a workflow that has no plan to pass on."""
    prompt, verb = fields(part).get("prompt"), fields(part).get("git")
    if prompt is not None and prompt.value == PLAN_PROMPT:
        part = with_field(part, "prompt", replace(prompt, value=TASK_PROMPT))
    message = fields(verb).get("message")
    if verb is not None and message is not None and message.value == PLAN_TITLE:
        part = with_field(part, "git", with_field(verb, "message", replace(message, value=TASK_TITLE)))
    return part


def with_report(step: Node, role: str, layers: Sequence[Layer]) -> Node:
    """The step with the report of a worker as its contract (R124), if the worker changes files and has no other contract."""
    changes_files = any(is_kind_of(kind, role, layers) for kind in CHANGING)
    if not changes_files or "output" in fields(step) or has_key("output", role, layers):
        return step
    return with_field(step, "output", new_node({"schema": "Implementation"}, step))


def has_key(key: str, name: str, layers: Sequence[Layer]) -> bool:
    """Whether a role brings the prompt or the contract of its steps; the format knows none of a step itself."""
    ancestors = ancestors_of(name, layers)
    return any(key in fields(layer[role]) for role in ancestors for layer in layers if role in layer)


def is_kind_of(kind: str, name: str, layers: Sequence[Layer]) -> bool:
    """Whether a role is the role `kind` or extends it, directly or not."""
    return kind in ancestors_of(name, layers)


def ancestors_of(name: str, layers: Sequence[Layer]) -> list[str]:
    """A role and the roles that it extends, the nearest first."""
    names: list[str] = []
    while name and name not in names:
        names.append(name)
        definitions = [layer[name] for layer in layers if name in layer]
        parents = [text(fields(node).get("extends")) for node in definitions]
        name = next((parent for parent in reversed(parents) if parent and parent != name), "")
    return names
