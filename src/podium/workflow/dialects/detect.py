"""Files that were written for other tools, read as if they had been written for this one.

Each dialect is recognised by the shape of its file and translated node by node into the native document, which the
one reader then checks and compiles. A node keeps the place it was written at, so every message names the user's own
line, and there is one semantics.
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.dialects.translation import Kind, Translation, Translator
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
"""The modules, in the order they are asked; the first that knows the shape translates it."""


KINDS: Final[tuple[Kind, ...]] = ("workflow", "configuration", "role", "feature")


@dataclass(frozen=True, slots=True)
class TranslatedFile:
    dialect: str
    kind: Kind
    node: Node
    page: Translation


def to_native(tree: Tree, kind: Kind) -> Tree:
    """The file as a native one, if it is of another format; else as it is."""
    if tree.node is None or MARK in fields(tree.node):
        return tree
    done = translate(tree.node, kind)
    if done is None:
        return tree
    return replace(tree, node=done.node, problems=(*tree.problems, *done.page.problems))


def translate(root: Node, *kinds: Kind) -> TranslatedFile | None:
    """None for a file that no dialect claims. Without `kinds`, its shape alone says what it is."""
    for kind in kinds or KINDS:
        for name in DIALECTS:
            # Imported only for files without the native mark: most runs never need one of them.
            translator: Translator = import_module(f"podium.workflow.dialects.{name}").translate
            page = Translation()
            node = translator(root, kind, page)
            if node is not None:
                return TranslatedFile(name.partition(".")[0], kind, node, page)
    return None
