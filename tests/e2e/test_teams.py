"""Teams through the command: people as members, notes, dropped files, limits, and what a worker is told."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: t
record: {inboxes: agents}
agents: {s: {type: scripted, script: cast.yaml}}
roles: {engineer: {agent: s}, qa: {agent: s}}
steps:
  deliver:
    role: engineer
    prompt: go
    touches: [code.txt]
    team:
      owner: {agent: human}
      qa: {role: qa, when_done: true, prompt: Look, touches: [test.txt]}
    gates: [{name: good, run: [grep, -q, blue, code.txt]}]
    limits: {messages: 4}
"""
CAST = """\
- match: {step: deliver, prompt: "make it blue"}
  write: {code.txt: "blue\\n"}
- match: {step: deliver}
  write: {code.txt: "grey\\n"}
  ask: [{to: owner, question: "Which colour?"}, {to: nobody, question: "Hello?"}]
- match: {step: deliver/qa}
  write: {test.txt: "it is blue\\n"}
  text: it is tested
"""
ENDLESS = """\
- match: {step: deliver, attempt: 1}
  ask: [{to: qa, question: "one?"}]
- match: {step: deliver, attempt: 2}
  ask: [{to: qa, question: "two?"}]
- match: {step: deliver, attempt: 3}
  ask: [{to: qa, question: "three?"}]
- match: {step: deliver, attempt: 4}
  ask: [{to: nobody, question: "four?"}]
- match: {step: deliver, attempt: 5}
  ask: [{to: qa, question: "five?"}]
"""


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {"flow.yaml": FLOW, "cast.yaml": CAST, ".gitignore": ".podium/\nagents/\n"}
    with closing(new_project(tmp_path / "p", files)) as own:
        yield own


def thread(project: Project) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(project.podium("show", "--team", "--json").out)
    return data


@pytest.mark.req("R202", "R203", "R205", "R247")
def test_a_person_in_a_team_answers_and_everyone_gets_what_is_for_them(project: Project) -> None:
    parked = project.podium("run", "flow.yaml", "--yes")
    assert parked.code == 6, parked.err
    inbox = project.root / "agents/owner/inbox/000001-from-engineer.md"
    assert "Which colour?" in inbox.read_text("utf-8")
    noted = project.podium("guide", "look at the edges", "--to", "deliver/qa")
    assert noted.code == 0, noted.err
    (project.root / "agents/qa/inbox/mine.md").write_text("mind the gap\n", "utf-8")
    unknown = project.podium("guide", "hello", "--to", "deliver/nobody")
    assert unknown.code != 0
    assert "there are deliver, deliver/owner, deliver/qa" in unknown.err

    ended = project.podium("answer", "make it blue")

    assert ended.code == 0, ended.out + ended.err
    messages, notes = thread(project)["messages"], thread(project)["notes"]
    assert [(one["to"], one["outcome"]) for one in messages] == [
        ("owner", "passed"),
        ("nobody", "refused"),
        ("qa", "passed"),
    ]
    assert "you may ask owner, qa" in messages[1]["answer"]
    assert sorted((note["text"], note["read"]) for note in notes) == [
        ("look at the edges", ["deliver#2/qa#1"]),
        ("mind the gap", ["deliver#2/qa#1"]),
    ]
    assert not inbox.exists()
    assert (project.root / "agents/owner/done/000001-from-engineer.md").exists()
    prompt = next(project.root.glob(".podium/runs/*/agent_logs/deliver/2/prompt.md")).read_text("utf-8")
    assert "make it blue" in prompt and "This was not delivered" in prompt
    diff = project.podium("diff").out
    assert "test.txt" in diff and "code.txt" in diff


def test_a_team_ends_at_exactly_its_limit_and_says_so(project: Project) -> None:
    project.commit({"cast.yaml": ENDLESS})
    ended = project.podium("run", "flow.yaml", "--yes")

    assert ended.code == 5, ended.out + ended.err
    assert 'the limit on messages of "deliver" is reached: 5 used, 4 allowed' in ended.err
    assert [one["outcome"] for one in thread(project)["messages"]] == [
        "passed",
        "passed",
        "passed",
        "refused",
        "",
    ]


def test_a_cancelled_run_leaves_no_member_waiting(project: Project) -> None:
    assert project.podium("run", "flow.yaml", "--yes").code == 6
    cancelled = project.podium("cancel")
    assert cancelled.code in (0, 130), cancelled.err
    assert project.podium("inbox").out.strip() == "" or "no run" in project.podium("inbox").out
    assert json.loads(project.podium("show", "--json").out)["status"] == "cancelled"
