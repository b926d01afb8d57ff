"""Reads the role files that a workflow needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from podium.fast_dataclass import dataclass
from podium.workflow.defaults import BASE_REVIEWER
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import nested_parts
from podium.workflow.schema.scalars import INSERT
from podium.workflow.source.files import Tree, read_tree
from podium.workflow.source.nodes import Node, fields, items, text

ALL_ROLES: Final = "*"
"""Means all roles, where the role is known only at run time."""


@dataclass(frozen=True, slots=True)
class RoleFiles:
    names: frozenset[str]
    """Every available role, read or not."""
    folders: tuple[Layer, ...]
    """The roles that were read, by folder."""
    trees: tuple[Tree, ...]


def read_roles(
    folders: Sequence[Path], documents: Sequence[Node], defined: Sequence[Layer], base: Path | None
) -> RoleFiles:
    """`documents` are the files that use roles; `defined` are roles defined inside other files."""
    files_by_name = [{path.stem: path for path in sorted(folder.glob("*.yaml"))} for folder in folders]
    names = frozenset(name for group in (*files_by_name, *defined) for name in group)
    trees: dict[Path, Tree] = {}
    queue = sorted(used_roles(documents, names))
    for name in queue:
        read = {
            path: to_native(read_tree(path, base), "role")
            for files in files_by_name
            if (path := files.get(name)) is not None
        }
        trees |= read
        nodes = [layer[name] for layer in defined if name in layer]
        nodes += [tree.node for tree in read.values() if tree.node is not None]
        related = used_roles(nodes, names) | (_parents(nodes) & names)
        queue.extend(sorted(related.difference(queue)))
    layers = tuple(
        {
            name: node
            for name, path in files.items()
            if path in trees and (node := trees[path].node) is not None
        }
        for files in files_by_name
    )
    return RoleFiles(names, layers, tuple(trees.values()))


def _parents(roles: Iterable[Node]) -> frozenset[str]:
    return frozenset(name for role in roles if (name := text(fields(role).get("extends"))))


def used_roles(documents: Iterable[Node], available: frozenset[str]) -> frozenset[str]:
    """The roles that documents, or other roles, name or define."""
    used: set[str] = set()
    for document in documents:
        advisor = text(fields(fields(document).get("breaker")).get("ask"))
        driver = text(fields(document).get("driver"))
        used.update(fields(fields(document).get("roles")), filter(None, (advisor, driver)))
        for step in nested_parts(document):
            used.update(_role_names(step, available))
    return available if ALL_ROLES in used else available & used


def _role_names(step: Node, available: frozenset[str]) -> Iterator[str]:
    keys = fields(step)
    if driver := text(keys.get("driver")):
        yield driver
    for name in filter(None, map(text, items(keys.get("role")))):
        yield ALL_ROLES if INSERT in name else name
    for name in filter(None, map(text, items(keys.get("review")))):
        # A review may name an agent, which then has the base reviewer's role.
        yield ALL_ROLES if INSERT in name else name if name in available else BASE_REVIEWER
    if "build" in keys:
        # The components of a feature may name roles.
        yield ALL_ROLES
