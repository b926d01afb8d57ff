"""The `git` block of the supervisor format: a branch by pattern, commits, a preview, and a stash of failed work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project
from tests.e2e.supervised import CONFIG, FLOW, LAND, outcomes, run, supervised

pytestmark = pytest.mark.slow

WORK = "workflow:\n  steps:\n    implement: {role: implementer, next: commit}\n"
CAST = "- {match: {step: implement}, write: {a.txt: hello}}\n"
PATTERN = 'auto_branch: true, branch_pattern: "ai/{task_id}-{description}"'


def branches(project: Project) -> list[str]:
    return project.git("branch", "--format=%(refname:short)").split()


@pytest.mark.req("R177", "R178")
def test_work_is_committed_on_a_branch_by_the_pattern_and_not_on_main(tmp_path: Path) -> None:
    files = {FLOW: WORK + LAND, CONFIG: f"git: {{{PATTERN}, auto_commit: false}}\n"}
    with supervised(tmp_path, files, CAST) as project:
        before = project.git("rev-parse", "main")
        done = run(project)
        assert done.code == 0, done.err
        branch = f"ai/{project.run_id()}-add-a-greeting"
        assert branches(project) == [branch, "main"]
        assert project.git("rev-parse", "main", f"{branch}~1").split() == [before, before]
        assert project.git("log", "-1", "--format=%s", branch) == "Add a greeting"
        assert project.git("show", f"{branch}:a.txt") == "hello"
        merged = project.podium("apply", project.run_id())
        assert merged.code == 0, merged.err
        assert project.git("show", "main:a.txt") == "hello"


@pytest.mark.req("R177")
def test_a_person_sees_what_git_will_do_and_agrees_before_it_does(tmp_path: Path) -> None:
    files = {FLOW: WORK + LAND, CONFIG: f"git: {{{PATTERN}, dry_run_preview: true}}\n"}
    with supervised(tmp_path, files, CAST) as project:
        done = run(project)
        assert (done.code, branches(project)) == (6, ["main"]), done.err
        question = f"Git preview: make the branch ai/{project.run_id()}-add-a-greeting at main"
        assert question in project.podium("inbox").out
        assert project.podium("approve", "--json").code == 6
        branch = f"ai/{project.run_id()}-add-a-greeting"
        assert project.git("rev-parse", branch) == project.git("rev-parse", "main")
        asked = project.podium("inbox").out
        assert f'Git preview: commit "Add a greeting" on {branch}' in asked
        assert "a.txt" in asked
        assert project.podium("approve", "--json").code == 0
        assert project.git("show", f"{branch}:a.txt") == "hello"


@pytest.mark.req("R177")
def test_a_rejected_preview_makes_no_branch(tmp_path: Path) -> None:
    files = {FLOW: WORK + LAND, CONFIG: f"git: {{{PATTERN}, dry_run_preview: true}}\n"}
    with supervised(tmp_path, files, CAST) as project:
        run(project)
        rejected = project.podium("reject", "--json")
        assert rejected.code == 4, rejected.out + rejected.err
        assert branches(project) == ["main"]
        assert "implement" not in outcomes(rejected)


@pytest.mark.req("R177")
@pytest.mark.parametrize(("word", "lands"), [("true", True), ("false", False)])
def test_auto_commit_lands_work_of_a_workflow_without_a_commit(
    tmp_path: Path, word: str, lands: bool
) -> None:
    flow = WORK.replace("next: commit", "terminal: true")
    with supervised(tmp_path, {FLOW: flow, CONFIG: f"git: {{auto_commit: {word}}}\n"}, CAST) as project:
        done = run(project)
        assert done.code == 0, done.err
        assert ("a.txt" in project.git("ls-tree", "--name-only", "main").split()) is lands


@pytest.mark.req("R178")
def test_the_work_of_a_failed_task_is_kept_as_a_stash(tmp_path: Path) -> None:
    flow = WORK.replace("next: commit", "next: test")
    flow += '    test: {gate_type: orchestrator, command: "false", next: commit}\n' + LAND
    files = {FLOW: flow, CONFIG: f"git: {{{PATTERN}}}\n"}
    with supervised(tmp_path, files, CAST) as project:
        done = run(project)
        assert (done.code, outcomes(done)["finally/git_stash"]) == (1, "passed"), done.err
        assert f"podium {project.run_id()}: supervised (failed)" in project.git("stash", "list")
        assert project.git("status", "--porcelain") == ""
        project.git("stash", "pop")
        assert (project.root / "a.txt").read_text() == "hello"


def test_an_unknown_placeholder_of_the_pattern_is_refused_with_its_line(tmp_path: Path) -> None:
    config = 'git:\n  auto_branch: true\n  branch_pattern: "ai/{taskid}"\n'
    with supervised(tmp_path, {FLOW: WORK + LAND, CONFIG: config}, CAST) as project:
        done = project.podium("validate", FLOW)
        assert done.code == 2
        assert '.podium/config.yaml:3:19: "{taskid}" of branch_pattern is not known' in done.out
