"""Which role files are read: those that something names, and their families."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.merge.merge import merge
from podium.workflow.merge.sources import gather
from tests.workflow.kit import BASE_ROLES, merged_in, told, write


def test_only_the_roles_that_are_named_are_read(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {role: planner, prompt: x}, b: {review: reviewer_codex, of: a}}\n"
    sources = gather(write(tmp_path, {"flow.yaml": flow}) / "flow.yaml")

    read_files = {path.stem for path in sources.paths if path.parent.name == "roles"}
    assert read_files == {"planner", "reviewer", "reviewer_codex"}
    assert merge(sources).role_names == frozenset(BASE_ROLES)


@pytest.mark.parametrize(
    "step",
    [
        'a: {role: "${{ inputs.who }}", prompt: x}',
        'a: {review: "${{ inputs.who }}"}',
        "a: {build: features/x.yaml, component: {role: planner}}",
    ],
)
def test_all_roles_are_at_hand_where_only_the_run_will_tell(tmp_path: Path, step: str) -> None:
    merged = merged_in(write(tmp_path, {"flow.yaml": f"podium: 1\nsteps: {{{step}}}\n"}))

    assert list(merged.value["roles"]) == BASE_ROLES


def test_roles_are_found_wherever_a_step_can_stand(tmp_path: Path) -> None:
    flow = """
    podium: 1
    breaker: {ask: orchestrator}
    gates: {look: {review: tech_lead}}
    roles: {own: {gates: [look, {review: security_auditor}]}}
    steps:
      role: {steps: {review: {role: planner, prompt: x, gates: [look, {review: [reviewer_codex]}]}}}
      ask: {role: implementer, prompt: x, team: {qa: {role: test_engineer}, me: {agent: human}}}
      build: {human: "Which role?", with: {role: ui_designer}}
    finally: {last: {role: investigator, prompt: x}}
    """
    found = merged_in(write(tmp_path, {"flow.yaml": flow})).value["roles"]

    left_out = {"implementer_fast", "reviewer", "reviewer_gemini", "ui_designer"}
    left_out |= {"auditor", "quality_gate", "synthesizer", "writer"}
    assert set(found) == {"own", *BASE_ROLES} - left_out


def test_a_role_that_judges_for_another_role_comes_along(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {role: mine, prompt: x}}\n",
        ".podium/roles/mine.yaml": "gates: [{review: yours}]\n",
        ".podium/config.yaml": "roles: {yours: {extends: reviewer}, unused: {extends: nobody}}\n",
    }
    merged = merged_in(write(tmp_path, files))

    assert told(merged) == []
    assert list(merged.value["roles"]) == ["mine", "yours"]


def test_a_role_file_that_cannot_be_read_is_told_and_left_out(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {role: mine, prompt: x}}\n",
        ".podium/roles/mine.yaml": "- a list\n",
    }
    merged = merged_in(write(tmp_path, files))

    assert told(merged) == ["mine.yaml:1: the file must be a map"]
    assert "roles" not in merged.value


def test_the_advisor_that_a_project_asks_is_there(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {run: a}}\n",
        ".podium/config.yaml": "breaker: {ask: orchestrator}\n",
    }
    assert list(merged_in(write(tmp_path, files)).value["roles"]) == ["orchestrator"]


def test_a_role_that_only_the_command_line_knows_is_there_too(tmp_path: Path) -> None:
    overrides = {"roles": {"junior": {"extends": "implementer", "model": "small"}}}
    flow = "podium: 1\nsteps: {a: {run: a}}\n"
    merged = merged_in(write(tmp_path, {"flow.yaml": flow}), overrides=overrides)

    assert merged.value["roles"]["junior"]["touches"] == ["**"]


def test_the_command_line_may_bring_a_role(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {role: planner, prompt: x}}\n"
    overrides = {"roles": {"planner": {"model": "big"}}}
    merged = merged_in(write(tmp_path, {"flow.yaml": flow}), overrides=overrides)

    assert merged.value["roles"]["planner"]["model"] == "big"
    assert merged.value["roles"]["planner"]["touches"] == []
