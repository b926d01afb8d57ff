"""The files that a step has changed, with their texts before and after, as editors show changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.app.query.diff import Span, read_changes
from podium.git.command import run
from podium.git.repository import find, trees

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.types import Tree
    from podium.git.repository import Repository

MAX_FILES: Final = 20
MAX_CHARS: Final = 100_000


class ChangedText(NamedTuple):
    path: str
    before: str | None
    """None if the file is new."""
    after: str
    """Empty if the file was removed."""


def changed_texts(project: Project, span: Span) -> Iterator[ChangedText]:
    """At most MAX_FILES of them; binary and very large files are left out."""
    repository = find(project.root, project.paths.trees)
    if repository is None:
        return
    for change in read_changes(project.paths, span)[:MAX_FILES]:
        before, after = (_text(repository, tree, change.path) for tree in span)
        if change.binary or max(len(before or ""), len(after or "")) > MAX_CHARS:
            continue
        yield ChangedText(change.path, before, after or "")


def _text(repository: Repository, tree: Tree, path: str) -> str | None:
    answer = run(trees(repository), "cat-file", "blob", f"{tree}:{path}", codes=(0, 128))
    return answer.out.decode("utf-8", "replace") if answer.code == 0 else None
