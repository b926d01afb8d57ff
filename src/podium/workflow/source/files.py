"""Reads files of the language into trees, under the names that people know them by."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.problems import Problem
from podium.workflow.source.nodes import Node, SourceLocation
from podium.workflow.source.yaml import Document, Spot, read

SHIPPED: Final = Path(__file__).parents[2] / "data"
"""Where the data lies that comes with Podium."""

PROMPT_FILES: Final = (".md", ".txt", ".j2")


@dataclass(frozen=True, slots=True)
class Tree:
    """A file as a tree; None if it could not be read, and then the problems say why."""

    path: Path
    node: Node | None
    problems: tuple[Problem, ...] = ()


def shown(path: Path, base: Path | None) -> str:
    """How messages call a file: beside `base`, the folder the user stands in, or in full."""
    if path.is_relative_to(SHIPPED):
        return str(Path("podium", path.relative_to(SHIPPED)))
    if base is not None and path.is_relative_to(base):
        return str(path.relative_to(base))
    return str(path)


def leaves(path: str, project: Path) -> bool:
    """Whether a path in a file leads out of the project, also by way of links."""
    return Path(path).is_absolute() or not is_inside(project / path, project)


def is_inside(path: Path, project: Path) -> bool:
    return path.resolve().is_relative_to(project.resolve())


def is_prompt_file(text: str) -> bool:
    """Whether a prompt names the file that holds it."""
    return text.endswith(PROMPT_FILES) and "\n" not in text and "{{" not in text and " " not in text


def read_tree(path: Path, base: Path | None) -> Tree:
    return tree_of(read(path, name=shown(path, base)), path)


def tree_of(document: Document, path: Path) -> Tree:
    root = _node(document.value, document.root, document.name)
    if document.value is None and document.problems:
        return Tree(path, None, document.problems)
    if document.value is None:
        return Tree(path, replace(root, value={}))
    if not isinstance(document.value, dict):
        return Tree(path, None, (*document.problems, Problem(*root.place, 2, "the file must be a map")))
    return Tree(path, root, document.problems)


def _node(value: Any, spot: Spot, file: str) -> Node:
    at, key, inner, source = spot
    found: Any = value
    if isinstance(value, dict):
        found = {name: _node(item, inner[name], file) for name, item in value.items()}
    elif isinstance(value, list):
        found = tuple(_node(item, inner[index], file) for index, item in enumerate(value))
    return Node(found, SourceLocation(file, *at), SourceLocation(file, *key), source=source)
