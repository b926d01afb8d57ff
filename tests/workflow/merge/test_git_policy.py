"""`git` of a configuration becomes steps and gates of a workflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, resolved
from podium.workflow.source.yaml import load

BRANCH = "ai/${{ run.id }}"


def document(folder: Path, workflow: str, policy: str) -> Any:
    (folder / ".podium").mkdir()
    (folder / ".podium/config.yaml").write_text(f"git: {policy}\n", "utf-8")
    path = folder / "flow.yaml"
    path.write_text(f"podium: 1\nname: flow\n{workflow}", "utf-8")
    assert [problem.render() for problem in check(path).errors] == []
    return load(resolved(path), name="resolved").value


def test_a_branch_is_made_first_and_takes_all_landings(tmp_path: Path) -> None:
    text = "steps:\n  a: {run: make}\n  b: {git: {land: main, message: x}}\n  c: {git: {branch: other}}\n"
    steps = document(tmp_path, text, f'{{branch: "{BRANCH}"}}')["steps"]
    assert list(steps) == ["git_start", "a", "b", "c"]
    assert [step.get("git") for step in steps.values()] == [
        {"branch": BRANCH},
        None,
        {"land": BRANCH, "message": "x"},
        {"branch": "other"},
    ]


@pytest.mark.parametrize(
    ("inputs", "message"), [("inputs: {task: string}\n", "${{ inputs.task }}"), ("", "${{ run.name }}")]
)
def test_commit_lands_the_work_of_a_workflow_that_lands_nothing(
    tmp_path: Path, inputs: str, message: str
) -> None:
    steps = document(tmp_path, f"{inputs}steps: {{a: {{run: make}}}}\n", "{commit: true}")["steps"]
    assert steps["git_commit"] == {"git": {"land": "${{ run.branch }}", "message": message}}


def test_commit_adds_nothing_where_a_step_publishes_the_work(tmp_path: Path) -> None:
    steps = document(tmp_path, "steps: {a: {git: {branch: x}}}\n", "{commit: true}")["steps"]
    assert list(steps) == ["a"]


def test_a_graph_starts_after_its_branch_and_is_committed_after_all_of_it(tmp_path: Path) -> None:
    text = "steps:\n  a: {run: make, needs: []}\n  b: {run: make, needs: [a]}\n"
    steps = document(tmp_path, text, f'{{branch: "{BRANCH}", commit: true}}')["steps"]
    assert {name: step["needs"] for name, step in steps.items()} == {
        "git_start": [],
        "a": ["git_start"],
        "b": ["a"],
        "git_commit": ["a", "b"],
    }


def test_a_preview_asks_before_each_landing_unless_a_person_was_just_asked(tmp_path: Path) -> None:
    land = '{git: {land: main, message: "m"}, gates: [{run: make}]}'
    text = f'steps:\n  a: {land}\n  ask: {{human: "Good?"}}\n  b: {land}\n'
    steps = document(tmp_path, text, "{preview: true}")["steps"]
    assert [len(steps[name]["gates"]) for name in ("a", "b")] == [2, 1]
    assert steps["a"]["gates"][1]["human"] == 'Git preview: commit "m" on main. Proceed?'


def test_a_failed_run_is_stashed_after_the_own_last_steps(tmp_path: Path) -> None:
    text = "steps: {a: {run: make}}\nfinally: {tidy: {run: make clean}}\n"
    assert list(document(tmp_path, text, "{on_failure: stash}")["finally"]) == ["tidy", "git_stash"]


def test_a_workflow_inside_another_one_only_lands_on_the_same_branch(tmp_path: Path) -> None:
    child = "podium: 1\nname: child\nsteps: {land: {git: {land: main, message: m}}}\n"
    (tmp_path / "child.yaml").write_text(child, "utf-8")
    text = "steps: {a: {workflow: child.yaml}}\n"
    document(tmp_path, text, f'{{branch: "{BRANCH}", preview: true, on_failure: stash}}')
    workflow = check(tmp_path / "flow.yaml").workflow
    assert workflow is not None
    assert [step.name for step in workflow.body.steps] == ["git_start", "a"]
    call: Any = workflow.body.steps[1].verb
    assert [step.name for step in call.workflow.body.steps] == ["land"]
    assert call.workflow.body.steps[0].gates is None


def test_a_faulty_workflow_is_reported_without_the_steps_of_git(tmp_path: Path) -> None:
    (tmp_path / ".podium").mkdir()
    (tmp_path / ".podium/config.yaml").write_text("git: {commit: true}\n", "utf-8")
    path = tmp_path / "flow.yaml"
    path.write_text("podium: 1\nname: flow\n", "utf-8")
    assert any('"steps"' in problem.message for problem in check(path).errors)


def test_approval_is_a_gate_of_each_landing_and_leads_back_to_the_one_who_changed_code(
    tmp_path: Path,
) -> None:
    text = """\
steps:
  plan: {role: planner, prompt: x}
  first: {git: {land: main, message: x}}
  code: {role: implementer, prompt: x}
  then: {git: {land: main, message: x}, on: {failed: plan}}
  last: {git: {land: main, message: x}}
"""
    steps = document(tmp_path, text, "{approval: human}")["steps"]
    gates = {name: [gate["level"] for gate in step.get("gates", ())] for name, step in steps.items()}
    assert gates == {"plan": [], "first": ["human"], "code": [], "then": ["human"], "last": ["human"]}
    assert [steps[name].get("on") for name in ("first", "then", "last")] == [
        None,
        {"failed": "plan"},
        {"failed": "code"},
    ]


def test_approval_in_a_graph_leads_nowhere(tmp_path: Path) -> None:
    text = "steps:\n  a: {role: implementer, prompt: x, needs: []}\n  b: {git: {land: main, message: x}, needs: [a]}\n"
    step = document(tmp_path, text, "{approval: human}")["steps"]["b"]
    assert ("on" in step, step["gates"][0]["level"]) == (False, "human")
