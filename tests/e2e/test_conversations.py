"""A conversation between an agent and a person, through the command: inbox, answers, crashes, and no person at all."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: talk
agents: {s: {type: scripted, script: cast.yaml}}
roles: {analyst: {agent: s}}
steps:
  spec:
    role: analyst
    prompt: Find out what is wanted, then write spec.md.
    touches: [spec.md]
    output: {schema: {summary: string}}
    team: {owner: {agent: human, turns: 5, until: that is all}}
    gates: [{name: colour, run: [grep, -q, blue, spec.md]}]
"""
CAST = """\
- match: {step: spec, attempt: 1}
  text: Which colour?
- match: {step: spec, attempt: 2}
  write: {spec.md: "a draft\\n"}
  text: How large?
- match: {step: spec}
  write: {spec.md: "blue and large\\n"}
  output: {summary: blue and large}
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {"flow.yaml": FLOW, "cast.yaml": CAST, ".gitignore": ".podium/\n"}
    with closing(new_project(tmp_path / "p", files)) as own:
        yield own


def question(project: Project) -> dict[str, Any]:
    (found,) = json.loads(project.podium("inbox", "--json").out)
    return dict(found)


def test_an_agent_and_a_person_take_turns_until_the_person_ends_it(project: Project) -> None:
    parked = project.podium("run", "flow.yaml", "--yes")
    assert parked.code == 6, parked.err
    first = question(project)
    assert first["question"].startswith("analyst: Which colour?")
    assert "turn 1 of at most 5" in first["question"] and first["until"] == "that is all"
    assert "that is all as VALUE ends the conversation" in project.podium("inbox").out

    assert project.podium("answer", "blue").code == 6
    second = question(project)
    assert second["path"] == "spec#2/owner"
    (shown,) = [each for each in second["exhibits"] if each["name"] == "conversation"]
    assert "Which colour?" in shown["text"] and "owner: blue" in shown["text"]
    # What it has written so far is part of its work, and nothing has judged it.
    assert "a draft" in project.podium("diff", second["run"], second["path"]).out
    assert "colour" not in project.podium("show").out.replace("Which colour", "")

    ended = project.podium("answer", "large\nThat is all.")
    assert ended.code == 0, ended.out + ended.err
    prompt = next(project.root.glob(".podium/runs/*/agent_logs/spec/3/prompt.md")).read_text("utf-8")
    assert "The conversation is over." in prompt and "```\nblue\n```" in prompt and "summary" in prompt
    earlier = next(project.root.glob(".podium/runs/*/agent_logs/spec/2/prompt.md")).read_text("utf-8")
    assert "This is your turn 2 of at most 5" in earlier and "summary" not in earlier


def test_a_conversation_survives_being_killed_between_and_inside_its_turns(project: Project) -> None:
    slow = CAST.replace("  text: How large?", "  text: How large?\n  delay: 30s")
    project.commit({"cast.yaml": slow})
    assert project.podium("run", "flow.yaml", "--yes").code == 6
    run = project.run_id()
    child = project.start("answer", "blue")
    project.until_event(run, "AttemptStarted", "spec", 2)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    project.commit({"cast.yaml": CAST})

    resumed = project.podium("resume", run, "--accept-changes", "--yes")

    assert resumed.code == 6, resumed.out + resumed.err
    ended = project.podium("answer", "that is all")
    assert ended.code == 0, ended.out + ended.err
    messages = json.loads(project.podium("show", "--team", "--json").out)["messages"]
    assert [(each["question"], each["answer"]) for each in messages] == [
        ("Which colour?", "blue"),
        ("How large?", "that is all"),
    ]


def test_a_run_that_asks_no_person_does_the_work_at_once(project: Project) -> None:
    project.commit(
        {"cast.yaml": CAST.partition("- match: {step: spec}")[1] + CAST.partition("- match: {step: spec}")[2]}
    )
    ended = project.podium("run", "flow.yaml", "--yes", "--no-human")
    assert ended.code == 0, ended.out + ended.err


def test_a_cancel_in_the_middle_leaves_nothing_that_waits(project: Project) -> None:
    assert project.podium("run", "flow.yaml", "--yes").code == 6
    assert project.podium("cancel").code in (0, 130)
    assert json.loads(project.podium("inbox", "--json").out) == []
    assert json.loads(project.podium("show", "--json").out)["status"] == "cancelled"


def test_a_simulated_person_ends_the_conversation(project: Project) -> None:
    simulated = project.podium("simulate", "flow.yaml", "--cast", "cast.yaml", "--json")
    assert simulated.code == 0, simulated.err
    assert simulated.data()["status"] == "passed"
    assert "spec#1/owner" in [step["path"] for step in simulated.data()["steps"]]
