"""Several landings of one run: each brings what is new in its own work, and takes back nothing that another has landed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.attempt.runs import Bench, bench, writes
from tests.git.kit import Project, git

WORKER = "roles: {w: {agent: claude, prompt: work}}\n"
MEMBERS = """
      a:
        steps:
          edit: {role: w, touches: ["**"]}
          l: {git: {land: main, message: a}}
      b:
        steps:
          edit: {role: w, touches: ["**"]}
          look: {run: [ls]}
          look_again: {run: [ls]}
          l: {git: {land: main, message: b}}
"""
LAST = """
  w: {role: w, touches: ["**"]}
  land: {git: {land: main, message: last}}
"""
EDITS = {f"all/{name}/edit": writes({name: name}) for name in "ab"} | {"w": writes({"c": "c"})}


def members(project: Project, folder: Path, kind: str) -> Bench:
    """The second one lands when the landing of the first is over."""
    text = f"{WORKER}steps:\n  all:\n    {kind}\n    steps:{MEMBERS}{LAST}"
    return bench(project, folder, text, edits=EDITS)


def log(project: Project) -> list[tuple[str, str]]:
    """The commits after the first, each with what it changed; oldest first."""
    out = git(project.root, "log", "--reverse", "--format=%x00%s", "--name-status", "HEAD")
    commits = [part.split() for part in out.split("\0")[2:]]
    return [(subject, " ".join(rest)) for subject, *rest in commits]


@pytest.mark.req("R176", "X4")
def test_landings_of_parallel_members_take_nothing_back_and_another_may_follow(
    project: Project, tmp_path: Path
) -> None:
    """The tree of a member has nothing of the others: landed as if it had, it would delete their work."""
    played = members(project, tmp_path, "parallel: true").play()

    assert [played.ending(path).outcome for path in ("all", "w", "land")] == ["passed"] * 3
    assert sorted(log(project)[:2]) == [("a", "A a"), ("b", "A b")]
    assert log(project)[2:] == [("last", "A c")]


def test_landings_of_members_one_after_another_build_upon_each_other(
    project: Project, tmp_path: Path
) -> None:
    text = f"""{WORKER}
steps:
  all:
    for_each: [a, b]
    parallel: 1
    steps:
      edit: {{role: w, touches: ["**"]}}
      l: {{git: {{land: main, message: "${{{{ item }}}}"}}}}
{LAST}"""
    edits = {f"all[{at}]/edit": writes({name: name, "same": name}) for at, name in ((1, "a"), (2, "b"))}

    bench(project, tmp_path, text, edits={**edits, "w": writes({"same": "c"})}).play()

    assert log(project) == [("a", "A a A same"), ("b", "A b M same"), ("last", "M same")]


def test_what_members_have_landed_stays_although_their_trees_are_discarded(
    project: Project, tmp_path: Path
) -> None:
    members(project, tmp_path, "parallel: true\n    join: discard").play()

    assert sorted(log(project)[:2]) == [("a", "A a"), ("b", "A b")]
    assert log(project)[2:] == [("last", "A c")]


def test_what_a_part_has_landed_before_it_failed_is_not_taken_back(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  all:
    steps:
      a: {{role: w, touches: ["**"]}}
      l: {{git: {{land: main, message: a}}}}
      red: {{run: [sh, -c, "exit 1"]}}
    on: {{failed: next}}
{LAST}"""
    edits = {"all/a": writes({"a": "a"}), "w": writes({"c": "c"})}

    bench(project, tmp_path, text, edits=edits).play()

    assert log(project) == [("a", "A a"), ("last", "A c")]


def test_branches_of_a_graph_land_beside_each_other_and_what_needs_them_after_them(
    project: Project, tmp_path: Path
) -> None:
    text = f"""{WORKER}
steps:
  a: {{role: w, touches: [a.txt], needs: []}}
  la: {{git: {{land: main, message: la}}, needs: [a]}}
  b: {{role: w, touches: [b.txt], needs: []}}
  lb: {{git: {{land: main, message: lb}}, needs: [b]}}
  c: {{role: w, touches: ["**"], needs: [la, lb]}}
  lc: {{git: {{land: main, message: lc}}, needs: [c]}}
"""
    edits = {name: writes({f"{name}.txt": name}) for name in "abc"}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert played.ending("lc").outcome == "passed"
    assert sorted(log(project)[:2]) == [("la", "A a.txt"), ("lb", "A b.txt")]
    assert log(project)[2:] == [("lc", "A c.txt")]


def test_work_that_is_done_anew_replaces_what_it_had_landed(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  w: {{role: w, touches: ["**"]}}
  land: {{git: {{land: main, message: it}}}}
  again: {{run: [sh, -c, "exit $(grep -c old f)"], on: {{failed: w}}}}
"""

    def edit(folder: Path, attempt: int) -> None:
        (folder / "f").write_text("new" if (folder / "f").exists() else "old")

    played = bench(project, tmp_path, text, edits={"w": edit, "w~2": edit}).play()

    assert played.ending("land~2").outcome == "passed"
    assert log(project) == [("it", "A f"), ("it", "M f")]
