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


def test_work_on_files_that_are_still_uncommitted_says_that_they_have_to_be_committed(
    project: Project,
) -> None:
    project.flow('  a: {run: {script: "echo more >> loose.txt", shell: bash}, touches: [loose.txt]}\n')
    (project.root / "loose.txt").write_text("mine\n")
    call("run", "flow.yaml", "--sandbox", "none", "--dirty")

    refused = call("apply")
    git(project.root, "add", "loose.txt")
    git(project.root, "commit", "-q", "-m", "mine")

    assert code(refused) == 1
    assert "were not committed when the run began with --dirty: loose.txt. Commit them" in str(
        refused.exception
    )
    assert code(call("apply")) == 0
    assert (project.root / "loose.txt").read_text() == "mine\nmore\n"


@pytest.mark.req("R156")
def test_work_in_place_is_not_offered_to_be_applied(project: Project) -> None:
    """It is in the user's files already, where it would be in its own way."""
    inplace = MAKES.replace("touches:", "workspace: inplace, touches:")
    project.flow(inplace)
    done = call("run", "flow.yaml", "--sandbox", "none")
    shown = done.stderr + done.stdout

    assert "podium diff" in shown
    assert "podium apply" not in shown
    refused = call("apply")
    assert code(refused) == 2
    assert "its changes are in your files already" in str(refused.exception)


@pytest.mark.req("R156")
def test_work_of_which_a_part_is_private_is_offered(project: Project) -> None:
    private = MAKES.replace("a:", "b:").replace("new.txt", "other.txt")
    project.flow(MAKES.replace("touches:", "workspace: inplace, touches:") + private)
    done = call("run", "flow.yaml", "--sandbox", "none")

    assert "podium apply" in done.stderr + done.stdout
