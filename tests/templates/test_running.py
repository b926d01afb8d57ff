"""Every shipped template run for real: git, gates and landings are real, only the agents follow a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Path as StepPath
from tests.engine.kit import git, outcome
from tests.templates.kit import TASK, made, status, way

pytestmark = pytest.mark.slow

ALONE = {**TASK, "human_approval": False}
WRITE = "- {match: {step: implement}, write: {src/hello.txt: hello}}\n"


def landed(root: Path) -> list[str]:
    return git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()


def test_base_lands_what_was_planned(tmp_path: Path) -> None:
    project, file = made(tmp_path, "base", cast=WRITE)

    _, state = project.run(file, TASK)

    assert way(state) == ["plan", "implement", "commit"]
    assert "src/hello.txt" in landed(project.root)


def test_base_gives_the_output_of_a_red_gate_to_the_next_attempt(tmp_path: Path) -> None:
    cast = "- {match: {step: implement, attempt: 1}, write: {red: x}}\n- {match: {step: implement, prompt: red at test}, delete: [red], write: {a: b}}\n"
    project, file = made(tmp_path, "base", cast=cast)

    _, state = project.run(file, TASK)

    assert status(state) == "passed"
    assert "red" not in landed(project.root)


@pytest.mark.req("R035")
def test_mvp_needs_no_tests_unless_the_switch_says_so(tmp_path: Path) -> None:
    cast = "- {match: {step: implement}, write: {red: x}}\n"
    lint = "gates: {lint: {run: 'true'}}\nsteps: {implement: {retry: {attempts: 1, on_exhausted: fail}}}\n"
    project, file = made(tmp_path, "mvp", cast=cast, more=lint)

    _, free = project.run(file, TASK)
    _, held = project.run(file, {**TASK, "require_tests": True})

    assert way(free) == ["plan", "implement", "quick_review", "commit"]
    assert way(held) == ["plan", "implement:failed"]


def test_a_rejection_goes_back_with_its_findings(tmp_path: Path) -> None:
    cast = (
        "- match: {step: reviewer_codex, visit: 1}\n"
        "  verdict: {decision: reject, score: 3, findings: [{severity: major, issue: too rude}]}\n"
        "- {match: {step: implement, visit: 2, prompt: too rude}, write: {polite.txt: please}}\n" + WRITE
    )
    project, file = made(tmp_path, "mvp", cast=cast)

    _, state = project.run(file, TASK)

    assert way(state) == [
        "plan",
        "implement",
        "quick_review:rejected",
        "implement~2",
        "quick_review~2",
        "commit",
    ]
    assert "polite.txt" in landed(project.root)


@pytest.mark.req("R033")
def test_the_test_engineer_writes_tests_that_the_implementer_must_meet(tmp_path: Path) -> None:
    cast = (
        "- {match: {step: implement, visit: 1}, write: {src/a.txt: a}}\n"
        "- {match: {step: implement, prompt: red at test-integration}, write: {src/b.txt: b}}\n"
        "- {match: {step: integration_tests}, write: {tests/test_it.txt: x}}\n"
    )
    makefile = (
        "test lint test-unit:\n\t@true\n"
        "test-integration:\n\t@test -e src/b.txt || { echo red at test-integration; exit 1; }\n"
    )
    project, file = made(tmp_path, "with_test_engineer", cast=cast, Makefile=makefile)

    _, state = project.run(file, TASK)

    assert "integration_test_gate:failed" in way(state)
    assert way(state)[-3:] == ["integration_test_gate~2", "review", "commit"]


@pytest.mark.req("R033", "R244")
def test_enterprise_runs_through_all_its_gates(tmp_path: Path) -> None:
    project, file = made(tmp_path, "enterprise", cast=WRITE)

    _, state = project.run(file, ALONE)

    names = "plan plan_review interface_definition implement unit_test_gate integration_tests"
    names += " integration_test_gate security_review code_review ci_gate approve:skipped commit"
    assert way(state) == names.split()


@pytest.mark.req("R035")
def test_enterprise_stops_for_a_person_and_its_switches_take_steps_out(tmp_path: Path) -> None:
    project, file = made(tmp_path, "enterprise", cast=WRITE)

    _, asked = project.run(file, TASK)
    _, plain = project.run(file, {**ALONE, "security_review": False})

    assert status(asked) == "open"
    assert outcome(asked, "plan") == "passed"
    assert outcome(plain, "security_review") == "skipped"
    assert status(plain) == "passed"


@pytest.mark.req("R033", "R034", "R108")
def test_security_critical_models_threats_and_asks_two_auditors(tmp_path: Path) -> None:
    cast = "- {match: {step: security_auditor_external, visit: 1}, verdict: reject}\n" + WRITE
    cast += "- {match: {step: implement, visit: 2}, write: {src/safe.txt: x}}\n"
    cast = cast.replace(WRITE, "") + WRITE
    project, file = made(tmp_path, "security_critical", cast=cast)

    _, state = project.run(file, ALONE)

    found = way(state)
    assert found.index("threat_modeling") < found.index("interface_definition")
    assert found.index("penetration_test") == found.index("integration_test_gate") + 1
    assert "security_review:rejected" in found
    assert found[-1] == "commit"
    assert state.instances[StepPath("security_review~2/security_auditor_external")].ending is not None


@pytest.mark.req("R033", "R034", "R035")
def test_open_source_ends_in_a_branch_and_a_pull_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "dummy-token-0000")
    cast = (
        "- {match: {step: implement, attempt: 1}, write: {src/a.txt: a}}\n"
        "- {match: {step: implement}, write: {CHANGELOG.md: New.}}\n"
    )
    more = "steps: {create_pr: {run: [echo, 'https://git.example/pr/1']}}\n"
    project, file = made(tmp_path / "project", "open_source", cast=cast, more=more)
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(project.root, "remote", "add", "origin", str(tmp_path / "origin.git"))

    run, state = project.run(file, TASK)

    assert way(state) == ["plan", "implement", "docs_check", "branch", "create_pr"]
    assert status(state) == "open", "the community has not spoken yet"
    branches = git(tmp_path / "origin.git", "branch", "--format=%(refname:short)")
    assert branches.startswith("ai/")
    assert run in branches
    assert "src/a.txt" in git(tmp_path / "origin.git", "ls-tree", "-r", "--name-only", branches)
