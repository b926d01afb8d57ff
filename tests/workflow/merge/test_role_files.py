"""Which role files are read: those that a file names, and their parents."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.merge.merge import merge
from podium.workflow.merge.sources import gather
from tests.workflow.kit import BASE_ROLES, merge_project, messages, write


def test_only_named_roles_are_read(tmp_path: Path) -> None:
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
def test_all_roles_are_read_where_the_role_is_known_only_at_run_time(tmp_path: Path, step: str) -> None:
    merged = merge_project(write(tmp_path, {"flow.yaml": f"podium: 1\nsteps: {{{step}}}\n"}))

    assert list(merged.value["roles"]) == BASE_ROLES


def test_roles_are_found_in_every_place_a_step_can_be(tmp_path: Path) -> None:
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
    roles = merge_project(write(tmp_path, {"flow.yaml": flow})).value["roles"]

    left_out = {"implementer_fast", "reviewer", "reviewer_gemini", "ui_designer"}
    left_out |= {"auditor", "quality_gate", "synthesizer", "writer"}
    assert set(roles) == {"own", *BASE_ROLES} - left_out


def test_a_role_that_reviews_for_another_role_is_read_too(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {role: mine, prompt: x}}\n",
        ".podium/roles/mine.yaml": "gates: [{review: yours}]\n",
        ".podium/config.yaml": "roles: {yours: {extends: reviewer}, unused: {extends: nobody}}\n",
    }
    merged = merge_project(write(tmp_path, files))

    assert messages(merged) == []
    assert list(merged.value["roles"]) == ["mine", "yours"]


def test_an_unreadable_role_file_is_reported_and_omitted(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {role: mine, prompt: x}}\n",
        ".podium/roles/mine.yaml": "- a list\n",
    }
    merged = merge_project(write(tmp_path, files))

    assert messages(merged) == ["mine.yaml:1: the file must be a map"]
    assert "roles" not in merged.value


def test_the_breakers_advisor_is_read(tmp_path: Path) -> None:
    files = {
        "flow.yaml": "podium: 1\nsteps: {a: {run: a}}\n",
        ".podium/config.yaml": "breaker: {ask: orchestrator}\n",
    }
    assert list(merge_project(write(tmp_path, files)).value["roles"]) == ["orchestrator"]


def test_a_role_named_only_on_the_command_line_is_read(tmp_path: Path) -> None:
    overrides = {"roles": {"junior": {"extends": "implementer", "model": "small"}}}
    flow = "podium: 1\nsteps: {a: {run: a}}\n"
    merged = merge_project(write(tmp_path, {"flow.yaml": flow}), overrides=overrides)

    assert merged.value["roles"]["junior"]["touches"] == ["**"]


def test_the_command_line_may_define_a_role(tmp_path: Path) -> None:
    flow = "podium: 1\nsteps: {a: {role: planner, prompt: x}}\n"
    overrides = {"roles": {"planner": {"model": "big"}}}
    merged = merge_project(write(tmp_path, {"flow.yaml": flow}), overrides=overrides)

    assert merged.value["roles"]["planner"]["model"] == "big"
    assert merged.value["roles"]["planner"]["touches"] == []
