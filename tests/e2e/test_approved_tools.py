"""Calls of tools that a person has to approve: held, parked, answered, withdrawn, and in runs that ask nobody."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

AGENT = Path(__file__).with_name("asking_agent.py")
FLOW = """\
podium: 1
name: ship
limits: {{unknown_cost: count_tokens}}
agents: {{own: {{type: acp, command: [{python}, {agent}]}}}}
steps:
  ship:
    agent: own
    prompt: |
      Do it.

      RUN: echo 1 >> before
      RUN: echo 1 >> deployed
      RUN: echo 1 >> after
    approve_tools: {{tools: ["run(*deployed)"], wait: {wait}}}
"""
QUESTION = "ship#1/!tool"
RUN = ("run", "flow.yaml", "--yes", "--sandbox", "limits")


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path / "p", files("1s"))) as own:
        yield own


def files(wait: str) -> dict[str, str]:
    flow = FLOW.format(python=sys.executable, agent=AGENT, wait=wait)
    return {"flow.yaml": flow, ".gitignore": ".podium/\n"}


def left(project: Project) -> list[str]:
    """The files that the run has changed."""
    return sorted(re.findall(r"^diff --git a/(\w+) ", project.podium("diff").out, re.MULTILINE))


def kinds(project: Project) -> list[str]:
    return [event["kind"] for event in project.events(project.run_id()) if event["type"] == "AttemptEnded"]


def question(project: Project) -> dict[str, Any]:
    (found,) = json.loads(project.podium("inbox", "--json").out)
    return dict(found)


def test_a_call_that_nobody_decides_about_in_time_parks_the_run_and_is_made_when_it_is_approved(
    project: Project,
) -> None:
    parked = project.podium(*RUN)
    assert parked.code == 6, parked.err
    asked = question(project)
    assert (asked["path"], asked["actions"]) == (QUESTION, ["approve", "reject"])
    assert asked["question"].endswith("run: echo 1 >> deployed")
    assert kinds(project) == ["asked"]

    approved = project.podium("approve")

    assert approved.code == 0, approved.out + approved.err
    assert "failed" not in approved.err
    assert kinds(project) == ["asked", "ok"]
    assert left(project) == ["after", "before", "deployed"]
    prompt = next(project.root.glob(".podium/runs/*/agent_logs/ship/2/prompt.md")).read_text("utf-8")
    assert (
        "```\necho 1 >> deployed\n```" in prompt and "approved it: call it again exactly like this" in prompt
    )


def test_a_rejection_reaches_the_agent_with_its_reason_and_the_call_is_not_made(project: Project) -> None:
    assert project.podium(*RUN).code == 6
    rejected = project.podium("reject", "--feedback", "not on a Friday")
    assert rejected.code == 0, rejected.out + rejected.err
    assert left(project) == ["after", "before"]
    prompt = next(project.root.glob(".podium/runs/*/agent_logs/ship/2/prompt.md")).read_text("utf-8")
    assert "did not approve it; do not call it again" in prompt and "not on a Friday" in prompt


def test_a_call_that_is_approved_while_it_is_held_goes_on_in_the_same_attempt(project: Project) -> None:
    project.commit(files("60s"))
    child = project.start(*RUN)
    project.until_event(project.run_id(), "ApprovalAsked")
    assert project.podium("approve", "--detach").code == 0
    assert child.wait(60) == 0
    assert kinds(project) == ["ok"]
    assert "deployed" in left(project)


def test_a_run_that_is_killed_while_a_call_is_held_asks_once(project: Project) -> None:
    project.commit(files("60s"))
    child = project.start(*RUN)
    run = project.run_id()
    project.until_event(run, "ApprovalAsked")
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    again = project.start("resume", run)
    project.until_event(run, "RunRecovered")
    assert project.podium("approve", "--detach").code == 0
    assert again.wait(60) == 0
    asked = [event for event in project.events(run) if event["type"] in ("ToolAsked", "ApprovalAsked")]
    assert [event["type"] for event in asked] == ["ToolAsked", "ApprovalAsked"]
    assert "deployed" in left(project)


def test_a_cancel_while_a_call_is_held_makes_no_call_and_leaves_no_question(project: Project) -> None:
    project.commit(files("60s"))
    child = project.start(*RUN)
    project.until_event(project.run_id(), "ApprovalAsked")
    project.podium("cancel")
    assert child.wait(60) == 130
    assert json.loads(project.podium("inbox", "--json").out) == []
    assert json.loads(project.podium("show", "--json").out)["status"] == "cancelled"


def test_in_a_run_that_asks_nobody_the_call_is_refused_at_once(project: Project) -> None:
    project.commit(files("60s"))
    ended = project.podium(*RUN, "--no-human")
    assert ended.code == 0, ended.out + ended.err
    assert kinds(project) == ["ok"] and left(project) == ["after", "before"]


def test_an_agent_that_cannot_ask_is_refused_before_the_start(project: Project) -> None:
    text = "podium: 1\nsteps:\n  a: {agent: codex, prompt: Go., approve_tools: [run]}\n"
    project.commit({"flow.yaml": text})
    refused = project.podium("validate", "flow.yaml")
    assert refused.code == 2
    assert "codex cannot ask before a tool is used" in refused.err + refused.out
    assert "these can: claude" in refused.err + refused.out
