"""The tree of a worker that may not see some files, and what becomes of them when its work is captured."""

from __future__ import annotations

import pytest

from podium.attempt.prompt.hidden_lines import HIDDEN, HiddenLines
from podium.attempt.workspace.hidden import HiddenStart, hidden_by, put_back, tree_without
from podium.core.types import Tree
from podium.git.repository import read_head, trees
from podium.git.trees.listing import files, read_listing
from tests.git.kit import Project, git, put

FILES = {"src/core.py": "core\n", "src/api.py": "api\n", "docs/a.md": "a\n"}


def paths(project: Project, tree: Tree) -> set[str]:
    return {path for path, _ in files(read_listing(trees(project.repository), tree))}


def committed(project: Project, changes: dict[str, str]) -> Tree:
    put(project.root, changes)
    git(project.root, "add", "-A")
    git(project.root, "commit", "-qm", "files")
    return read_head(project.repository).tree


def test_hidden_files_are_missing_and_come_back_as_they_were(project: Project) -> None:
    whole = committed(project, FILES)
    hidden = hidden_by(["docs/**"], FILES, ["src/core.py"])
    visible = tree_without(project.repository, whole, hidden)

    assert not {"src/core.py", "docs/a.md"} & paths(project, visible)
    assert "src/api.py" in paths(project, visible)
    assert put_back(project.repository, visible, HiddenStart(hidden, whole)) == (whole, ())


@pytest.mark.parametrize("path", ["src/core.py", "src/core.py/inner.py", "docs/new.md"])
def test_what_is_created_in_their_place_is_named_and_removed(project: Project, path: str) -> None:
    whole = committed(project, FILES)
    hidden = hidden_by(["docs/**"], FILES, ["src/core.py"])
    git(project.root, "rm", "-rq", "src/core.py", "docs")
    work = committed(project, {path: "mine\n", "src/added.py": "new\n"})
    tree, created = put_back(project.repository, work, HiddenStart(hidden, whole))

    assert created == (path,)
    assert paths(project, tree) == paths(project, whole) | {"src/added.py"}


def test_lines_of_hidden_files_are_removed_from_feedback_and_visible_ones_are_not() -> None:
    lines = HiddenLines(
        [b"def shown(a):\n    secret_value = compute(a)\n    x = 1\n"], ["def shown(a):\n    ...\n"]
    )
    text = (
        "E    secret_value = compute(a)\n12 | def shown(a):\n+    secret_value = compute(a)\nx = 1\nother\n"
    )

    assert lines.remove(text) == f"{HIDDEN}\n12 | def shown(a):\n{HIDDEN}\nx = 1\nother\n"
