"""Reads the role files that a workflow needs, and only those."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from podium.core.fast_dataclass import dataclass
from podium.workflow.defaults import BASE_REVIEWER
from podium.workflow.dialects.detect import to_native
from podium.workflow.merge.role_inheritance import Layer
from podium.workflow.merge.step_nodes import below
from podium.workflow.schema.scalars import INSERT
from podium.workflow.source.files import Tree, read_tree
from podium.workflow.source.nodes import Node, fields, items, text

ANY: Final = "*"
"""Stands for all roles, where only the run will tell which."""


@dataclass(frozen=True, slots=True)
class RoleFiles:
    known: frozenset[str]
    """Every role there is, read or not."""
    folders: tuple[Layer, ...]
    """What was read, folder by folder."""
    trees: tuple[Tree, ...]


def read_roles(
    folders: Sequence[Path], documents: Sequence[Node], defined: Sequence[Layer], base: Path | None
) -> RoleFiles:
    """`documents` are the files that use roles; `defined` are the roles that stand in no file of their own."""
    listed = [{path.stem: path for path in sorted(folder.glob("*.yaml"))} for folder in folders]
    known = frozenset(name for names in (*listed, *defined) for name in names)
    trees: dict[Path, Tree] = {}
    queue = sorted(used_roles(documents, known))
    for name in queue:
        read = {
            path: to_native(read_tree(path, base), "role")
            for files in listed
            if (path := files.get(name)) is not None
        }
        trees |= read
        nodes = [layer[name] for layer in defined if name in layer]
        nodes += [tree.node for tree in read.values() if tree.node is not None]
        family = used_roles(nodes, known) | (_parents(nodes) & known)
        queue.extend(sorted(family.difference(queue)))
    layers = tuple(
        {
            name: node
            for name, path in files.items()
            if path in trees and (node := trees[path].node) is not None
        }
        for files in listed
    )
    return RoleFiles(known, layers, tuple(trees.values()))


def _parents(roles: Iterable[Node]) -> frozenset[str]:
    return frozenset(name for role in roles if (name := text(fields(role).get("extends"))))


def used_roles(documents: Iterable[Node], known: frozenset[str]) -> frozenset[str]:
    """The roles that documents, or other roles, name or define."""
    found: set[str] = set()
    for document in documents:
        advisor = text(fields(fields(document).get("breaker")).get("ask"))
        found.update(fields(fields(document).get("roles")), [advisor] if advisor else [])
        for step in below(document):
            found.update(_named_by(step, known))
    return known if ANY in found else known & found


def _named_by(step: Node, known: frozenset[str]) -> Iterator[str]:
    said = fields(step)
    for name in filter(None, map(text, items(said.get("role")))):
        yield ANY if INSERT in name else name
    for name in filter(None, map(text, items(said.get("review")))):
        # A review may name an agent, which then plays the base reviewer.
        yield ANY if INSERT in name else name if name in known else BASE_REVIEWER
    if "build" in said:
        # The components of a feature may name roles of their own.
        yield ANY
