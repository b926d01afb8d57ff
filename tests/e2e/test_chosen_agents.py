"""`agent: auto` through the real command: chosen once, before the run, by what earlier runs taught."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

WORKFLOW = """
podium: 1
name: fix
agents:
  poor: {type: command, command: [sh, agent.sh, poor], price: {input: 1, output: 1}}
  good: {type: command, command: [sh, agent.sh, good], price: {input: 1, output: 1}}
  gone: {type: command, command: [no-such-program], price: {input: 1, output: 1}}
adaptive: {interval: 1s, min_samples: 3, half_life: 60, explore: {first: EXPLORE, later: 0}}
roles:
  builder: {agent: auto, candidates: [poor, good, gone]}
steps:
  build:
    role: builder
    prompt: Write out.txt.
    touches: [out.txt]
    gates: [{run: "test -e out.txt"}]
    retry: {attempts: 1, on_exhausted: fail}
"""
AGENT = """
[ "$1" = good ] && date +%N > out.txt
printf '{"podium": 1, "text": "%s", "usage": {"input": 10, "output": 5}, "cost_usd": 0.10}' "$1"
"""


def project_of(folder: Path, explore: str = "0") -> Project:
    files = {"fix.yaml": WORKFLOW.replace("EXPLORE", explore), "agent.sh": AGENT}
    return new_project(folder / "place", files)


def start(project: Project, *more: str, code: int | None = None) -> tuple[str, str]:
    """The agent that was chosen, and why."""
    done = project.podium("run", "fix.yaml", "--sandbox", "limits", "--yes", "--json", *more)
    assert code is None or done.code == code, done.err
    (chosen,) = done.data()["chosen"]
    worked = {agent["agent"] for agent in done.data()["agents"]}
    assert worked == {chosen["agent"]}
    return chosen["agent"], chosen["why"]


@pytest.mark.req("R222")
def test_it_explores_first_and_then_takes_who_stands(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, explore="1")) as project:
        explored, last, why = [], "", ""
        # Only visits before the current second count, so how many runs it takes depends on the machine.
        for _ in range(30):
            last, why = start(project)
            if not why.startswith("exploring"):
                break
            explored.append(last)
        shown = project.podium("show").out
        planned = project.podium("plan", "fix.yaml").out
        metrics = project.podium("metrics", "auto").out

    assert set(explored) == {"poor", "good"}
    assert last == "good"
    assert "against poor's" in why
    assert "good stood " in why
    assert "gone left out: no-such-program is not installed, or not on the PATH" in why
    assert f"build: good (auto): {why}" in shown
    assert "build: good (auto): " in planned
    assert "good" in metrics


def test_a_lock_and_the_command_line_win(tmp_path: Path) -> None:
    with closing(project_of(tmp_path)) as project:
        locked = start(project, "--set", "adaptive.locked.builder=good", code=0)
        first = start(project, "--set", "adaptive.policy=first", code=1)

    assert locked == ("good", "adaptive.locked: builder")
    assert first[0] == "poor"


def test_no_candidate_that_can_work_is_told_before_the_run(tmp_path: Path) -> None:
    text = WORKFLOW.replace("[poor, good, gone]", "[gone]").replace("EXPLORE", "0")
    with closing(project_of(tmp_path)) as project:
        project.put({"fix.yaml": text})
        done = project.podium("run", "fix.yaml", "--sandbox", "limits", "--yes")

    assert done.code == 2
    assert 'step "build": no candidate of `agent: auto` can work here' in done.err
    assert "gone: no-such-program is not installed, or not on the PATH" in done.err


def test_a_workflow_may_not_explore_more_than_the_project_allows(tmp_path: Path) -> None:
    with closing(project_of(tmp_path, explore="0.5")) as project:
        project.put({".podium/config.yaml": "adaptive: {policy: rule, explore: {first: 0.1}}\n"})
        done = project.podium("validate", "fix.yaml")

    assert done.code == 2
    assert "adaptive.explore.first: 0.5 allows more than 0.1" in done.err + done.out


def test_the_choice_stays_when_the_run_is_repeated(tmp_path: Path) -> None:
    with closing(project_of(tmp_path)) as project:
        start(project, "--set", "adaptive.locked.builder=poor", code=1)
        again = project.podium("rerun", "build", "--yes", "--json")

    assert [each["agent"] for each in again.data()["chosen"]] == ["poor"], again.err
