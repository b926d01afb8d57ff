"""What the place where a run is started cannot give is said before anything has happened."""

from __future__ import annotations

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
