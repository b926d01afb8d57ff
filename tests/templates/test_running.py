"""Every shipped template run for real: git, gates and landings are real, only the agents are scripted."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Address
from tests.engine.kit import git, outcome
from tests.templates.kit import TASK, path_of, project_with, status

pytestmark = pytest.mark.slow

ALONE = {**TASK, "human_approval": False}
WRITE = "- {match: {step: implement}, write: {src/hello.txt: hello}}\n"


def landed(root: Path) -> list[str]:
    return git(root, "ls-tree", "-r", "--name-only", "HEAD").splitlines()


def test_base_lands_what_was_planned(tmp_path: Path) -> None:
    project, file = project_with(tmp_path, "base", cast=WRITE)

    _, state = project.run(file, TASK)

    assert path_of(state) == ["plan", "implement", "commit"]
    assert "src/hello.txt" in landed(project.root)


def test_base_passes_the_output_of_a_failed_gate_to_the_next_attempt(tmp_path: Path) -> None:
    cast = "- {match: {step: implement, attempt: 1}, write: {red: x}}\n- {match: {step: implement, prompt: red at test}, delete: [red], write: {a: b}}\n"
    project, file = project_with(tmp_path, "base", cast=cast)

    _, state = project.run(file, TASK)

    assert status(state) == "passed"
    assert "red" not in landed(project.root)


@pytest.mark.req("R035")
def test_mvp_requires_tests_only_if_the_input_says_so(tmp_path: Path) -> None:
    cast = "- {match: {step: implement}, write: {red: x}}\n"
    lint = "gates: {lint: {run: 'true'}}\nsteps: {implement: {retry: {attempts: 1, on_exhausted: fail}}}\n"
    project, file = project_with(tmp_path, "mvp", cast=cast, more=lint)

    _, free = project.run(file, TASK)
    _, with_tests = project.run(file, {**TASK, "require_tests": True})

    assert path_of(free) == ["plan", "implement", "quick_review", "commit"]
    assert path_of(with_tests) == ["plan", "implement:failed"]


def test_a_rejection_sends_the_work_back_with_its_findings(tmp_path: Path) -> None:
    cast = (
        "- match: {step: reviewer_codex, visit: 1}\n"
        "  verdict: {decision: reject, score: 3, findings: [{severity: major, issue: too rude}]}\n"
        "- {match: {step: implement, visit: 2, prompt: too rude}, write: {polite.txt: please}}\n" + WRITE
    )
    project, file = project_with(tmp_path, "mvp", cast=cast)

    _, state = project.run(file, TASK)

    assert path_of(state) == [
        "plan",
        "implement",
        "quick_review:rejected",
        "implement~2",
        "quick_review~2",
        "commit",
    ]
    assert "polite.txt" in landed(project.root)


@pytest.mark.req("R033")
def test_the_test_engineer_writes_tests_that_the_implementer_must_pass(tmp_path: Path) -> None:
    cast = (
        "- {match: {step: implement, visit: 1}, write: {src/a.txt: a}}\n"
        "- {match: {step: implement, prompt: red at test-integration}, write: {src/b.txt: b}}\n"
        "- {match: {step: integration_tests}, write: {tests/test_it.txt: x}}\n"
    )
    makefile = (
        "test lint test-unit:\n\t@true\n"
        "test-integration:\n\t@test -e src/b.txt || { echo red at test-integration; exit 1; }\n"
    )
    project, file = project_with(tmp_path, "with_test_engineer", cast=cast, Makefile=makefile)

    _, state = project.run(file, TASK)

    assert "integration_test_gate:failed" in path_of(state)
    assert path_of(state)[-3:] == ["integration_test_gate~2", "review", "commit"]


@pytest.mark.req("R033", "R244")
def test_enterprise_passes_all_its_gates(tmp_path: Path) -> None:
    project, file = project_with(tmp_path, "enterprise", cast=WRITE)

    _, state = project.run(file, ALONE)

    names = "plan plan_review interface_definition implement unit_test_gate integration_tests"
    names += " integration_test_gate security_review code_review ci_gate approve:skipped commit"
    assert path_of(state) == names.split()


@pytest.mark.req("R035")
def test_enterprise_waits_for_a_person_and_its_inputs_remove_steps(tmp_path: Path) -> None:
    project, file = project_with(tmp_path, "enterprise", cast=WRITE)

    _, asked = project.run(file, TASK)
    _, plain = project.run(file, {**ALONE, "security_review": False})

    assert status(asked) == "open"
    assert outcome(asked, "plan") == "passed"
    assert outcome(plain, "security_review") == "skipped"
    assert status(plain) == "passed"


@pytest.mark.req("R033", "R034", "R108")
def test_security_critical_models_threats_and_uses_two_auditors(tmp_path: Path) -> None:
    cast = "- {match: {step: security_auditor_external, visit: 1}, verdict: reject}\n" + WRITE
    cast += "- {match: {step: implement, visit: 2}, write: {src/safe.txt: x}}\n"
    cast = cast.replace(WRITE, "") + WRITE
    project, file = project_with(tmp_path, "security_critical", cast=cast)

    _, state = project.run(file, ALONE)

    steps = path_of(state)
    assert steps.index("threat_modeling") < steps.index("interface_definition")
    assert steps.index("penetration_test") == steps.index("integration_test_gate") + 1
    assert "security_review:rejected" in steps
    assert steps[-1] == "commit"
    assert state.instances[Address("security_review~2/security_auditor_external")].ending is not None


@pytest.mark.req("R033", "R034", "R035")
def test_open_source_ends_with_a_branch_and_a_pull_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_TOKEN", "dummy-token-0000")
    cast = (
        "- {match: {step: implement, attempt: 1}, write: {src/a.txt: a}}\n"
        "- {match: {step: implement}, write: {CHANGELOG.md: New.}}\n"
    )
    more = "steps: {create_pr: {run: [echo, 'https://git.example/pr/1']}}\n"
    project, file = project_with(tmp_path / "project", "open_source", cast=cast, more=more)
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(project.root, "remote", "add", "origin", str(tmp_path / "origin.git"))

    run, state = project.run(file, TASK)

    assert path_of(state) == ["plan", "implement", "docs_check", "branch", "create_pr"]
    assert status(state) == "open", "the community has not spoken yet"
    branches = git(tmp_path / "origin.git", "branch", "--format=%(refname:short)")
    assert branches.startswith("ai/")
    assert run in branches
    assert "src/a.txt" in git(tmp_path / "origin.git", "ls-tree", "-r", "--name-only", branches)
