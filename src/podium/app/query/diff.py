"""What a run or a step has changed, from the trees that its events name."""

from __future__ import annotations

from typing import Final, NamedTuple

from podium.core.types import Tree
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.git.command import GitError
from podium.git.repository import Repository, find
from podium.git.trees.diff import Change, changes, diff
from podium.views.run.view import Pending, RunView, comparison_base, steps_named

FILE_BYTES: Final = 256 * 1024
"""How much of the change of one file is shown."""


class Span(NamedTuple):
    base: Tree
    tree: Tree


def change_of(view: RunView, step: str | None = None) -> Span:
    """The two trees to compare. A name means the last visit of that step; the address of a question, what it asks about.

    For a whole run: up to its head, or up to the tree that a person is asked about, which the head has not reached yet.
    """
    questions = asked_in(view)
    if step is None:
        trees = {pending.tree for pending in questions}
        return _span(view.base, trees.pop() if len(trees) == 1 else view.tree, f"run {view.run}")
    for pending in questions:
        if pending.path == step:
            return span_of_question(view, pending)
    last = steps_named(view, step)[-1]
    return _span(last.base, last.tree if last.tree is not None else last.base, f"step {last.path}")


def span_of_question(view: RunView, pending: Pending) -> Span:
    """The trees that the change a question is about lies between."""
    return _span(comparison_base(view, pending), pending.tree, f"question {pending.path}")


def asked_in(view: RunView) -> tuple[Pending, ...]:
    """The open questions that are about a tree."""
    return tuple(pending for pending in view.pending if pending.actions and pending.tree is not None)


def _span(base: Tree | None, tree: Tree | None, what: str) -> Span:
    if base is None or tree is None:
        raise ConfigurationError(
            f"{what} has no trees: it works outside of git, in the folder itself",
            hint="git init makes later runs comparable",
        )
    return Span(base, tree)


def read_diff(paths: ProjectPaths, span: Span) -> tuple[str, bool]:
    """The text, and whether it was cut."""
    try:
        result = diff(_repository(paths), span.base, span.tree, renames=True)
    except GitError as error:
        raise _gone(span) from error
    return result.text, result.cut


def read_changes(paths: ProjectPaths, span: Span) -> tuple[Change, ...]:
    try:
        return changes(_repository(paths), span.base, span.tree)
    except GitError as error:
        raise _gone(span) from error


def file_diff(paths: ProjectPaths, span: Span, path: str, *, limit: int = FILE_BYTES) -> tuple[str, bool]:
    """The change of one file as text, and whether it was cut. git matches the name as it is, never as a pattern."""
    try:
        result = diff(_repository(paths), span.base, span.tree, paths=(path,), limit=limit)
    except GitError as error:
        raise _gone(span) from error
    return result.text, result.cut


def _repository(paths: ProjectPaths) -> Repository:
    repository = find(paths.root, paths.trees)
    if repository is None:
        raise ConfigurationError(f"{paths.root} is not in a git repository, so there are no trees to compare")
    return repository


def _gone(span: Span) -> ConfigurationError:
    return ConfigurationError(
        f"git no longer has {span.base} or {span.tree}",
        hint="podium gc or git gc may have removed the run's trees",
    )
