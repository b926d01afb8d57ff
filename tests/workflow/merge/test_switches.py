"""`switches` and `reviews`: what a workflow gets from them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, resolved
from podium.core.model import Review
from podium.workflow.source.yaml import load

WORK = 'implement: {role: implementer, prompt: "Go.", gates: [{run: make lint}]}'
LAND = "land: {git: {land: main, message: m}}"


def document(folder: Path, text: str) -> Any:
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{text}", "utf-8")
    assert [problem.render() for problem in check(path).errors] == []
    return load(resolved(path), name="resolved").value


def switched(folder: Path, name: str, *steps: str, default: str = "true") -> Any:
    lines = "".join(f"  {step}\n" for step in steps)
    inputs = f"inputs: {{task: string, {name}: {{type: bool, default: {default}}}}}\n"
    return document(folder, f"{inputs}switches: [{name}]\nsteps:\n{lines}")


@pytest.mark.parametrize(("name", "gate"), [("require_tests", "make test"), ("require_changelog", "touched")])
def test_a_switch_adds_a_gate_to_the_steps_that_change_code(tmp_path: Path, name: str, gate: str) -> None:
    steps = switched(tmp_path, name, WORK, 'plan: {role: planner, prompt: "Go."}')["steps"]
    assert gate in str(steps["implement"]["gates"][1])
    assert steps["implement"]["gates"][1]["when"] == f"inputs.{name}"
    assert "gates" not in steps["plan"]


@pytest.mark.parametrize(("name", "verb"), [("security_review", "review"), ("human_approval", "human")])
def test_a_switch_adds_a_step_before_the_landing(tmp_path: Path, name: str, verb: str) -> None:
    steps = switched(tmp_path, name, WORK, LAND)["steps"]
    assert list(steps) == ["implement", name, "land"]
    assert (verb in steps[name], steps[name]["on"]) == (True, {"rejected": "implement"})


def test_without_a_step_that_changes_code_a_rejection_leads_nowhere(tmp_path: Path) -> None:
    steps = switched(tmp_path, "human_approval", 'plan: {role: planner, prompt: "Go."}')["steps"]
    assert list(steps) == ["plan", "human_approval"]
    assert "on" not in steps["human_approval"]


def test_a_switch_adds_a_pull_request_at_the_end(tmp_path: Path) -> None:
    whole = switched(tmp_path, "auto_pr", WORK)
    assert list(whole["steps"]) == ["implement", "pull_request_branch", "pull_request"]
    assert whole["secrets"] == ["GH_TOKEN"]


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("require_tests", "test: {run: make test-unit}"),
        ("security_review", "scan: {review: security_auditor, of: implement}"),
        ("human_approval", 'ask: {human: "Good?"}'),
        ("require_tests", "test: {run: make all, when: inputs.require_tests}"),
        ("auto_pr", "pr: {run: [gh, pr, create]}"),
    ],
)
def test_what_the_workflow_does_already_is_not_added(tmp_path: Path, name: str, step: str) -> None:
    steps = switched(tmp_path, name, WORK, step)["steps"]
    assert list(steps) == ["implement", step.partition(":")[0]]
    assert len(steps["implement"]["gates"]) == 1


def test_a_switch_that_is_off_and_that_nothing_reads_is_no_input(tmp_path: Path) -> None:
    whole = switched(tmp_path, "require_tests", WORK, default="false")
    assert list(whole["inputs"]) == ["task"]


def test_a_step_that_a_file_disables_is_not_added_again(tmp_path: Path) -> None:
    parent = "podium: 1\nname: parent\ninputs: {task: string, security_review: {type: bool, default: true}}\n"
    parent += f"switches: [security_review]\nsteps:\n  {WORK}\n  security_review: {{check: 'true'}}\n"
    (tmp_path / "parent.yaml").write_text(parent, "utf-8")
    assert list(document(tmp_path, "extends: parent\ndisable: [security_review]\n")["steps"]) == ["implement"]


GRAPH = "switches: [human_approval]\nsteps: {a: {run: make, needs: []}}\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("switches: [require_test]\nsteps: {a: {run: make}}\n", '"require_test" is not a switch'),
        (
            f"inputs: {{human_approval: {{type: bool, default: true}}}}\n{GRAPH}",
            "switches add steps to a sequence",
        ),
    ],
)
def test_a_switch_that_cannot_work_is_reported(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{text}", "utf-8")
    assert any(fault in problem.message for problem in check(path).errors)


REVIEW = "review: {review: [reviewer_gemini, reviewer_codex], of: implement%s}"


@pytest.mark.parametrize(
    ("policy", "own", "width"),
    [
        ("parallel: false", "", 1),
        ("parallel: true", "", None),
        ("parallel: false", ", parallel: 2", 2),
        ("parallel: false", ", parallel: true", None),
        ("dual: false", ", parallel: false", 1),
    ],
)
def test_reviewers_judge_one_after_the_other_where_the_file_says_so(
    tmp_path: Path, policy: str, own: str, width: int | None
) -> None:
    document(tmp_path, f"reviews: {{{policy}}}\nsteps:\n  {WORK}\n  {REVIEW % own}\n")
    workflow = check(tmp_path / "flow.yaml").workflow
    assert workflow is not None
    verb = workflow.body.steps[1].verb
    assert isinstance(verb, Review)
    assert verb.parallel == width


@pytest.mark.parametrize(
    ("role", "agent"), [("reviewer", "gemini"), ("reviewer_gemini", "codex"), ("reviewer_codex", "gemini")]
)
def test_a_dual_review_has_a_second_reviewer_of_another_vendor(tmp_path: Path, role: str, agent: str) -> None:
    text = f"reviews: {{dual: true}}\nsteps:\n  {WORK}\n  look: {{review: {role}, of: implement}}\n"
    whole = document(tmp_path, text)
    assert whole["steps"]["look"]["review"] == [role, f"{role}_second"]
    assert whole["roles"][f"{role}_second"]["agent"] == agent
