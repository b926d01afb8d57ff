"""`driver` of a sequence becomes questions behind its steps, whose answers are the legal routes (R233)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import check, resolved
from podium.workflow.source.yaml import load

HEAD = "podium: 1\nname: flow\nagents: {w: {type: scripted, script: cast.yaml}}\nroles: {lead: {agent: w}}\n"
THREE = """\
steps:
  plan: {agent: w, prompt: Plan, touches: []}
  build: {agent: w, prompt: Build, touches: [a.py]}
  notes: {agent: w, prompt: Notes, touches: [n.md]}
"""


def steps_of(folder: Path, text: str) -> Any:
    path = folder / "flow.yaml"
    path.write_text(HEAD + text, "utf-8")
    assert [problem.render() for problem in check(path).errors] == []
    return load(resolved(path), name="resolved").value["steps"]


def legal(step: Any) -> set[str]:
    return set(step["output"]["schema"]["go"].split(" | "))


def mistakes(folder: Path, text: str) -> str:
    path = folder / "flow.yaml"
    path.write_text(HEAD + text, "utf-8")
    return "\n".join(problem.render() for problem in check(path).errors)


@pytest.mark.req("R233")
def test_a_question_stands_behind_each_step_for_both_ways_it_can_end(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, "driver: lead\n" + THREE)

    assert list(steps) == [
        *("plan", "after_plan", "after_failed_plan"),
        *("build", "after_build", "after_failed_build"),
        *("notes", "after_notes", "after_failed_notes"),
    ]
    assert {steps[name]["role"] for name in steps if name.startswith("after_")} == {"lead"}
    assert all(steps[name]["touches"] == [] for name in steps if name.startswith("after_"))


@pytest.mark.req("R233")
def test_what_may_be_left_out_depends_on_required_and_on_who_reads_it(tmp_path: Path) -> None:
    free = steps_of(tmp_path, "driver: lead\n" + THREE)
    required = steps_of(
        tmp_path, "driver: lead\n" + THREE.replace("touches: [a.py]", "touches: [a.py], required: true")
    )
    read = steps_of(
        tmp_path, "driver: lead\n" + THREE.replace("prompt: Notes", "prompt: 'See {{ steps.build.text }}'")
    )

    assert legal(free["after_plan"]) == {"plan", "build", "notes", "end", "fail"}
    assert legal(required["after_plan"]) == legal(read["after_plan"]) == {"plan", "build", "fail"}
    assert legal(required["after_build"]) == {"plan", "build", "notes", "end", "fail"}


@pytest.mark.req("R233")
def test_nobody_passes_over_a_failure(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, "driver: lead\n" + THREE)

    assert legal(steps["after_failed_build"]) == {"plan", "build", "fail"}
    assert steps["build"]["on"] == {"else": "after_failed_build"}


@pytest.mark.req("R233")
def test_routes_of_the_file_are_followed_without_asking(tmp_path: Path) -> None:
    text = THREE.replace("touches: []", "touches: [], on: {passed: notes, else: fail}")
    steps = steps_of(tmp_path, "driver: lead\n" + text)

    assert [name for name in steps if name.endswith("_plan")] == []
    assert steps["plan"]["on"] == {"passed": "notes", "else": "fail"}


def test_a_step_that_may_be_skipped_and_has_a_route_goes_on_with_the_next_one(tmp_path: Path) -> None:
    text = THREE.replace("touches: []", "touches: [], when: run.name == 'x', on: {passed: notes}")
    steps = steps_of(tmp_path, "driver: lead\n" + text)

    assert steps["plan"]["on"] == {"passed": "notes", "else": "after_failed_plan", "skipped": "build"}


def test_an_inner_block_has_a_driver_of_its_own(tmp_path: Path) -> None:
    inner = "steps:\n  work:\n    driver: lead\n" + "".join(f"    {line}\n" for line in THREE.splitlines())
    steps = steps_of(tmp_path, inner)

    assert list(steps) == ["work"]
    assert "after_failed_notes" in steps["work"]["steps"]
    assert "driver" not in steps["work"]


@pytest.mark.parametrize(
    "text",
    [
        "driver: lead\nsteps:\n  a: {run: make, needs: []}\n",
        "steps:\n  b: {driver: lead, parallel: 2, steps: {a: {run: make}, c: {run: make}}}\n",
        "driver: lead\nsteps:\n  a: {run: make}\n  after_a: {run: make}\n",
        "driver: lead\nsteps:\n  end: {run: make}\n",
    ],
)
def test_a_driver_that_cannot_decide_is_a_mistake(tmp_path: Path, text: str) -> None:
    assert "a driver decides about a sequence" in mistakes(tmp_path, text)


def test_a_driver_belongs_to_a_block_and_is_a_role(tmp_path: Path) -> None:
    assert '"driver" belongs to' in mistakes(tmp_path, "steps:\n  a: {run: make, driver: lead}\n")
    assert 'role "laed" does not exist' in mistakes(tmp_path, "driver: laed\n" + THREE)


def test_words_of_the_file_are_not_read_as_a_template_again(tmp_path: Path) -> None:
    text = THREE.replace(
        "prompt: Build", "prompt: 'Build {{ run.name }} {% raw %}{{ nonsense }}{% endraw %}'"
    )
    steps = steps_of(tmp_path, "driver: lead\n" + text)

    assert "nonsense }}" not in steps["after_build"]["prompt"]


def test_a_shipped_role_or_an_agent_drives(tmp_path: Path) -> None:
    assert steps_of(tmp_path, "driver: tech_lead\n" + THREE)["after_plan"]["role"] == "tech_lead"
    assert steps_of(tmp_path, "driver: w\n" + THREE)["after_plan"]["agent"] == "w"


def test_a_strict_file_with_a_driver_routes_every_failure(tmp_path: Path) -> None:
    assert steps_of(tmp_path, "strict: true\ndriver: lead\n" + THREE)["after_plan"]["on"]["else"] == "fail"


def test_the_driver_reads_what_a_step_is_for(tmp_path: Path) -> None:
    described = THREE.replace("prompt: Build,", "prompt: Build, description: Makes the program.,")
    steps = steps_of(tmp_path, "driver: lead\n" + described)

    assert "Makes the program." in steps["after_plan"]["prompt"]
