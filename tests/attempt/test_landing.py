"""Landing and publishing: the branch moves once, only to what was judged, and never over the user's own work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.core.effects import AskPerson, RunAttempt
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.hash_chain import RunId
from podium.core.model import Git
from podium.core.state import State
from podium.core.types import Address
from tests.attempt.runs import Bench, bench, perform_attempt, writes
from tests.git.kit import Project, git, put

pytestmark = pytest.mark.slow

WORKER = "roles: {w: {agent: claude, prompt: work}}\n"
EDITS = {"it": writes({"src/new.py": "y = 1\n"})}


def flow(project: Project, folder: Path, land: str, gates: str = "[]", **more: Any) -> Bench:
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"], gates: {gates}}}
  land: {{git: {land}, on: {{else: next}}}}
"""
    return bench(project, folder, text, edits=more.pop("edits", EDITS), **more)


def when_landing(bench_: Bench, do: Any) -> None:
    """Something happens in the world just before the landing is performed."""

    def before(effect: Any, state: State) -> None:
        if isinstance(effect, RunAttempt) and isinstance(
            state.instances[effect.started.path].place.step.verb, Git
        ):
            do(effect.started, state)

    bench_.before = before


def again_of(bench_: Bench, first: tuple[AttemptStarted, State]) -> AttemptEnded:
    asked, state = first
    return anyio.run(perform_attempt, asked, state, bench_.host)


def commit_elsewhere(project: Project, files: dict[str, str]) -> None:
    """A colleague's commit, made in the user's own work tree."""
    project.commit(files, "theirs")


@pytest.mark.req("R176", "R178")
def test_the_work_lands_on_the_branch_and_in_the_users_files(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, '{land: "${{ run.branch }}", message: "Add y"}').play()

    assert played.ending("land").outcome == "passed"
    output = played.result("land")["output"]
    assert output == {"commit": git(project.root, "rev-parse", "main"), "branch": "main"}
    assert git(project.root, "log", "-1", "--format=%s").startswith("Add y")
    assert (project.root / "src" / "new.py").read_text() == "y = 1\n"
    assert git(project.root, "status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.req("R176")
def test_a_landing_that_is_performed_again_moves_nothing(project: Project, tmp_path: Path) -> None:
    """After kill -9 between the move and its record the attempt is carried out again, under the same name."""
    bench_ = flow(project, tmp_path, "{land: main, message: Add y}")
    first: list[Any] = []

    def twice(asked: Any, state: State) -> None:
        first.append((asked, state))

    when_landing(bench_, twice)
    played = bench_.play()
    tip = git(project.root, "rev-parse", "main")

    again = again_of(bench_, first[0])

    assert again.kind == "ok"
    assert (again.result or {})["output"] == played.result("land")["output"]
    assert git(project.root, "rev-parse", "main") == tip


def test_files_that_a_crash_left_behind_follow_at_the_second_try(project: Project, tmp_path: Path) -> None:
    bench_ = flow(project, tmp_path, "{land: main, message: Add y}")
    first: list[Any] = []
    when_landing(bench_, lambda asked, state: first.append((asked, state)))
    bench_.play()
    tip = git(project.root, "rev-parse", "main")
    # As if we had been killed after the branch was moved: files and index are still the old ones.
    git(project.root, "read-tree", "--reset", "-u", f"{tip}^")
    assert not (project.root / "src" / "new.py").exists()

    again_of(bench_, first[0])

    assert (project.root / "src" / "new.py").exists()
    assert git(project.root, "status", "--porcelain", "--untracked-files=no") == ""


@pytest.mark.req("X4", "X8")
def test_on_a_branch_that_moved_the_commands_run_again(project: Project, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    gates = f'[{{run: [sh, -c, "ls >> {mark}"]}}]'
    bench_ = flow(project, tmp_path, "{land: main, message: Add y}", gates)
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"theirs.txt": "t\n"}))

    played = bench_.play()

    assert played.ending("land").outcome == "passed"
    assert (project.root / "theirs.txt").exists() and (project.root / "src" / "new.py").exists()
    assert mark.read_text().count("theirs.txt") == 1


def test_a_command_that_is_red_on_the_moved_branch_stops_the_landing(
    project: Project, tmp_path: Path
) -> None:
    gates = '[{run: [sh, -c, "test ! -e theirs.txt"]}]'
    bench_ = flow(project, tmp_path, "{land: main, message: Add y}", gates)
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"theirs.txt": "t\n"}))

    played = bench_.play()

    assert (played.ending("land").outcome, played.answer("land").reason) == ("failed", "gates")
    assert "it#1/run" in played.result("land")["message"]
    assert git(project.root, "log", "-1", "--format=%s") == "theirs"


def test_a_run_step_that_keeps_nothing_passes_again_as_well(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"]}}
  check: {{run: [sh, -c, "test ! -e theirs.txt"]}}
  land: {{git: {{land: main, message: Do it}}, on: {{else: next}}}}
"""
    bench_ = bench(project, tmp_path, text, edits=EDITS)
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"theirs.txt": "t\n"}))

    played = bench_.play()

    assert played.answer("land").reason == "gates"
    assert "check does not pass" in played.result("land")["message"]


def test_a_clash_with_the_branch_is_a_conflict_with_its_place(project: Project, tmp_path: Path) -> None:
    bench_ = flow(
        project, tmp_path, "{land: main, message: Do it}", edits={"it": writes({"src/app.py": "x = 2\n"})}
    )
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"src/app.py": "x = 3\n"}))

    played = bench_.play()

    assert played.ending("land").outcome == "conflict"
    assert "src/app.py" in played.result("land")["message"]
    assert "x = 3" in played.result("land")["message"]


def test_a_change_that_is_no_longer_the_one_that_was_judged_is_a_conflict(
    project: Project, tmp_path: Path
) -> None:
    """Both sides made the same part of the change: it merges, but what would land is another patch."""
    mine = {"src/app.py": "x = 1\ny = 2\n", "src/new.py": "y = 1\n"}
    bench_ = flow(project, tmp_path, "{land: main, message: Do it}", edits={"it": writes(mine)})
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"src/app.py": "x = 1\ny = 2\n"}))

    played = bench_.play()

    assert played.ending("land").outcome == "conflict"
    assert "judged" in played.result("land")["message"]


def test_the_users_own_work_in_the_way_is_named_and_left_alone(project: Project, tmp_path: Path) -> None:
    bench_ = flow(project, tmp_path, "{land: main, message: Do it}")
    when_landing(bench_, lambda *_: put(project.root, {"src/new.py": "mine\n"}))
    before = git(project.root, "rev-parse", "main")

    played = bench_.play()

    assert (played.ending("land").outcome, played.answer("land").reason) == ("failed", "in_the_way")
    assert "src/new.py" in played.result("land")["message"]
    assert (project.root / "src" / "new.py").read_text() == "mine\n"
    assert git(project.root, "rev-parse", "main") == before


def test_a_run_without_changes_has_nothing_to_land_and_passes(project: Project, tmp_path: Path) -> None:
    before = git(project.root, "rev-parse", "main")
    text = "steps:\n  look: {run: [ls]}\n  land: {git: {land: main, message: Do it}}\n"

    played = bench(project, tmp_path, text).play()

    assert played.ending("land").outcome == "passed"
    assert played.result("land")["output"] == {"commit": before, "branch": "main", "unchanged": True}
    assert git(project.root, "rev-parse", "main") == before


def test_a_second_landing_of_a_run_lands_only_what_is_new(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  one: {{role: w, touches: ["**"]}}
  first: {{git: {{land: main, message: One}}}}
  two: {{role: w, touches: ["**"]}}
  second: {{git: {{land: main, message: Two}}}}
"""
    edits = {"one": writes({"src/app.py": "x = 2\n"}), "two": writes({"src/app.py": "x = 3\n"})}

    played = bench(project, tmp_path, text, edits=edits).play()

    assert played.ending("second").outcome == "passed"
    assert git(project.root, "log", "--format=%s", "-3").splitlines() == ["Two", "One", "first"]
    assert (project.root / "src" / "app.py").read_text() == "x = 3\n"


def test_each_step_may_be_a_commit_of_its_own(project: Project, tmp_path: Path) -> None:
    text = f"""{WORKER}
steps:
  one: {{role: w, touches: ["**"], description: Begin it}}
  two: {{role: w, touches: ["**"]}}
  land: {{git: {{land: main, how: commits, message: End it}}}}
"""
    edits = {"one": writes({"a": "1"}), "two": writes({"b": "2"})}

    bench(project, tmp_path, text, edits=edits).play()

    assert git(project.root, "log", "--format=%s", "-3").splitlines() == ["End it", "Begin it", "first"]
    assert git(project.root, "show", "--format=", "--name-only", "main~1") == "a"


def test_work_is_published_as_a_branch_and_pushed(project: Project, tmp_path: Path) -> None:
    remote = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(project.root, "remote", "add", "origin", str(remote))
    before = git(project.root, "rev-parse", "main")

    played = flow(project, tmp_path, '{branch: "podium/${{ run.id }}", push: origin}').play()

    output = played.result("land")["output"]
    assert output["branch"] == "podium/20260101-a"
    assert git(remote, "rev-parse", "podium/20260101-a") == output["commit"]
    assert git(project.root, "rev-parse", "main") == before
    assert not (project.root / "src" / "new.py").exists()


def test_a_branch_of_that_name_with_other_work_is_not_overwritten(project: Project, tmp_path: Path) -> None:
    git(project.root, "branch", "taken")
    project.commit({"more": "m"})
    git(project.root, "branch", "-f", "taken", "HEAD")
    git(project.root, "reset", "-q", "--hard", "HEAD~1")

    played = flow(project, tmp_path, "{branch: taken}").play()

    assert (played.ending("land").outcome, played.answer("land").reason) == ("failed", "publish")
    assert "other work" in played.result("land")["message"]


def test_without_a_repository_nothing_can_land(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()

    played = bench(root, tmp_path, "steps:\n  land: {git: {land: main, message: Do it}}\n").play()

    assert (played.answer("land").kind, played.answer("land").reason) == ("error", "configuration")


@pytest.mark.req("R176", "R119")
def test_gates_of_the_landing_itself_judge_what_would_land(project: Project, tmp_path: Path) -> None:
    """They come before the branch is moved: nothing unverified reaches it."""
    text = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"]}}
  land:
    git: {{land: main, message: Do it}}
    gates: [{{run: [sh, -c, "test ! -e src/new.py"], name: last_look}}]
    on: {{else: next}}
"""
    before = git(project.root, "rev-parse", "main")

    played = bench(project, tmp_path, text, edits=EDITS).play()

    assert (played.ending("land").outcome, played.ending("land").reason) == ("failed", "gates")
    assert "last_look failed: sh ended with 1" in played.ending("land").message
    assert git(project.root, "rev-parse", "main") == before


ASKED = f"""{WORKER}
steps:
  it: {{role: w, touches: ["**"]}}
  land:
    git: {{land: main, message: Do it}}
    gates: [{{run: [ls], name: look}}, {{human: "Land it?", name: ask}}]
    on: {{else: next}}
"""


@pytest.mark.req("R176", "R119")
def test_a_person_is_asked_about_exactly_the_tree_that_lands_and_before_it_does(
    project: Project, tmp_path: Path
) -> None:
    bench_ = bench(project, tmp_path, ASKED, edits=EDITS)
    before = git(project.root, "rev-parse", "main")
    tips: list[str] = []

    def look(effect: Any, state: State) -> None:
        if isinstance(effect, AskPerson):
            tips.append(git(project.root, "rev-parse", "main"))
            tips.append(str(effect.request.tree))

    bench_.before = look
    played = bench_.play()

    assert played.ending("land").outcome == "passed"
    assert tips == [before, git(project.root, "rev-parse", "main^{tree}")]
    assert played.state.instances[Address("land#1")].place.base == git(
        project.root, "rev-parse", f"{before}^{{tree}}"
    )


@pytest.mark.req("R119", "X4")
def test_if_the_branch_moves_while_the_gates_judge_they_judge_again_what_would_land_now(
    project: Project, tmp_path: Path
) -> None:
    bench_ = bench(project, tmp_path, ASKED, edits=EDITS)
    asked: list[str] = []

    def look(effect: Any, state: State) -> None:
        if isinstance(effect, AskPerson):
            asked.append(str(effect.request.tree))
            if len(asked) == 1:
                commit_elsewhere(project, {"theirs.txt": "t\n"})

    bench_.before = look
    played = bench_.play()

    assert played.ending("land").outcome == "passed"
    assert len(asked) == 2 and asked[1] == git(project.root, "rev-parse", "main^{tree}")
    assert (project.root / "theirs.txt").exists() and (project.root / "src" / "new.py").exists()


def test_a_published_branch_is_judged_before_it_exists(project: Project, tmp_path: Path) -> None:
    text = ASKED.replace("{land: main, message: Do it}", "{branch: out}")
    refused = text.replace("run: [ls]", "run: [sh, -c, 'exit 1']")

    played = bench(project, tmp_path, refused, edits=EDITS).play()
    assert played.ending("land").outcome == "failed"
    assert git(project.root, "branch", "--list", "out") == ""

    played = bench(project, tmp_path, text, edits=EDITS, run=RunId("20260101-b")).play()
    assert played.ending("land").outcome == "passed"
    assert git(project.root, "branch", "--list", "out") != ""


def test_a_gate_that_cannot_be_started_is_no_fault_of_the_worker(project: Project, tmp_path: Path) -> None:
    """Language 7: it ends the step as an error, and nobody is told to do better."""
    played = flow(project, tmp_path, "{land: main, message: x}", "[{run: [no-such-program]}]").play()

    assert (played.ending("it").outcome, played.ending("it").reason) == ("error", "not_started")
    assert "no-such-program" in played.ending("it").message
    assert len(played.answers("it")) == 1


@pytest.mark.req("X8")
def test_gates_of_joined_members_pass_again_on_a_branch_that_moved(project: Project, tmp_path: Path) -> None:
    """No instance has judged the joined tree itself, but its members' commands have passed there."""
    member = 'role: w, gates: [{run: [sh, -c, "test ! -e theirs.txt"]}]'
    text = f"""{WORKER}
steps:
  all:
    parallel: true
    steps:
      a: {{{member}, touches: ["a/**"]}}
      b: {{{member}, touches: ["b/**"]}}
  land: {{git: {{land: main, message: Do it}}, on: {{else: next}}}}
"""
    edits = {"all/a": writes({"a/f": "a"}), "all/b": writes({"b/f": "b"})}
    bench_ = bench(project, tmp_path, text, edits=edits)
    when_landing(bench_, lambda *_: commit_elsewhere(project, {"theirs.txt": "t\n"}))

    played = bench_.play()

    assert played.answer("land").reason == "gates"
    assert "all/a#1/run" in played.result("land")["message"], "the first member counts, which was not merged"


@pytest.mark.parametrize("branch", ["-x", "a..b"])
def test_a_name_that_is_no_branch_is_an_error(project: Project, tmp_path: Path, branch: str) -> None:
    bench_ = bench(
        project,
        tmp_path,
        'inputs: {b: string}\nsteps:\n  land: {git: {land: "${{ inputs.b }}", message: Do it}}\n',
    )

    played = bench_.play({"b": branch})

    assert played.answer("land").kind == "error"
