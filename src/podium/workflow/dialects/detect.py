"""Recognises files written for other tools and translates them into the native format.

Each dialect is recognised by the shape of its file and translated node by node into a native document, which the
ordinary reader then checks and compiles. A node keeps the place it was written at, so every message names the
user's own line, and all formats have the same semantics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.translation import Kind, Translation, Translator
from podium.workflow.problems import Problem
from podium.workflow.source.files import Tree
from podium.workflow.source.nodes import Node, fields

MARK: Final = "podium"

DIALECTS: Final = (
    "steps.translate",
    "states.translate",
    "gates.translate",
    "supervisor.translate",
    "supervisor.translate_files",
)
"""The modules that translate, in the order they are tried; the first that recognises the shape translates the file."""


KINDS: Final[tuple[Kind, ...]] = ("workflow", "configuration", "role", "feature")

USES: Final[Mapping[Kind, str]] = {
    "configuration": "it takes effect as .podium/config.yaml; name a workflow here",
    "role": "it takes effect in .podium/roles/; name a workflow here",
    "feature": "name it in a workflow: steps: {feature: {build: FILE, component: {role: implementer}}}",
}
"""What to do with a file that is not a workflow."""


@dataclass(frozen=True, slots=True)
class TranslatedFile:
    dialect: str
    kind: Kind
    node: Node
    translation: Translation


def to_native(tree: Tree, kind: Kind) -> Tree:
    """Translates a file of another format; a native file is returned unchanged."""
    if tree.node is None or MARK in fields(tree.node):
        return tree
    translated = translate(tree.node, kind)
    if translated is None:
        other = translate(tree.node) if kind == "workflow" else None
        return tree if other is None else _refused(tree, other)
    return replace(tree, node=translated.node, problems=(*tree.problems, *translated.translation.problems))


def _refused(tree: Tree, other: TranslatedFile) -> Tree:
    """The reader would only say that the file is not a native workflow."""
    fact = f"this is a {other.kind} of the {other.dialect} format, not a workflow"
    assert tree.node is not None
    problem = Problem(*tree.node.place, 2, fact, USES[other.kind])
    return replace(tree, node=None, problems=(*tree.problems, problem))


def translate(root: Node, *kinds: Kind) -> TranslatedFile | None:
    """None for a file of no known dialect. Without `kinds`, the shape of the file decides its kind."""
    for kind in kinds or KINDS:
        for name in DIALECTS:
            # Imported only for files without the native mark, because most runs need none of these modules.
            translator: Translator = import_module(f"podium.workflow.dialects.{name}").translate
            translation = Translation()
            node = translator(root, kind, translation)
            if node is not None:
                return TranslatedFile(name.partition(".")[0], kind, node, translation)
    return None
