"""Landing on a branch that others have moved: the work is joined, judged again, or sent back to its author.

The author is a program: where it finds conflict markers in its workspace, it keeps the lines of both sides.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Ended, Project, closing, new_project
from tests.e2e.terminal import at_a_terminal

pytestmark = pytest.mark.slow

LIST = [str(number) for number in range(1, 31)]
AUTHOR = r"""import pathlib, re, sys
sys.stdin.read()
path = pathlib.Path("list.txt")
lines = path.read_text().splitlines()
if not any(line.startswith("<<<<<<<") for line in lines):
    lines = ["ours" if line == "5" else line for line in lines]
elif "resolves" in sys.argv:
    text = re.sub(r"(?ms)^\|{7} .*?^={7}$", "=======", "\n".join(lines))
    lines = [line for line in text.splitlines() if not line.startswith(("<<<<<<<", "=======", ">>>>>>>"))]
path.write_text("\n".join(lines) + "\n")
print("done")
"""
CHECK = "grep -q ours list.txt && ! grep -q red list.txt"
FLOW = """\
podium: 1
name: ship
agents: {{author: {{type: command, command: [python3, author.py, {how}], price: {{input: 0, output: 0}}}}}}
steps:
  {author}
  gap: {{wait: {{signal: go}}}}
  {land}
"""
GATE = f'{{run: {{script: "{CHECK}", shell: bash}}}}'
IMPLEMENT = f"implement: {{agent: author, prompt: change the list, touches: [list.txt], gates: [{GATE}]}}"
LAND = "land: {git: {land: main, message: Change the list}}"
ROUTED = LAND.replace("}}", "}, on: {conflict: implement}}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def project_at(folder: Path, *, author: str = IMPLEMENT, land: str = LAND, how: str = "resolves") -> Project:
    flow = FLOW.format(author=author, land=land, how=how)
    files = {"list.txt": "\n".join(LIST) + "\n", "author.py": AUTHOR, "ship.yaml": flow}
    return new_project(folder, files)


def commit_theirs(project: Project, old: str, new: str) -> str:
    """A colleague changes one line of the list on the branch."""
    lines = (project.root / "list.txt").read_text().splitlines()
    project.commit(
        {"list.txt": "\n".join(new if line == old else line for line in lines) + "\n"}, f"{old} is {new}"
    )
    return project.git("rev-parse", "main")


def started(project: Project) -> str:
    """A run whose author is done and which waits before it lands."""
    ended = project.podium("run", "ship.yaml", "--json")
    assert ended.code == 6, ended.err
    run: str = ended.data()["run"]
    return run


def go(project: Project, run: str) -> Ended:
    return project.podium("signal", run, "go")


def newest(project: Project) -> str:
    run: str = project.podium("runs", "--json").data()[0]["run"]
    return run


def steps(project: Project, run: str) -> dict[str, Any]:
    return {step["path"]: step for step in project.podium("show", run, "--json").data()["steps"]}


def listed(project: Project) -> list[str]:
    return project.git("show", "main:list.txt").splitlines()


def printed_commands(ended: Ended) -> list[str]:
    lines = (line.strip() for line in (ended.out + ended.err).splitlines())
    return [line.split("  ")[0] for line in lines if line.startswith(("podium ", "git ", "hint: podium"))]


def assert_both_landed(project: Project, theirs: str) -> None:
    assert {"ours", "theirs"} <= set(listed(project))
    assert not any(line.startswith(("<<<<<<<", "|||||||", ">>>>>>>")) for line in listed(project))
    assert project.git("rev-parse", "main~1") == theirs
    assert (project.root / "list.txt").read_text().splitlines() == listed(project)


def test_a_branch_that_moved_elsewhere_is_joined_and_its_gates_run_again(folder: Path) -> None:
    with closing(project_at(folder)) as project:
        run = started(project)
        theirs = commit_theirs(project, "25", "theirs")

        assert go(project, run).code == 0

        assert_both_landed(project, theirs)


def test_work_that_is_red_on_the_moved_branch_lands_once_the_branch_is_mended(folder: Path) -> None:
    with closing(project_at(folder)) as project:
        run = started(project)
        commit_theirs(project, "25", "red")

        failed = go(project, run)

        assert failed.code == 1
        assert 'on the current tip of "main", implement#1/run does not pass' in failed.err + failed.out
        theirs = commit_theirs(project, "red", "theirs")
        resumed = project.podium("resume", run)
        assert resumed.code == 6, resumed.err
        assert "onto" not in resumed.err
        assert go(project, newest(project)).code == 0
        assert_both_landed(project, theirs)


def test_a_clash_goes_back_to_its_author_by_its_route_with_both_sides(folder: Path) -> None:
    with closing(project_at(folder, land=ROUTED)) as project:
        run = started(project)
        theirs = commit_theirs(project, "5", "theirs")

        assert go(project, run).code == 6
        again = steps(project, run)["implement~2"]
        assert again["outcome"] == "passed"
        assert go(project, run).code == 0

        assert_both_landed(project, theirs)
        prompt = next((project.root / ".podium/runs" / run).glob("**/implement~2/**/prompt.md")).read_text()
        assert "<<<<<<< what was there before\ntheirs\n|||||||" in prompt
        assert "=======\nours\n>>>>>>> this work" in prompt
        assert 'the lines after <<<<<<< are those of "main"' in prompt


@pytest.mark.parametrize("command", [("resume",), ("rerun", "land")])
def test_a_clash_without_a_route_names_the_command_that_sends_it_back(
    folder: Path, command: tuple[str, ...]
) -> None:
    with closing(project_at(folder)) as project:
        run = started(project)
        theirs = commit_theirs(project, "5", "theirs")

        failed = go(project, run)

        assert failed.code == 1
        assert f"podium resume {run}" in printed_commands(failed)
        assert listed(project) == (project.root / "list.txt").read_text().splitlines()
        preview = project.podium(command[0], run, *command[1:], "--dry-run", "--json").data()
        assert preview["onto"] == {
            "branch": "main", "commit": theirs, "step": "implement", "conflicts": ["list.txt"],
        }  # fmt: skip
        assert preview["next"] == ["implement"]
        resumed = project.podium(command[0], run, *command[1:], *(("--yes",) if command[1:] else ()))
        assert resumed.code == 6, resumed.err
        assert "implement resolves the conflict in list.txt" in resumed.err
        assert go(project, newest(project)).code == 0
        assert_both_landed(project, theirs)
        diff = project.podium("diff", newest(project)).out
        assert "+ours" in diff
        assert "+theirs" not in diff


def test_markers_that_the_author_leaves_do_not_land(folder: Path) -> None:
    with closing(project_at(folder, land=ROUTED, how="ignores")) as project:
        run = started(project)
        theirs = commit_theirs(project, "5", "theirs")

        assert go(project, run).code == 6
        assert go(project, run).code == 6

        assert "conflict markers are left in list.txt" in steps(project, run)["land~2"]["message"]
        assert project.git("rev-parse", "main") == theirs


@pytest.fixture
def passed(folder: Path) -> Iterator[tuple[Project, str]]:
    """A run that has passed without a landing; the branch clashes with it since."""
    with closing(project_at(folder, land="last: {run: 'true'}")) as project:
        run = started(project)
        assert go(project, run).code == 0
        commit_theirs(project, "5", "theirs")
        yield project, run


def test_apply_names_the_command_that_lets_the_author_continue_on_the_branch(
    passed: tuple[Project, str],
) -> None:
    project, run = passed
    theirs = project.git("rev-parse", "main")

    refused = project.podium("apply", run)

    assert refused.code == 1
    assert "merge conflict in list.txt" in refused.err
    hint = f"podium rerun {run} implement --onto main"
    assert f"hint: {hint}" in refused.err
    assert project.git("rev-parse", "main") == theirs
    assert project.podium(*hint.split()[1:], "--yes").code == 6
    again = newest(project)
    assert go(project, again).code == 0
    assert project.podium("apply", again).code == 0
    assert_both_landed(project, theirs)


def test_apply_at_a_terminal_asks_whether_the_author_shall_continue(passed: tuple[Project, str]) -> None:
    project, run = passed

    with at_a_terminal(project, "apply", run) as terminal:
        project.while_running(
            terminal.child, lambda: terminal.shows(b"Let implement continue on top of main?"), "question"
        )
        terminal.type("y")
        project.while_running(terminal.child, lambda: terminal.shows(b"the signal go"), "wait for the signal")
        assert b"implement resolves the conflict in list.txt" in terminal.seen

    assert newest(project) != run
    assert steps(project, newest(project))["implement"]["outcome"] == "passed"


def test_a_clash_of_work_without_an_author_names_the_merge_by_hand(folder: Path) -> None:
    command = 'implement: {run: "sed -i s/^5$/ours/ list.txt", touches: [list.txt]}'
    with closing(project_at(folder, author=command)) as project:
        run = started(project)
        commit_theirs(project, "5", "theirs")

        failed = go(project, run)

        assert failed.code == 1
        by_hand = next(line for line in printed_commands(failed) if line.startswith("git switch"))
        done = subprocess.run(
            by_hand, shell=True, cwd=project.root, env=project.environment(), capture_output=True, check=False
        )
        assert b"CONFLICT" in done.stdout
        assert {"ours", "theirs"} <= set((project.root / "list.txt").read_text().splitlines())


def test_work_is_moved_onto_a_branch_only_by_a_step_that_can(passed: tuple[Project, str]) -> None:
    project, run = passed

    no_author = project.podium("rerun", run, "gap", "--onto", "main", "--dry-run")
    no_branch = project.podium("rerun", run, "implement", "--onto", "mian", "--dry-run")

    assert no_author.code == 2
    assert "steps that can: implement" in no_author.err
    assert no_branch.code == 2
    assert 'branch "mian" does not exist' in no_branch.err
