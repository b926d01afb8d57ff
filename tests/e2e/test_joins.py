"""Joins in a real run: the first that passes stops the others, and steps run after needs that failed (issue 20, B6)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow


def project_with(folder: Path, steps: str, **programs: str) -> Project:
    """A project whose agents are shell scripts."""
    agents = "".join(f"  {name}: {{type: command, command: [sh, tools/{name}]}}\n" for name in programs)
    text = f"podium: 1\nname: joins\nagents:\n{agents}limits: {{unknown_cost: count_tokens}}\n{steps}"
    tools = {f"tools/{name}": f"{body}\n" for name, body in programs.items()}
    return new_project(folder, {"w.yaml": text, "work.txt": "start\n", **tools})


def shown(project: Project) -> dict[str, Any]:
    ended = project.podium("show", "latest", "--json")
    assert ended.code == 0, ended.err
    data: dict[str, Any] = json.loads(ended.out)
    return data


RACE = """\
steps:
  answer:
    agent: [slow, quick]
    prompt: Answer.
    touches: []
    pass: 1
    cancel: rest
    estimate: {usd: 0.2}
outputs: {all: "${{ steps.answer.output }}"}
"""


def test_the_first_answer_wins_and_the_other_agent_is_stopped_and_booked(tmp_path: Path) -> None:
    project = project_with(tmp_path, RACE, slow="sleep 300; echo late", quick="echo early")
    with closing(project):
        ended = project.podium("run", "w.yaml", "--no-human", "--yes", timeout_s=60)

        assert ended.code == 0, ended.err
        run = shown(project)
        assert run["outputs"] == {"all": {"quick": "early\n"}}
        steps = {step["path"]: step for step in run["steps"]}
        assert steps["answer/slow"]["outcome"] == "cancelled"
        screen = project.podium("show", "latest").out
        assert "2 calls of unknown cost" in screen, "the call that was stopped is booked"
        row = next(line for line in screen.splitlines() if "answer/slow" in line)
        assert "cancelled" in row and "enough of the other members have passed" in row, row


BEST_EFFORT = """\
steps:
  left: {agent: good, prompt: Left., touches: ["left.txt"], needs: [], retry: 1}
  right: {agent: bad, prompt: Right., touches: ["right.txt"], needs: [], retry: 1}
  sum:
    needs: {of: [left, right], pass: %s}
    run: [sh, -c, "test -f left.txt && echo ${{ steps.right.outcome }}"]
    output: text
outputs: {sum: "${{ steps.sum.output }}"}
"""


@pytest.mark.parametrize("rule", ["any", "done"])
def test_a_step_runs_after_needs_of_which_one_failed(rule: str, tmp_path: Path) -> None:
    project = project_with(tmp_path, BEST_EFFORT % rule, good="echo 1 > left.txt; echo ok", bad="exit 3")
    with closing(project):
        ended = project.podium("run", "w.yaml", "--no-human", "--yes")

        assert ended.code == 0, ended.err
        assert shown(project)["outputs"]["sum"].strip() in ("failed", "error")


PANEL = """\
inputs:
  panel: {type: list, default: [ann, bob]}
steps:
  draft:
    agent: ${{ inputs.panel }}
    limits: {members: 2}
    prompt: "Answer as {{ member }}."
    touches: []
  parts:
    for_each:
      in: [{id: one, after: []}, {id: two, after: [one]}]
      as: part
      key: part.id
      needs: part.after
    agent: ann
    prompt: "{{ part.id }} after{% for need in loop.needs %} {{ need.key }}: {{ need.output }}{% endfor %}"
    touches: []
outputs: {all: "${{ steps.draft.output }}"}
"""


def test_an_input_names_the_panel_and_an_item_reads_what_it_needs(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, PANEL, ann="echo from ann", bob="echo from bob")) as project:
        ended = project.podium("run", "w.yaml", "--no-human", "--yes")
        assert ended.code == 0, ended.err
        assert shown(project)["outputs"]["all"] == {"ann": "from ann\n", "bob": "from bob\n"}
        assert "two after one: from ann" in project.podium("prompt", "latest", "parts[2]").out

        too_many = project.podium("run", "w.yaml", "--no-human", "--yes", "-i", "panel=[ann, bob, ann]")
        assert too_many.code != 0
        assert "the list has 3 members, and limits.members is 2" in too_many.out + too_many.err


TURNS = """\
steps:
  talk:
    agent: [ann, bob]
    prompt: Speak.
    touches: []
    context: {earlier: %s}
  judge:
    review: [ann, bob]
    of: talk
    context: {earlier: %s}
    phrase: approved
    pass: any
"""


@pytest.mark.parametrize("earlier", ["none", "all"])
def test_members_answer_blindly_unless_the_file_says_otherwise(earlier: str, tmp_path: Path) -> None:
    flow = TURNS % (earlier, earlier)
    project = project_with(tmp_path, flow, ann="echo tabs are better; echo approved", bob="echo no")
    with closing(project):
        ended = project.podium("run", "w.yaml", "--no-human", "--yes")

        assert ended.code == 0, ended.out + ended.err
        sees = earlier == "all"
        assert ("tabs are better" in project.podium("prompt", "latest", "talk/bob").out) == sees
        assert ('"outcome": "passed"' in project.podium("prompt", "latest", "judge/bob").out) == sees
        assert '"outcome"' not in project.podium("prompt", "latest", "judge/ann").out
