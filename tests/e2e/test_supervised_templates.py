"""Templates of the supervisor format: settings and configuration that sound like a requirement are one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project
from tests.e2e.supervised import FLOW, TASK, attempts, outcomes, run, supervised

pytestmark = pytest.mark.slow

TEMPLATE = """\
name: house
settings: {%s}
steps:
  implement: {role: implementer, next: commit}
  commit: {type: orchestrator_gate, command: git commit}
"""
CAST = "- {match: {step: implement}, write: {a.txt: hello}}\n"
RED = {"Makefile": "test:\n\t@test -f b.txt\n"}


@pytest.mark.req("R035")
def test_require_tests_runs_the_tests_before_work_counts(tmp_path: Path) -> None:
    cast = "- {match: {step: implement, attempt: 1}, write: {a.txt: x}}\n- {match: {step: implement}, write: {a.txt: x, b.txt: y}}\n"
    with supervised(tmp_path, {FLOW: TEMPLATE % "require_tests: true", **RED}, cast) as project:
        done = run(project)
        assert done.code == 0, done.err
        assert len(attempts(project, "implement")) == 2
    with supervised(tmp_path / "off", {FLOW: TEMPLATE % "require_tests: false", **RED}, CAST) as project:
        done = run(project)
        assert (done.code, len(attempts(project, "implement"))) == (0, 1), done.err


@pytest.mark.req("R035")
def test_a_switch_can_be_turned_off_for_one_run(tmp_path: Path) -> None:
    with supervised(tmp_path, {FLOW: TEMPLATE % "require_tests: true", **RED}, CAST) as project:
        done = run(project, "-i", "require_tests=false")
        assert done.code == 0, done.err


@pytest.mark.req("R035")
def test_require_changelog_refuses_a_change_without_an_entry(tmp_path: Path) -> None:
    with supervised(tmp_path, {FLOW: TEMPLATE % "require_changelog: true"}, CAST) as project:
        done = run(project, "--no-human")
        assert (done.code, outcomes(done)["implement"]) == (1, "failed"), done.err


@pytest.mark.req("R035")
def test_security_review_lets_an_auditor_judge_before_the_commit(tmp_path: Path) -> None:
    cast = CAST + "- {match: {step: security_review/security_auditor}, verdict: abort}\n"
    with supervised(tmp_path, {FLOW: TEMPLATE % "security_review: true"}, cast) as project:
        done = run(project, "--no-human")
        assert (done.code, outcomes(done)["security_review"]) == (1, "aborted"), done.err
        assert "a.txt" not in project.git("ls-tree", "--name-only", "main").split()


@pytest.mark.req("R035")
def test_human_approval_asks_before_the_commit(tmp_path: Path) -> None:
    with supervised(tmp_path, {FLOW: TEMPLATE % "human_approval: true"}, CAST) as project:
        assert run(project).code == 6
        assert "Land this change?" in project.podium("inbox").out


@pytest.mark.req("R035")
def test_auto_pr_pushes_a_branch_and_opens_a_draft_pull_request(tmp_path: Path) -> None:
    flow = TEMPLATE % "auto_pr: true"
    with supervised(tmp_path, {FLOW: flow}, CAST) as project:
        origin = project.folder / "origin.git"
        project.git("init", "-q", "--bare", str(origin))
        project.git("remote", "add", "origin", str(origin))
        programs = project.folder / "programs"
        programs.mkdir()
        (programs / "gh").write_text('#!/bin/sh\necho "$@"\n', "utf-8")
        (programs / "gh").chmod(0o755)
        project.env |= {"PATH": f"{programs}:{project.environment()['PATH']}", "GH_TOKEN": "a-dummy-token"}
        done = run(project)
        assert done.code == 0, done.err
        branch = f"ai/{project.run_id()}"
        assert project.git("ls-remote", "origin", f"refs/heads/{branch}")
        [step] = [each for each in done.data()["steps"] if each["path"] == "pull_request"]
        assert step["outcome"] == "passed"


REVIEWED = """\
name: house
settings: {%s}
steps:
  implement: {role: implementer, next: review}
  review: {%s, on_reject: implement, next: commit}
  commit: {type: orchestrator_gate, command: git commit}
"""


def reviewers(project: Project) -> list[tuple[str, str]]:
    """The attempts of reviewers as they started and ended."""
    kinds = ("AttemptStarted", "AttemptEnded")
    events = [event for event in project.events(project.run_id()) if event["type"] in kinds]
    return [
        (event["type"], event["path"].partition("/")[2])
        for event in events
        if event["path"].startswith("review/")
    ]


@pytest.mark.req("R035")
@pytest.mark.parametrize(
    ("settings", "own"), [("parallel_reviews: false", ""), ("human_approval: false", "parallel: false, ")]
)
def test_reviews_that_are_not_parallel_follow_each_other(tmp_path: Path, settings: str, own: str) -> None:
    flow = REVIEWED % (settings, f"{own}roles: [reviewer_gemini, reviewer_codex]")
    with supervised(tmp_path, {FLOW: flow}, CAST) as project:
        assert run(project).code == 0
        assert [kind for kind, _ in reviewers(project)] == ["AttemptStarted", "AttemptEnded"] * 2


@pytest.mark.req("R035")
def test_dual_review_needs_the_approval_of_a_second_reviewer(tmp_path: Path) -> None:
    flow = REVIEWED % ("dual_review: true", "role: reviewer_gemini")
    cast = CAST + "- {match: {step: review/reviewer_gemini_second}, verdict: abort}\n"
    with supervised(tmp_path, {FLOW: flow}, cast) as project:
        done = run(project, "--no-human")
        assert (done.code, outcomes(done)["review"]) == (1, "aborted"), done.err
        assert {name for _, name in reviewers(project)} == {"reviewer_gemini", "reviewer_gemini_second"}


@pytest.mark.req("R035")
def test_the_audit_trail_of_a_run_is_a_file(tmp_path: Path) -> None:
    with supervised(tmp_path, {FLOW: TEMPLATE % "audit_trail: true"}, CAST) as project:
        assert run(project).code == 0
        trail = project.root / ".podium/runs" / project.run_id() / "audit.log"
        assert "commit committed" in trail.read_text("utf-8")


PROOF = """\
workflow:
  steps:
    implement: {role: implementer, config: {%s}, max_retries: 0, next: test}
    test: {gate_type: orchestrator, command: make test, next: commit}
    commit: {gate_type: orchestrator, command: git commit}
"""
TESTED = """\
test:
	@(echo '<testsuite>'; cat tests/*.case; echo '</testsuite>') > report.xml
	@test "$$(cat a.txt)" = hello
	@echo '<coverage line-rate="0.9"/>' > coverage.xml
"""
CASE = '<testcase classname="t" name="%s"/>'
BASE = {"Makefile": TESTED, "tests/base.case": CASE % "base"}


@pytest.mark.req("R036")
@pytest.mark.parametrize(
    ("config", "passes"),
    [
        ("tdd: true", True),
        ("coverage: 80", True),
        ("coverage: 95", False),
        ("unit_test_coverage: 95", False),
        ("tdd: false, coverage: 0", True),
        ("min_tests_per_component: 2", True),
        ("min_tests_per_component: 3", False),
    ],
)
def test_what_config_demands_of_tests_is_a_gate(tmp_path: Path, config: str, passes: bool) -> None:
    two = CASE % "one" + CASE % "two"
    cast = f"- {{match: {{step: implement}}, write: {{a.txt: hello, tests/test_a.case: '{two}'}}}}\n"
    with supervised(tmp_path, {FLOW: PROOF % config, **BASE, "a.txt": "old"}, cast) as project:
        done = run(project, "--no-human")
        assert (done.code == 0) is passes, done.out + done.err


@pytest.mark.req("R036")
def test_tdd_refuses_work_whose_tests_pass_without_it(tmp_path: Path) -> None:
    """The tests pass on the code before the work too, so that they prove nothing."""
    cast = "- {match: {step: implement}, write: {b.txt: new, tests/test_a.case: ''}}\n"
    files = {FLOW: PROOF % "tdd: true", **BASE, "a.txt": "hello"}
    with supervised(tmp_path, files, cast) as project:
        done = run(project, "--no-human")
        assert (done.code, outcomes(done)["implement"]) == (1, "failed"), done.out + done.err
        assert "must_fail_before" in done.out + str(project.events(project.run_id()))


def test_the_native_form_of_a_template_does_the_same(tmp_path: Path) -> None:
    with supervised(tmp_path, {FLOW: TEMPLATE % "require_changelog: true"}, CAST) as project:
        native = project.podium("convert", FLOW)
        assert native.code == 0, native.err
        project.commit({"native.yaml": native.out})
        done = project.podium("run", "native.yaml", *TASK, "--sandbox", "limits", "--json", "--no-human")
        assert (done.code, outcomes(done)["implement"]) == (1, "failed"), done.err
