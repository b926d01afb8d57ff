"""Interfaces of a feature are written into the tree; expressions ask for files, with and without git."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from podium.attempt.file_facts import answer
from podium.core.types import Tree
from tests.attempt.runs import Bench, bench, writes
from tests.git.kit import Project, put

FEATURE = """
roles: {w: {agent: claude, prompt: work}}
steps:
  feature:
    build:
      id: f
      title: F
      phases:
        one:
          interfaces:
            api: {file: src/api.txt, text: "def api()\\n", check: [grep, -q, api, src/api.txt]}
          components:
            core: {touches: ["src/core.txt"], description: the core}
    component: {role: w, prompt: build it}
"""


@pytest.mark.req("R168")
def test_interfaces_are_in_the_tree_before_a_component_begins(project: Project, tmp_path: Path) -> None:
    seen: list[str] = []

    def edit(folder: Path, attempt: int) -> None:
        seen.append((folder / "src" / "api.txt").read_text())
        (folder / "src" / "core.txt").write_text("core\n")

    bench_ = bench(project, tmp_path, FEATURE)
    bench_.edits = _Everybody(edit)

    played = bench_.play()

    assert seen == ["def api()\n"]
    assert played.state.ended is not None and played.state.ended.outcome == "passed"
    tree = played.ending("feature").tree
    assert tree is not None and {"src/api.txt", "src/core.txt"} <= set(project.files(tree))
    assert not (project.root / "src" / "api.txt").exists()


class _Everybody(dict):  # type: ignore[type-arg]  # every worker does the same
    def __init__(self, edit: object) -> None:
        super().__init__()
        self._edit = edit

    def get(self, key: object, default: object = None) -> object:
        return self._edit


def find(bench_: Bench, function: str, argument: str, tree: Tree | None) -> object:
    return anyio.run(answer, bench_.host, (function, argument), tree)


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        ("exists", "src/app.py", True),
        ("exists", "src", True),
        ("exists", "./src/", True),
        ("exists", ".", True),
        ("exists", "src/nothing", False),
        ("exists", "../project/README.md", False),
        ("exists", "/etc/passwd", False),
        ("exists", "src/app.py/more", False),
        ("glob", "**/*.py", ["src/app.py"]),
        ("glob", "*.md", ["README.md"]),
        ("glob", "nothing/**", []),
    ],
)
@pytest.mark.parametrize("place", ["tree", "folder"])
def test_files_are_found_in_a_tree_and_in_a_folder_alike(
    project: Project, tmp_path: Path, place: str, function: str, argument: str, expected: object
) -> None:
    text = "steps:\n  it: {run: [ls]}\n"
    if place == "tree":
        assert find(bench(project, tmp_path, text), function, argument, project.tree()) == expected
    else:
        assert find(bench(project.root, tmp_path, text), function, argument, None) == expected


def test_a_tree_is_asked_and_not_the_folder(project: Project, tmp_path: Path) -> None:
    tree = project.tree()
    put(project.root, {"uncommitted.py": ""})

    bench_ = bench(project, tmp_path, "steps:\n  it: {run: [ls]}\n")

    assert find(bench_, "exists", "uncommitted.py", tree) is False


def test_conditions_ask_for_files_of_the_head(project: Project, tmp_path: Path) -> None:
    text = """
    roles: {w: {agent: claude, prompt: work}}
    steps:
      make: {role: w, touches: ["**"]}
      yes: {run: [ls], when: "exists('made.txt')"}
      no: {run: [ls], when: "len(glob('*.nothing')) > 0"}
    """
    played = bench(project, tmp_path, text, edits={"make": writes({"made.txt": "m"})}).play()

    assert (played.ending("yes").outcome, played.ending("no").outcome) == ("passed", "skipped")
