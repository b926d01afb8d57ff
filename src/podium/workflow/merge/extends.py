"""Follows `extends` from a workflow to the most distant template."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from podium.fast_dataclass import dataclass
from podium.workflow.dialects.detect import to_native
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.scalars import NAME
from podium.workflow.source.files import Tree, display_name, is_inside, leads_outside, read_tree
from podium.workflow.source.nodes import Node, fields, text


@dataclass(frozen=True, slots=True)
class TemplateChain:
    """The most distant parent first; empty if one of the files is missing, because the others are useless without it."""

    nodes: tuple[Node, ...]
    paths: tuple[Path, ...]
    problems: tuple[Problem, ...] = ()


def read_chain(path: Path, *, project: Path, folders: Sequence[Path], base: Path | None) -> TemplateChain:
    """Templates are looked up by name in the folder of the file that names them, then in `folders`."""
    trees: list[Tree] = []
    next_file: Path | Problem | None = path
    while isinstance(next_file, Path):
        tree = to_native(read_tree(next_file, base), "workflow")
        trees.append(tree)
        next_file = _parent(trees, project, folders, base)
    problems = [problem for tree in trees for problem in tree.problems]
    if next_file is not None:
        problems.append(next_file)
    nodes = [tree.node for tree in reversed(trees) if tree.node is not None]
    is_complete = len(nodes) == len(trees) and next_file is None
    return TemplateChain(
        tuple(nodes) if is_complete else (), tuple(tree.path for tree in trees), tuple(problems)
    )


def _parent(
    trees: Sequence[Tree], project: Path, folders: Sequence[Path], base: Path | None
) -> Path | Problem | None:
    """The next file to read, or the reason why there is none."""
    child = trees[-1]
    extends = fields(child.node).get("extends")
    template = text(extends)
    if extends is None or template is None:
        return None
    if NAME.fullmatch(template):
        path = _by_name(template, extends, child.path, project, (child.path.parent, *folders))
    else:
        path = _by_path(template, extends, project)
    if isinstance(path, Path) and path in [tree.path for tree in trees]:
        return _cycle_problem(path, extends, trees, base)
    return path


def _by_name(name: str, extends: Node, file: Path, project: Path, folders: Sequence[Path]) -> Path | Problem:
    # A leading underscore marks a template that is not a workflow by itself.
    candidates = [folder / file for folder in folders for file in (f"{name}.yaml", f"_{name}.yaml")]
    existing = [path for path in candidates if path.is_file()]
    # A project's own enterprise.yaml may extend the shipped one of the same name.
    others = [path for path in existing if path != file]
    path = next(iter(others or existing), None)
    if path is None:
        names = {path.stem for folder in folders for path in folder.glob("*.yaml")} - {file.stem}
        searched = ", ".join(str(folder) for folder in dict.fromkeys(folders))
        hint = did_you_mean(name, sorted(names)) or f"searched in {searched}"
        return Problem(*extends.place, 33, f'template "{name}" does not exist', hint)
    is_own = path.is_relative_to(project) or is_inside(path.parent, project)
    if is_own and not is_inside(path, project):
        return Problem(
            *extends.place, 24, f'"{name}" leaves the project', f"{path} is a link to a file outside"
        )
    return path


def _by_path(template: str, extends: Node, project: Path) -> Path | Problem:
    if leads_outside(template, project):
        hint = "name a template by a path inside the project, or by its name alone"
        return Problem(*extends.place, 24, f'"{template}" leaves the project', hint)
    path = project / template
    if not path.is_file():
        return Problem(*extends.place, 33, f"{template} does not exist", f"paths are relative to {project}")
    return path


def _cycle_problem(repeated: Path, extends: Node, trees: Sequence[Tree], base: Path | None) -> Problem:
    paths = [tree.path for tree in trees]
    names = [display_name(path, base) for path in (*paths[paths.index(repeated) :], repeated)]
    hint = " -> ".join(names) if len(names) > 2 else "remove extends"
    return Problem(*extends.place, 33, f"{names[0]} extends itself", hint)
