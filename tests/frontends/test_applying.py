"""`podium apply` claims only what is true of the branch it was given."""

from __future__ import annotations

import pytest

from tests.engine.kit import Project
from tests.frontends.test_running import call, code, data
from tests.git.kit import git

MAKES = '  a: {run: {script: "echo new > new.txt", shell: bash}, touches: [new.txt]}\n'


@pytest.mark.req("R156")
def test_work_that_was_applied_to_one_branch_may_be_applied_to_another(project: Project) -> None:
    project.flow(MAKES)
    call("run", "flow.yaml", "--sandbox", "none")
    assert code(call("apply")) == 0

    done = call("apply", "--branch", "rel", "--json")

    assert code(done) == 0
    assert git(project.root, "rev-parse", "rel") == data(done)["commit"]
    assert git(project.root, "show", "rel:new.txt") == "new"


@pytest.mark.req("R156")
def test_work_that_was_taken_off_the_branch_is_not_said_to_be_there(project: Project) -> None:
    project.flow(MAKES)
    call("run", "flow.yaml", "--sandbox", "none")
    landed = data(call("apply", "--json"))["commit"]
    git(project.root, "reset", "-q", "--hard", "HEAD~1")

    done = call("apply")

    assert code(done) == 1
    assert "taken off again" in str(done.exception)
    assert f"git cherry-pick {landed[:12]}" in str(done.exception)
