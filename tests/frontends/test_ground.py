"""What the place where a run is started cannot give is said before anything has happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.kit import Project, git
from tests.frontends.test_running import call, code

MAKES = '  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt]}\n'
LANDS = '  land: {git: {land: "${{ run.branch }}", message: x}%s}\n'


@pytest.mark.parametrize(
    "steps",
    [
        MAKES + LANDS % "",
        "  all:\n    for_each: [1]\n    steps:\n" + f"    {MAKES}    {LANDS}" % "",
    ],
)
def test_a_landing_on_the_branch_of_the_run_needs_one_that_is_checked_out(
    project: Project, steps: str
) -> None:
    project.flow(steps)
    git(project.root, "checkout", "-q", "--detach")

    done = call("run", "flow.yaml", "--sandbox", "none")

    assert code(done) == 2
    assert '"land" lands on run.branch, and no branch is checked out' in str(done.exception)
    assert "git switch" in str(getattr(done.exception, "hint", ""))
    assert project.store.heads() == ()


def test_a_landing_that_may_be_skipped_needs_none(project: Project) -> None:
    project.flow(MAKES + LANDS % ", when: run.branch != ''")
    git(project.root, "checkout", "-q", "--detach")

    assert code(call("run", "flow.yaml", "--sandbox", "none")) == 0


def test_outside_of_git_a_run_says_that_nobody_is_held_to_touches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("cache", "config"):
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    (tmp_path / "plain").mkdir()
    monkeypatch.chdir(tmp_path / "plain")
    free = '  free: {run: [ls], touches: ["**"]}\n  look: {run: [ls]}\n'
    (tmp_path / "plain/flow.yaml").write_text(f"podium: 1\nname: flow\nsteps:\n{MAKES}{free}", "utf-8")

    done = call("run", "flow.yaml", "--sandbox", "none")

    assert code(done) == 0
    assert "not a git repository: `touches` is not enforced for: a\n" in done.stderr
