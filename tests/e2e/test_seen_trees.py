"""An answer names the tree that a person looked at, and is refused if the files have changed since (R190, R196)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: seen
inputs: {number: {type: int, default: 0}}
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  work: {agent: w, prompt: Do it., touches: [a.txt]}
  ask: {human: "Land it?", on: {rejected: work}}
  last: {human: "How many?", output: {choice: [one, many]}}
"""
CAST = [
    {"match": {"step": "work", "visit": 1}, "write": {"a.txt": "first\n"}, "text": "done"},
    {"match": {"step": "work", "visit": 2}, "write": {"a.txt": "second\n"}, "text": "done"},
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    files = {"flow.yaml": FLOW, "cast.yaml": json.dumps(CAST), "a.txt": "start\n"}
    with closing(new_project(tmp_path, files)) as project:
        assert project.podium("run", "flow.yaml").code == 6
        yield project


def asked_tree(project: Project) -> str:
    [question] = json.loads(project.podium("inbox", "--json").out)
    return str(question["tree"])


def approvals(project: Project) -> list[str]:
    run = json.loads(project.podium("show", "--json").out)["run"]
    return [event["data"]["action"] for event in map(json.loads, project.podium("events", run, "--json").out.splitlines())
            if event["type"] == "ApprovalGiven"]  # fmt: skip


def test_an_answer_about_an_earlier_tree_is_refused_and_changes_nothing(project: Project) -> None:
    first = asked_tree(project)
    assert project.podium("reject", "--feedback", "again", "--tree", first[:10]).code == 6
    second = asked_tree(project)
    assert second != first

    for command in ("approve", "reject"):
        stale = project.podium(command, "--tree", first, "--json")
        assert stale.code == 2
        error = json.loads(stale.out)["error"]
        assert error["code"] == "stale"
        assert second[:10] in error["message"]
        assert "podium diff" in error["hint"]
    assert approvals(project) == ["reject"]

    assert project.podium("approve", "--tree", second[:10]).code == 6
    assert approvals(project) == ["reject", "approve"]


@pytest.mark.parametrize("tree", ["", "a", "0" * 40])
def test_a_tree_that_says_too_little_or_does_not_exist_is_refused(project: Project, tree: str) -> None:
    refused = project.podium("approve", "--tree", tree)

    assert refused.code == 2
    assert "the files changed after you looked at ask" in refused.err
    assert approvals(project) == []


def test_an_inbox_names_the_tree_that_the_option_takes(project: Project) -> None:
    shown = project.podium("inbox").out
    short = shown.split("tree ")[1][:10]

    assert project.podium("approve", "--tree", short).code == 6
    assert project.podium("answer", "many", "--tree", asked_tree(project)[:9]).code == 0
