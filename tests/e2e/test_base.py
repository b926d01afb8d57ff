"""A run that starts from another branch or commit than what is checked out (issue 20, B5)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

STEPS = """\
podium: 1
name: backport
steps:
  look: {run: [cat, version.txt], output: text}
  fix: {run: {script: "echo fixed > fix.txt"}, touches: [fix.txt]}
  land: {git: {land: "${{ run.branch }}", message: Fix it}}
outputs: {version: "${{ steps.look.output }}"}
"""


def with_old_branch(folder: Path, steps: str = STEPS) -> Project:
    project = new_project(folder, {"w.yaml": steps, "version.txt": "1\n"})
    project.git("branch", "release-1")
    project.git("tag", "v1")
    project.commit({"version.txt": "2\n"}, "second")
    return project


def test_a_run_starts_from_the_branch_that_is_named_and_lands_there(tmp_path: Path) -> None:
    with closing(with_old_branch(tmp_path)) as project:
        main = project.git("rev-parse", "main")
        ended = project.podium("run", "w.yaml", "--base", "release-1", "--output", "version")

        assert ended.code == 0, ended.err
        assert ended.out == "1\n"
        assert project.git("show", "release-1:fix.txt") == "fixed"
        assert project.git("rev-list", "--count", "release-1") == "2"
        assert project.git("rev-parse", "main") == main
        assert (project.root / "version.txt").read_text() == "2\n", "your files stay as they are"
        assert not (project.root / "fix.txt").exists()


def test_a_run_from_a_tag_has_no_branch_to_land_on(tmp_path: Path) -> None:
    with closing(with_old_branch(tmp_path)) as project:
        ended = project.podium("run", "w.yaml", "--base", "v1")

        assert ended.code == 2
        assert "lands on run.branch, and no branch is checked out" in ended.err


def test_a_run_from_a_commit_sees_its_files(tmp_path: Path) -> None:
    steps = STEPS.replace('  land: {git: {land: "${{ run.branch }}", message: Fix it}}\n', "")
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium(
            "run", "w.yaml", "--base", project.git("rev-parse", "v1"), "--output", "version"
        )

        assert ended.code == 0, ended.err
        assert ended.out == "1\n"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--base", "release-9"), 'branch, tag or commit "release-9" does not exist'),
        (("--base", "--upload-pack=x"), "branch, tag or commit"),
        (("--base", "v1", "--dirty"), "--base and --dirty exclude each other"),
    ],
)
def test_a_base_that_cannot_be_used_is_refused_before_the_run(
    options: tuple[str, ...], why: str, tmp_path: Path
) -> None:
    with closing(with_old_branch(tmp_path)) as project:
        ended = project.podium("run", "w.yaml", *options)

        assert ended.code == 2
        assert why in ended.err
        assert not (project.root / ".podium/runs").exists()


def test_a_step_in_the_project_itself_cannot_start_elsewhere(tmp_path: Path) -> None:
    steps = STEPS.replace("touches: [fix.txt]", "touches: [fix.txt], workspace: inplace")
    with closing(with_old_branch(tmp_path, steps)) as project:
        ended = project.podium("run", "w.yaml", "--base", "v1")

        assert ended.code == 2
        assert '"fix" works in the project itself' in ended.err
