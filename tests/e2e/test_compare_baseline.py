"""Arms that Podium writes: one agent with the task, gates and limits of a team, and the same with the team's money (X13)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

TEAM = """
podium: 1
name: mend
inputs: {report: string}
limits: {usd: 1}
agents:
  careful: {type: command, command: [sh, agent.sh, careful], price: {input: 1, output: 1}}
  hasty: {type: command, command: [sh, agent.sh, hasty], price: {input: 1, output: 1}}
steps:
  plan: {agent: careful, prompt: "Plan how to mend {{ inputs.report }}", touches: [], output: text}
  fix:
    agent: careful
    prompt: "Mend {{ inputs.report }} by this plan: {{ steps.plan.output }}"
    touches: [answer.txt]
    gates: [{run: "grep -q 42 answer.txt"}]
    retry: {attempts: 2, on_exhausted: fail}
  look: {run: "test -s answer.txt"}
  review: {review: careful, of: fix, on: {rejected: fix}}
"""
AGENT = """
prompt=$(cat)
case "$prompt" in *verdict*) text='{"decision": "approve", "score": 9, "findings": []}' ;; *) text=done ;; esac
case "$1$prompt" in
  *"Plan how"*) ;;
  careful*Mend*) echo 42 > answer.txt ;;
  hasty*Mend*) date +%N >> answer.txt; sed -i s/42/x/ answer.txt ;;
esac
printf '{"podium": 1, "text": %s, "usage": {"input": 10, "output": 5}, "cost_usd": 0.05}' "$(printf %s "$text" | sed 's/"/\\\\"/g; s/.*/"&"/')"
"""
SUITE = """
podium: 1
suite: one_or_many
limits: {usd: 20}
trials: 1
arms:
  team: {workflow: mend.yaml, bring: [agent.sh]}
  single: {baseline: mend.yaml, bring: [agent.sh]}
  again: {baseline: mend.yaml, agent: hasty, money: team, bring: [agent.sh]}
cases:
  first: {repo: ., at: COMMIT, inputs: {report: the answer}, graders: [{run: "grep -qx 42 answer.txt && test -e old.txt"}]}
"""
RUN = ("compare", "suite.yaml", "--yes", "--sandbox", "limits", "--seed", "3")


def project_of(folder: Path) -> Project:
    project = new_project(folder / "place", {"mend.yaml": TEAM, "agent.sh": AGENT, "old.txt": "old\n"})
    commit = project.git("rev-parse", "HEAD").strip()
    project.git("rm", "-q", "old.txt")
    project.git("commit", "-qm", "Remove the old file")
    project.put({"suite.yaml": SUITE.replace("COMMIT", commit)})
    return project


def files_of(project: Project, arm: str) -> Path:
    (folder,) = project.root.glob(f".podium/experiments/one_or_many/trials/*-first-{arm}-1/first")
    return folder


def result_of(project: Project, arm: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((files_of(project, arm).parent / "result.json").read_text())
    return value


@pytest.mark.req("X13")
def test_one_agent_gets_the_task_and_gates_of_the_team_and_what_the_team_spent(tmp_path: Path) -> None:
    with closing(project_of(tmp_path)) as project:
        written = project.podium("compare", "suite.yaml", "--show", "single").out
        done = project.podium(*RUN, "--json", timeout_s=250)
        assert done.code == 0, done.err
        team, single, again = (result_of(project, arm) for arm in ("team", "single", "again"))

        assert team["passed"]
        assert team["usd"] >= 0.15
        assert (single["passed"], single["usd"]) == (True, pytest.approx(0.05))
        assert (again["passed"], again["status"]) == (False, "limited")
        assert team["usd"] - 0.1 < again["usd"] <= team["usd"]
        assert again["position"] > team["position"]
        assert (files_of(project, "single") / "mend.yaml").read_text() == written
        assert "Mend {{ inputs.report }} by this plan: (decide this yourself)" in written
        for gate in ("grep -q 42 answer.txt", "test -s answer.txt"):
            assert gate in written
        assert "attempts: 2" in written
        assert "usd: 1" in written
        assert "review:" not in written
        for word in ("baseline", "single", "compare", "one_or_many"):
            assert word not in written


def test_a_workflow_that_one_agent_cannot_be_told_is_refused(tmp_path: Path) -> None:
    with closing(project_of(tmp_path)) as project:
        by_others = TEAM.replace(
            "Mend {{ inputs.report }} by this plan", "{% if steps.plan.output %}Mend{% endif %} by this plan"
        )
        project.put({"mend.yaml": by_others})
        refused = project.podium("compare", "suite.yaml", "--show", "single")
        suite = (project.root / "suite.yaml").read_text()
        project.put({"suite.yaml": suite.replace("single: {", "single: {prompt: Mend it., ")})
        given = project.podium("compare", "suite.yaml", "--show", "single")
        unknown = project.podium("compare", "suite.yaml", "--show", "other")
        project.put({"suite.yaml": suite.replace("money: team", "money: again")})
        circular = project.podium("compare", "suite.yaml")
        project.put({"suite.yaml": suite.replace("at: ", "at: no")})
        no_commit = project.podium("compare", "suite.yaml")

    assert refused.code == 2
    assert "a prompt decides by other steps: {% if steps.plan.output %}" in refused.err
    assert "prompt: Mend it." in given.out
    assert "has no arm other" in unknown.err
    assert "arms.again.money: there is no arm again that has money of its own" in circular.err
    assert "cases.first.at: " in no_commit.err
    assert "has no commit no" in no_commit.err
