"""`podium prompt` says word for word what an agent is told, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.app.forecast.prompt import PromptRecord, told_by_file, told_in_run
from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths
from podium.wiring import context_host
from tests.engine.kit import TEAM, Project

STEPS = """\
  plan: {role: planner, agent: w, prompt: "Plan {{ inputs.task }}."}
  write:
    role: implementer
    agent: w
    prompt: "Carry out {{ steps.plan.output.title }} for {{ inputs.task }}."
    context: [README.md]
    touches: [a.txt]
    gates: [{name: small, run: "true"}, {name: judge, review: w}]
  sign: {agent: human, prompt: "Sign {{ inputs.task }}."}
"""
HEAD = TEAM + "inputs: {task: string}\n"
CAST = "- {match: {step: plan}, text: Planned., output: {title: A greeting, summary: s, steps: [{title: a, description: b, files: [a.txt]}], files: [a.txt], risks: [], questions: []}}\n"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.flow(STEPS, head=HEAD, cast=CAST)
    return made


def foretold(project: Project, step: str) -> PromptRecord:
    file = project.root / "flow.yaml"
    with context_host(project.root) as host:
        return told_by_file(
            open_workflow(file),
            step,
            inputs={"task": "hello"},
            cast=project.root / "cast.yaml",
            host=host,
        )


@pytest.mark.req("R004", "R048")
@pytest.mark.parametrize("step", ["plan", "write"])
def test_what_is_foretold_is_what_an_agent_is_told(project: Project, step: str) -> None:
    before = foretold(project, step)

    run, _ = project.run(project.root / "flow.yaml", {"task": "hello"})
    after = told_in_run(ProjectPaths(project.root), project.view(run), step)

    assert (before.prompt, before.system, before.agent) == (after.prompt, after.system, after.agent)
    assert (before.run, after.run) == (None, run)
    assert before.tokens == len((before.system + before.prompt).encode()) // 4
    assert "hello" in before.prompt


def test_the_prompt_has_the_excerpt_the_files_and_the_results_of_earlier_steps(project: Project) -> None:
    told = foretold(project, "write")

    assert told.prompt.startswith("Carry out A greeting for hello.")
    for part in ("README.md", '"true" passes (small)', "only these files are changed: a.txt", "After it:"):
        assert part in told.prompt
    assert told.role == "implementer"


def test_a_judge_and_a_person_are_told_something_too(project: Project) -> None:
    judge, person = foretold(project, "write#1/judge/w"), foretold(project, "sign")

    assert "## Your verdict" in judge.prompt
    assert person.agent is None
    assert person.prompt.startswith("Sign hello.")


def test_nothing_is_written_by_looking(project: Project) -> None:
    before = sorted(project.root.rglob("*"))

    foretold(project, "write")

    assert sorted(project.root.rglob("*")) == before


def test_a_step_without_an_agent_is_refused_with_those_that_have_one(project: Project) -> None:
    with pytest.raises(ConfigurationError, match='no agent is asked at "nobody"') as caught:
        foretold(project, "nobody")
    run, _ = project.run(project.root / "flow.yaml", {"task": "hello"})
    with pytest.raises(ConfigurationError, match="no prompt was kept of attempt 7"):
        told_in_run(ProjectPaths(project.root), project.view(run), "write", 7)

    assert "plan, write, write#1/judge/w" in (caught.value.hint or "")


def test_an_agent_that_is_not_there_is_named(project: Project) -> None:
    project.write(
        "flow.yaml", "podium: 1\nname: x\nagents: {a: {type: nowhere}}\nsteps: {s: {agent: a, prompt: x}}\n"
    )

    with pytest.raises(ConfigurationError, match='agent "a" has the unknown type "nowhere"'):
        foretold(project, "s")


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ("search[2]", "team/search[2]/find"),
        ("team/search[2]", "team/search[2]/find"),
        ("search[2]/find", "team/search[2]/find"),
        ("team", "team/search[2]/find"),
    ],
)
def test_a_step_inside_others_is_found_by_the_end_of_its_address(
    tmp_path: Path, step: str, expected: str
) -> None:
    project = Project(tmp_path)
    search = 'search: {for_each: {in: [a, b]}, steps: {find: {agent: w, prompt: "Find {{ item }}."}}}'
    file = project.flow(f"  team:\n    steps:\n      {search}\n", head=HEAD)
    run, _ = project.run(file, {"task": "hello"})

    sent = told_in_run(ProjectPaths(project.root), project.view(run), step)
    before = foretold(project, step)

    assert (sent.step, sent.prompt.splitlines()[0]) == (expected, "Find b.")
    assert before.step == (expected if "[2]" in step else "team/search[1]/find")
