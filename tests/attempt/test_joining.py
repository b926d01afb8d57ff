"""Parallel members come together: merged one by one, judged again on the result, halved when a batch is red."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Tree
from tests.attempt.runs import Bench, Edit, Played, bench, writes
from tests.attempt.test_landing import commit_elsewhere, when_landing
from tests.git.kit import Project, git

WORKER = "roles: {w: {agent: claude, prompt: work}}\n"


def parallel(
    project: Project,
    folder: Path,
    edits: dict[str, Edit],
    *,
    gates: str = "[]",
    join: str = "queue",
) -> Bench:
    members = "".join(
        f'    {name}: {{role: w, touches: ["{name}/**"], gates: {gates}, retry: 1, on: {{else: next}}}}\n'
        for name in edits
    )
    text = (
        f"{WORKER}steps:\n  all:\n    parallel: true\n    join: {join}\n    pass: any\n    steps:\n"
        + "".join("  " + line + "\n" for line in members.splitlines())
    )
    return bench(project, folder, text, edits={f"all/{name}": edit for name, edit in edits.items()})


def head(played: Played) -> Tree:
    tree = played.ending("all").tree
    assert tree is not None
    return tree


@pytest.mark.req("X8")
def test_members_that_go_together_are_all_on_the_head(project: Project, tmp_path: Path) -> None:
    edits = {name: writes({f"{name}/f": name}) for name in ("a", "b", "c")}

    played = parallel(project, tmp_path, edits).play()

    assert {"a/f", "b/f", "c/f"} <= set(project.files(head(played)))
    assert all(join.refused == () for join in played.joins())


def test_a_clash_is_refused_with_an_excerpt(project: Project, tmp_path: Path) -> None:
    """A file and a folder of the same name: no glob of one matches a file of the other."""
    text = f"""{WORKER}
steps:
  all:
    parallel: true
    pass: any
    steps:
      a: {{role: w, touches: [shared], retry: 1, on: {{else: next}}}}
      b: {{role: w, touches: [shared/f], retry: 1, on: {{else: next}}}}
"""
    edits = {"all/a": writes({"shared": "a\n"}), "all/b": writes({"shared/f": "b\n"})}

    played = bench(project, tmp_path, text, edits=edits).play()

    (refused,) = (refused for join in played.joins() for refused in join.refused)
    assert (refused.path, refused.kind) == ("all/b", "conflict")
    assert "shared" in refused.detail
    assert played.ending("all/b").outcome == "conflict"


@pytest.mark.req("X8")
def test_two_members_that_are_green_alone_and_red_together_are_found(
    project: Project, tmp_path: Path
) -> None:
    gates = '[{run: [sh, -c, "test ! -e a/f -o ! -e b/f"]}]'
    edits = {name: writes({f"{name}/f": name}) for name in ("a", "b")}

    played = parallel(project, tmp_path, edits, gates=gates).play()

    (refused,) = (refused for join in played.joins() for refused in join.refused)
    assert (refused.path, refused.kind) == ("all/b", "failed")
    assert "all/b#1/run" in refused.detail
    assert "a/f" in project.files(head(played)) and "b/f" not in project.files(head(played))


@pytest.mark.req("X8")
def test_a_red_batch_is_halved_until_the_culprit_stands_alone(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    gates = f'[{{run: [sh, -c, "echo x >> {mark}; test ! -e c/f -o ! -e a/f"]}}]'
    edits = {name: writes({f"{name}/f": name}) for name in ("a", "b", "c", "d")}

    played = parallel(project, tmp_path, edits, gates=gates, join="{batch: 4}").play()

    refused = [refused for join in played.joins() for refused in join.refused]
    assert [(each.path, each.kind) for each in refused] == [("all/c", "failed")]
    files = project.files(head(played))
    assert {"a/f", "b/f", "d/f"} <= set(files) and "c/f" not in files


def test_joined_trees_are_kept_on_a_ref(project: Project, tmp_path: Path) -> None:
    edits = {name: writes({f"{name}/f": name}) for name in ("a", "b")}

    played = parallel(project, tmp_path, edits).play()

    trees = git(project.root, "for-each-ref", "--format=%(refname) %(tree)", "refs/podium").splitlines()
    assert any("join" in line and line.endswith(head(played)) for line in trees)


def test_the_work_of_several_needs_is_merged_before_a_step_of_a_graph(
    project: Project, tmp_path: Path
) -> None:
    text = f"""{WORKER}
steps:
  a: {{role: w, touches: ["a/**"], needs: []}}
  b: {{role: w, touches: ["b/**"], needs: []}}
  see: {{run: [ls], needs: [a, b]}}
"""
    edits = {name: writes({f"{name}/f": name}) for name in ("a", "b")}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert {"a", "b"} <= set(played.result("see")["output"].split())


def test_a_clash_before_a_step_of_a_graph_is_its_conflict(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  a: {{role: w, touches: [shared], needs: []}}
  b: {{role: w, touches: [shared/f], needs: []}}
  see: {{run: [ls], needs: [a, b]}}
"""
    edits = {"a": writes({"shared": "a"}), "b": writes({"shared/f": "b"})}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert played.ending("see").outcome == "conflict"


@pytest.mark.req("X8")
def test_a_gate_of_each_item_passes_again_on_a_branch_that_moved(project: Project, tmp_path: Path) -> None:
    """The words of the gate are the same for all items; what it is told is not."""
    gate = """{run: [sh, -c, 'test "$WHO" != c || test ! -e theirs.txt'], env: ["WHO=${{ item }}"]}"""
    text = f"""{WORKER}
steps:
  all: {{for_each: [a, b, c], parallel: 3, role: w, touches: ["**"], gates: [{gate}]}}
  land: {{git: {{land: main, message: Do it}}, on: {{else: next}}}}
"""
    edits = {f"all[{number}]": writes({f"{number}/f": ""}) for number in (1, 2, 3)}
    bench_ = bench(project, tmp_path, text, edits=edits)
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"theirs.txt": "t\n"}))

    played = bench_.play()

    assert played.answer("land").reason == "gates"
    assert "all[3]#1/run" in played.result("land")["message"]
