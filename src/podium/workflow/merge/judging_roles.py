"""Makes a review of a step whose role turns out to be a reviewer, and leaves the prompt to a role that has one.

A file of the supervisor format only names the role of a step; whether that role extends `reviewer` is known when all role files
are read. Its translation therefore has both forms of such a step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podium.workflow.dialects.translation import REVIEW_FORM, ReviewForm
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import map_parts
from podium.workflow.source.nodes import Node, fields, text, without_keys

REVIEWER: Final = "reviewer"


def choose_forms(root: Node, layers: Sequence[Layer]) -> Node:
    """The document with one form of each step."""

    def choose(part: Node) -> Node:
        node = fields(part).get(REVIEW_FORM)
        form: object = None if node is None else node.value
        if not isinstance(form, ReviewForm):
            return part
        role = text(fields(part).get("role")) or ""
        if is_kind_of(REVIEWER, role, layers):
            return form.step
        own = ("prompt",) if has_prompt(role, layers) else ()
        return without_keys(part, REVIEW_FORM, *own)

    return map_parts(root, choose)


def has_prompt(name: str, layers: Sequence[Layer]) -> bool:
    """Whether a role brings the prompt of its steps; the format knows none of a step itself."""
    ancestors = ancestors_of(name, layers)
    return any("prompt" in fields(layer[role]) for role in ancestors for layer in layers if role in layer)


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
