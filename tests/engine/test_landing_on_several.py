"""A landing on several branches moves all of them or none, or says which have moved (decision 166)."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import pytest

from podium.core.events import AttemptEnded
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel
from podium.core.state import State
from podium.git.branches import land as landing
from podium.git.branches.land import Prepared
from podium.git.repository import Repository
from tests.engine.kit import HEAD, Project, git, outcome

pytestmark = pytest.mark.slow

STEPS = """\
  work: {run: [sh, -c, "echo new > work.txt"], touches: [work.txt]}
  land: {git: {land: [main, release, next], message: Together}}
"""
BRANCHES = ("main", "release", "next")


@pytest.fixture
def project(project: Project) -> Project:
    project.flow(STEPS)
    for branch in ("release", "next"):
        git(project.root, "branch", branch)
    return project


def tips(project: Project) -> dict[str, str]:
    return {branch: git(project.root, "rev-parse", branch) for branch in BRANCHES}


def landed(project: Project) -> list[str]:
    """The branches with the work."""
    return [
        branch
        for branch in BRANCHES
        if "work.txt" in git(project.root, "ls-tree", "--name-only", branch).splitlines()
    ]


def commit_on(project: Project, branch: str, name: str = "theirs.txt", text: str = "theirs\n") -> str:
    """A commit of another person on a branch that is not checked out."""
    project.write(f".podium/{name}", text)
    blob = git(project.root, "hash-object", "-w", f".podium/{name}")
    tree = git(project.root, "ls-tree", branch)
    lines = [line for line in tree.splitlines() if not line.endswith(f"\t{name}")]
    done = subprocess.run(
        ("git", "mktree"),
        cwd=project.root,
        input="\n".join([*lines, f"100644 blob {blob}\t{name}"]) + "\n",
        text=True,
        capture_output=True,
        check=True,
    )
    commit = git(project.root, "commit-tree", done.stdout.strip(), "-p", branch, "-m", "theirs")
    git(project.root, "update-ref", f"refs/heads/{branch}", commit)
    return commit


def before_move(
    monkeypatch: pytest.MonkeyPatch, number: int, happens: Callable[[], Any], *, once: bool = True
) -> None:
    """Something happens right before the branch of this number is moved."""
    real, seen = landing._swap, [0]

    def swap(repository: Repository, prepared: Prepared) -> bool:
        seen[0] += 1
        if seen[0] == number or (not once and seen[0] >= number):
            happens()
        return real(repository, prepared)

    monkeypatch.setattr(landing, "_swap", swap)


def run(project: Project, steps: str = STEPS) -> tuple[RunId, State]:
    return project.run(project.write("flow.yaml", f"{HEAD}steps:\n{steps}"))


def ended(project: Project, name: RunId) -> AttemptEnded:
    ends = [event for event in project.events(name) if isinstance(event, AttemptEnded)]
    return ends[-1]


def test_all_branches_get_the_work(project: Project) -> None:
    name, state = run(project)

    assert outcome(state, "land") == "passed"
    assert landed(project) == list(BRANCHES)
    output = (ended(project, name).result or {})["output"]
    assert [entry["branch"] for entry in output["landed"]] == list(BRANCHES)
    assert (project.root / "work.txt").read_text("utf-8") == "new\n", "main is checked out"
    assert git(project.root, "status", "--porcelain") == ""


def test_a_branch_that_clashes_keeps_the_others_where_they_are(project: Project) -> None:
    commit_on(project, "next", "work.txt", "theirs\n")
    before = tips(project)
    name, state = run(project)

    assert outcome(state, "land") == "conflict"
    assert tips(project) == before
    message = (ended(project, name).result or {})["message"]
    assert message.startswith('nothing has landed: not on "next": ')
    assert not (project.root / "work.txt").exists()


def test_a_branch_that_moves_during_the_landing_is_merged_and_all_land(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    before_move(monkeypatch, 3, lambda: commit_on(project, "next"))
    _, state = run(project)

    assert outcome(state, "land") == "passed"
    assert landed(project) == list(BRANCHES)
    assert git(project.root, "show", "next:theirs.txt") == "theirs"
    assert git(project.root, "rev-list", "--count", "main") == "2", "each branch moved once in the end"
    assert git(project.root, "status", "--porcelain") == ""


def test_a_branch_that_always_moves_leaves_nothing_landed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(100))
    before_move(monkeypatch, 3, lambda: commit_on(project, "next", f"{next(numbers)}.txt"), once=False)
    main = tips(project)["main"]
    name, state = run(project)

    assert outcome(state, "land") == "failed"
    assert landed(project) == []
    assert tips(project)["main"] == main
    assert "nothing has landed" in (ended(project, name).result or {})["message"]
    assert not (project.root / "work.txt").exists()
    assert git(project.root, "status", "--porcelain") == ""


def test_what_others_have_built_upon_stays_and_is_listed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first two have moved, another person commits on the second, and the third cannot move."""

    def others() -> None:
        commit_on(project, "release")
        commit_on(project, "next", "work.txt", "theirs\n")

    before_move(monkeypatch, 3, others)
    name, state = run(project)

    assert outcome(state, "land") == "conflict"
    assert landed(project) == ["release", "next"]
    assert git(project.root, "show", "next:work.txt") == "theirs"
    result = ended(project, name).result or {}
    assert [entry["branch"] for entry in result["output"]["landed"]] == ["release"]
    assert result["message"].startswith('landed on "release" as ')
    assert not (project.root / "work.txt").exists(), "main went back, and its files with it"
    assert git(project.root, "status", "--porcelain") == ""


def test_files_of_the_user_in_the_way_keep_all_branches(project: Project) -> None:
    project.write("work.txt", "mine\n")
    before = tips(project)
    _, state = run(project)

    assert outcome(state, "land") == "failed"
    assert tips(project) == before
    assert (project.root / "work.txt").read_text("utf-8") == "mine\n"


def test_a_locked_branch_keeps_all_branches(project: Project) -> None:
    lock = project.root / ".git/refs/heads/next.lock"
    lock.write_text("")
    before = tips(project)
    try:
        _, state = run(project)
    finally:
        lock.unlink()

    assert outcome(state, "land") == "failed"
    assert tips(project) == before
    assert git(project.root, "status", "--porcelain") == ""


def test_a_branch_that_did_not_exist_is_made_and_unmade(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(project.root, "branch", "-D", "release")
    before_move(monkeypatch, 3, lambda: commit_on(project, "next", "work.txt", "theirs\n"))
    _, state = run(project)

    assert outcome(state, "land") == "conflict"
    names = git(project.root, "for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()
    assert names == ["main", "next"]


def test_a_detached_head_does_not_matter(project: Project) -> None:
    git(project.root, "checkout", "--quiet", "--detach")
    _, state = run(project)

    assert outcome(state, "land") == "passed"
    assert landed(project) == list(BRANCHES)


def test_a_second_landing_of_the_run_adds_only_what_is_new(project: Project) -> None:
    more = """\
  more: {run: [sh, -c, "echo more > more.txt"], touches: [more.txt]}
  again: {git: {land: [main, release, next], message: More}}
"""
    _, state = run(project, STEPS + more)

    assert outcome(state, "again") == "passed"
    for branch in BRANCHES:
        assert git(project.root, "log", "--format=%s", branch).splitlines()[:2] == ["More", "Together"]


def test_the_commands_of_the_run_must_pass_on_every_branch(project: Project) -> None:
    """On a branch that has moved they run again on the merged tree."""
    commit_on(project, "next", "forbidden.txt")
    checked = STEPS.replace(
        "touches: [work.txt]}",
        "touches: [work.txt], gates: [{name: clean, run: [test, '!', -e, forbidden.txt]}]}",
    )
    before = tips(project)
    _, state = run(project, checked)

    assert outcome(state, "land") == "failed"
    assert tips(project) == before


def test_names_are_from_a_value(project: Project) -> None:
    steps = STEPS.replace("[main, release, next]", '"${{ inputs.to }}"')
    head = f"{HEAD}inputs: {{to: {{type: list, default: [main, next]}}}}\n"
    _, state = project.run(project.write("flow.yaml", f"{head}steps:\n{steps}"))

    assert outcome(state, "land") == "passed"
    assert landed(project) == ["main", "next"]
    _, state = project.run(project.root / "flow.yaml", {"to": ["main", "main"]})
    assert outcome(state, "land") in ("failed", "error")


def test_a_cancel_does_not_come_between_two_branches(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = project.begin(project.write("flow.yaml", f"{HEAD}steps:\n{STEPS}"))
    before_move(
        monkeypatch, 2, lambda: project.other().facade.runtime.post(begun.run, Cancel("ann"), key="c")
    )
    state = project.resume(begun.run)

    assert state.ended is not None
    assert landed(project) in ([], list(BRANCHES))
