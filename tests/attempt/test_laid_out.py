"""Trees as judges see them: protected files from before, nothing that steers, and tests compared with the base."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from podium.attempt.command.judge_tree import restore_files, strip_agent_instructions
from podium.core.types import Tree
from tests.attempt.runs import bench
from tests.attempt.test_reports import case, junit
from tests.git.kit import Project, git

BASE = {"tests/a.txt": "old\n", "tests/deep/b.txt": "b\n", "src/app.py": "x = 1\n", "conf": "c\n"}


def tree(project: Project, script: str) -> Tree:
    """The tree after a script, without a commit on any branch."""
    subprocess.run(("sh", "-ec", script), cwd=project.root, check=True)
    git(project.root, "add", "-A")
    return Tree(git(project.root, "write-tree"))


def listed(project: Project, wanted: Tree) -> dict[str, str]:
    lines = git(project.root, "ls-tree", "-r", wanted).splitlines()
    return {line.split("\t")[1]: line.split()[2] for line in lines}


@pytest.mark.req("X7")
@pytest.mark.parametrize(
    "script",
    [
        "echo new > tests/a.txt",
        "rm tests/a.txt",
        "rm -r tests",
        "echo more > tests/c.txt; mkdir -p tests/new; echo x > tests/new/d.txt",
        "rm -r tests; ln -s src tests",
        "rm -r tests; echo file > tests",
        "rm tests/a.txt; mkdir tests/a.txt; echo x > tests/a.txt/y",
        "rm -r tests/deep; ln -s ../src tests/deep",
        "chmod +x tests/a.txt",
    ],
)
def test_protected_files_are_as_before_whatever_became_of_them(project: Project, script: str) -> None:
    before = tree(project, "; ".join(f"mkdir -p $(dirname {p}); printf '{t}' > {p}" for p, t in BASE.items()))
    work = tree(project, script + "; echo y >> src/app.py")

    found = restore_files(project.repository, work, before, ("tests/**", "tests"))

    was, now = listed(project, before), listed(project, found)
    assert {p: h for p, h in now.items() if p.startswith("tests")} == {
        p: h for p, h in was.items() if p.startswith("tests")
    }
    assert now["src/app.py"] == listed(project, work)["src/app.py"] != was["src/app.py"]
    assert "100755" not in git(project.root, "ls-tree", "-r", found, "tests/")


def test_a_tree_without_anything_to_exchange_stays_the_same(project: Project) -> None:
    before, work = tree(project, "true"), tree(project, "echo y >> src/app.py")

    assert restore_files(project.repository, work, before, ("tests/**",)) == work
    assert restore_files(project.repository, work, None, ("src/**",)) == work
    assert strip_agent_instructions(project.repository, work) == work


@pytest.mark.req("R111")
def test_what_steers_agents_is_left_out_wherever_it_lies_and_however_it_is_written(project: Project) -> None:
    work = tree(
        project,
        "mkdir -p a/.Claude .gemini; touch a/.Claude/s.json .gemini/x a/claude.md AGENTS.md .env .env.local .mcp.json "
        "environment.txt claude.md.txt",
    )

    left = set(listed(project, strip_agent_instructions(project.repository, work)))

    assert left == {
        "README.md",
        "src/app.py",
        "data/in.txt",
        ".gitignore",
        "environment.txt",
        "claude.md.txt",
    }


WORKER = "roles: {w: {agent: claude, prompt: work}}\n"
GATE = '{name: g, run: [sh, -c, "cp made.xml report.xml; test ! -e red"], junit: report.xml}'


def judged(project: Project, folder: Path, edit: Any, gate: str = GATE) -> Any:
    text = f"{WORKER}steps:\n  it: {{role: w, touches: ['**'], retry: 1, gates: [{gate}], on: {{failed: next}}}}\n"
    return bench(project, folder, text, edits={"it": edit}).play()


@pytest.mark.req("X7", "C49")
def test_tests_are_compared_with_the_base_even_if_nobody_ran_them_there_and_they_are_red(
    project: Project, tmp_path: Path
) -> None:
    project.commit({"made.xml": junit(case("a"), case("b", "<failure/>")), "red": ""}, "tests")

    def edit(folder: Path, _attempt: int) -> None:
        (folder / "red").unlink()
        (folder / "made.xml").write_text(junit(case("a")))

    played = judged(project, tmp_path, edit)

    assert played.ending("it").outcome == "failed"
    assert "1 tests of the base tree are gone: t::b" in played.result("it#1/g")["message"]


def test_a_gate_takes_protected_files_from_before_and_says_on_what_it_ran(
    project: Project, tmp_path: Path
) -> None:
    project.commit({"check.sh": "grep -q good src/app.py\n"}, "check")

    def edit(folder: Path, _attempt: int) -> None:
        (folder / "check.sh").write_text("echo fooled\n")

    gate = "{name: g, run: [sh, check.sh], protect: [check.sh]}"
    played = judged(project, tmp_path, edit, gate)

    assert played.ending("it").outcome == "failed"
    kept = played.result("it#1/g")["evidence"]
    assert kept["command"] == ["sh", "check.sh"]
    assert kept["tree"] == played.answer("it").tree != kept["laid_out"]


def test_what_a_gate_said_and_its_report_are_files_of_the_run(project: Project, tmp_path: Path) -> None:
    def edit(folder: Path, _attempt: int) -> None:
        (folder / "made.xml").write_text(junit(case("a")))

    gate = '{name: g, run: [sh, -c, "cp made.xml report.xml; echo said; echo loud >&2"], junit: report.xml}'
    played = judged(project, tmp_path, edit, gate)

    kept = played.result("it#1/g")["evidence"]
    folder = project.root / ".podium/runs/20260101-a"
    assert [(folder / name).read_text() for name in kept["output"]] == ["said\n", "loud\n"]
    assert [(folder / name).read_text() for name in kept["reports"]] == [junit(case("a"))]
