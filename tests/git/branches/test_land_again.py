"""Landing the same work again: on another branch, and after the user has removed it."""

from __future__ import annotations

import pytest

from podium.git.branches.land import Landed, land, prepare
from tests.git.branches.test_land import landing, prepared
from tests.git.kit import Project, git


@pytest.mark.req("R156")
def test_work_that_the_user_removed_from_the_branch_is_reported_and_not_landed_again(
    project: Project,
) -> None:
    request = landing(project, project.edited("work", {"a.txt": "1\n"}))
    ready = prepared(project, request)
    land(project.repository, ready)
    git(project.root, "reset", "-q", "--hard", str(ready.tip))

    gone = Landed(ready.commit, already_landed=True, taken_off=True)
    assert prepare(project.repository, request) == land(project.repository, ready) == gone
    assert git(project.root, "rev-parse", "main") == ready.tip
    git(project.root, "cherry-pick", ready.commit)
    assert prepare(project.repository, request) == Landed(
        git(project.root, "rev-parse", "main"), already_landed=True
    )


def test_the_same_work_can_land_on_several_branches(project: Project) -> None:
    tree = project.edited("work", {"a.txt": "1\n"})
    on_main, on_other = landing(project, tree), landing(project, tree, branch="other")
    assert isinstance(land(project.repository, prepared(project, on_main)), Landed)

    ready = prepared(project, on_other)

    assert land(project.repository, ready) == Landed(ready.commit)
    assert git(project.root, "rev-parse", "other") == ready.commit
