"""Reads workflow, configuration and role files into node trees, under the names that messages use."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.problems import Problem
from podium.workflow.source.nodes import Node, SourceLocation
from podium.workflow.source.yaml import Document, ValuePositions, read

SHIPPED: Final = Path(__file__).parents[2] / "data"
"""The folder of the data files that are installed with Podium."""

PROMPT_FILES: Final = (".md", ".txt", ".j2")


@dataclass(frozen=True, slots=True)
class Tree:
    """A file as a tree of nodes; `node` is None if the file could not be read, and `problems` then say why."""

    path: Path
    node: Node | None
    problems: tuple[Problem, ...] = ()


def display_name(path: Path, base: Path | None) -> str:
    """The name of a file in messages: relative to `base`, the user's current folder, or absolute."""
    if path.is_relative_to(SHIPPED):
        return str(Path("podium", path.relative_to(SHIPPED)))
    if base is not None and path.is_relative_to(base):
        return str(path.relative_to(base))
    return str(path)


def leads_outside(path: str, project: Path) -> bool:
    """Whether a path in a file leads out of the project, also through symbolic links."""
    return Path(path).is_absolute() or not is_inside(project / path, project)


def is_inside(path: Path, project: Path) -> bool:
    return path.resolve().is_relative_to(project.resolve())


def is_prompt_file(text: str) -> bool:
    """Whether a prompt is the name of the file that contains the prompt."""
    return text.endswith(PROMPT_FILES) and "\n" not in text and "{{" not in text and " " not in text


def read_tree(path: Path, base: Path | None) -> Tree:
    return tree_from_document(read(path, name=display_name(path, base)), path)


def tree_from_document(document: Document, path: Path) -> Tree:
    root = _node(document.value, document.root, document.name)
    if document.value is None and document.problems:
        return Tree(path, None, document.problems)
    if document.value is None:
        return Tree(path, replace(root, value={}))
    if not isinstance(document.value, dict):
        return Tree(path, None, (*document.problems, Problem(*root.place, 2, "the file must be a map")))
    return Tree(path, root, document.problems)


def _node(value: Any, positions: ValuePositions, file: str) -> Node:
    at, key, inner, source = positions
    inside: Any = value
    if isinstance(value, dict):
        inside = {name: _node(item, inner[name], file) for name, item in value.items()}
    elif isinstance(value, list):
        inside = tuple(_node(item, inner[index], file) for index, item in enumerate(value))
    return Node(inside, SourceLocation(file, *at), SourceLocation(file, *key), source=source)
