"""Evaluates `exists(path)` and `glob(pattern)` of expressions, in a tree or, without git, in the folder.

A path outside the project never exists; it is not looked up.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from anyio import to_thread

from podium.attempt.host import Host
from podium.core.events import FactsFound
from podium.core.expressions.nodes import ExprError, Names, NeedFact
from podium.core.expressions.templates import Value, fill
from podium.core.expressions.values import MAX_ELEMENTS
from podium.core.globs import glob_matches
from podium.core.types import MEMORY_FACTS, Tree
from podium.errors import PathViolation
from podium.files.inside import inside
from podium.files.path_rules import path_fault
from podium.files.project_paths import STATE_DIR
from podium.git.repository import trees
from podium.git.trees.listing import files, read_listing
from podium.git.trees.names import is_git_folder
from podium.tasks.task import FactTask
from podium.tasks.task_names import TaskNames


async def find(task: FactTask, host: Host) -> FactsFound:
    query = task.query
    if query.function in MEMORY_FACTS:
        from podium.attempt.workspace import memory  # Few workflows have one.

        value: Any = await to_thread.run_sync(
            memory.find_fact, host, query.function, query.argument, task.memory
        )
        return FactsFound(host.now(), query.path, query.function, query.argument, query.tree, value)
    value = await answer(host, (query.function, query.argument), query.tree)
    return FactsFound(host.now(), query.path, query.function, query.argument, query.tree, value)


async def answer(host: Host, query: tuple[str, str], tree: Tree | None) -> Any:
    # A workflow that works in the project itself has its files there and not in a tree.
    is_folder = host.repository is None or tree is None or host.context.works_in_project
    look = _look_in_folder if is_folder else _look_in_tree
    return await to_thread.run_sync(look, host, query, tree)


async def known_names(host: Host, names: TaskNames, values: Iterable[Value], tree: Tree | None) -> Names:
    """The names with every fact that these values need; other errors are raised when the values are used."""
    for value in values:
        if value is None or type(value) is str:
            continue
        while (query := _missing_fact(value, names)) is not None:
            names.facts[query] = await answer(host, query, tree)
    return names


def _missing_fact(value: Value, names: Names) -> tuple[str, str] | None:
    try:
        fill(value, names)
    except NeedFact as need:
        return need.query
    except ExprError:
        return None
    return None


def _look_in_tree(host: Host, query: tuple[str, str], tree: Tree | None) -> Any:
    assert host.repository is not None
    assert tree is not None
    function, argument = query
    listing = read_listing(trees(host.repository), tree)
    if function == "glob":
        return _matching(argument, (path for path, _ in files(listing)))
    folder, _, name = "/".join(part for part in argument.split("/") if part not in ("", ".")).rpartition("/")
    return path_fault(argument) is None and (not name or name in listing.get(folder, {}))


def _look_in_folder(host: Host, query: tuple[str, str], _tree: Tree | None) -> Any:
    function, argument = query
    if function == "glob":
        return _matching(argument, _files_below(host.project))
    try:
        return inside(host.project, argument).exists()
    except PathViolation:
        return False


def _matching(pattern: str, paths: Iterable[str]) -> list[str]:
    return sorted(path for path in paths if glob_matches(pattern, path))[:MAX_ELEMENTS]


def _files_below(root: Path) -> Iterator[str]:
    for top, folders, names in os.walk(root):
        below = Path(top).relative_to(root)
        folders[:] = [n for n in folders if not is_git_folder(n) and str(below / n) != STATE_DIR]
        yield from (str(below / name) for name in names)
