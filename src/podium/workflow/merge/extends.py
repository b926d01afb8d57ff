"""Follows `extends` from a workflow to the most distant template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.core.fast_dataclass import dataclass
from podium.workflow.dialects.detect import to_native
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.scalars import NAME
from podium.workflow.source.files import Tree, display_name, is_inside, leads_outside, read_tree
from podium.workflow.source.nodes import Node, fields, text


@dataclass(frozen=True, slots=True)
class Chain:
    """The most distant parent first; empty if one of them is missing, since the rest makes no sense without it."""

    nodes: tuple[Node, ...]
    paths: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()


def read_chain(path: Path, *, project: Path, folders: Sequence[Path], base: Path | None) -> Chain:
    """`folders` are where a template is looked up by its name, after the folder of the file that names it."""
    trees: list[Tree] = []
    following: Path | Problem | None = path
    while isinstance(following, Path):
        tree = to_native(read_tree(following, base), "workflow")
        trees.append(tree)
        following = _parent(trees, project, folders, base)
    problems = [problem for tree in trees for problem in tree.problems]
    if following is not None:
        problems.append(following)
    nodes = [tree.node for tree in reversed(trees) if tree.node is not None]
    is_whole = len(nodes) == len(trees) and following is None
    return Chain(tuple(nodes) if is_whole else (), tuple(tree.path for tree in trees), tuple(problems))


def _parent(
    trees: Sequence[Tree], project: Path, folders: Sequence[Path], base: Path | None
) -> Path | Problem | None:
    """The next file to read, or why there is none."""
    here = trees[-1]
    extends = fields(here.node).get("extends")
    wanted = text(extends)
    if extends is None or wanted is None:
        return None
    if NAME.fullmatch(wanted):
        found = _by_name(wanted, extends, here.path, project, (here.path.parent, *folders))
    else:
        found = _by_path(wanted, extends, project)
    if isinstance(found, Path) and found in [tree.path for tree in trees]:
        return _circle(found, extends, trees, base)
    return found


def _by_name(name: str, extends: Node, file: Path, project: Path, folders: Sequence[Path]) -> Path | Problem:
    # A leading underscore marks a template that is no workflow of its own.
    candidates = [folder / file for folder in folders for file in (f"{name}.yaml", f"_{name}.yaml")]
    existing = [path for path in candidates if path.is_file()]
    # A project's own enterprise.yaml may extend the shipped one of the same name.
    others = [path for path in existing if path != file]
    found = next(iter(others or existing), None)
    if found is None:
        known = {path.stem for folder in folders for path in folder.glob("*.yaml")} - {file.stem}
        looked = ", ".join(str(folder) for folder in dict.fromkeys(folders))
        hint = did_you_mean(name, sorted(known)) or f"looked in {looked}"
        return Problem(*extends.place, 33, f'template "{name}" does not exist', hint)
    is_ours = found.is_relative_to(project) or is_inside(found.parent, project)
    if is_ours and not is_inside(found, project):
        return Problem(
            *extends.place, 24, f'"{name}" leaves the project', f"{found} is a link to the outside"
        )
    return found


def _by_path(wanted: str, extends: Node, project: Path) -> Path | Problem:
    if leads_outside(wanted, project):
        hint = "name a template by a path inside the project, or by its name alone"
        return Problem(*extends.place, 24, f'"{wanted}" leaves the project', hint)
    found = project / wanted
    if not found.is_file():
        return Problem(*extends.place, 33, f"{wanted} does not exist", f"paths begin at {project}")
    return found


def _circle(found: Path, extends: Node, trees: Sequence[Tree], base: Path | None) -> Problem:
    paths = [tree.path for tree in trees]
    names = [display_name(path, base) for path in (*paths[paths.index(found) :], found)]
    hint = " -> ".join(names) if len(names) > 2 else "leave extends out"
    return Problem(*extends.place, 33, f"{names[0]} extends itself", hint)
