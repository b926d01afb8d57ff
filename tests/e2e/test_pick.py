"""Members of a fan-out ask side by side; one is picked, the others are stopped, and its files are taken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: pick
agents:
  ann: {type: scripted, script: cast.yaml}
  bob: {type: scripted, script: cast.yaml}
  cyd: {type: scripted, script: cast.yaml}
  judge: {type: scripted, script: cast.yaml}
steps:
  solve:
    agent: [ann, bob, cyd]
    prompt: Write it.
    touches: [solution.txt]
    join: best
    pass: 1
    cancel: rest
    retry: {attempts: 1}
    gates: [{name: score, review: judge}, {name: pick, human: "Take this one?"}]
"""
CAST = [
    {
        "match": {"step": f"solve/{name}"},
        "write": {"solution.txt": f"{name}\n"},
        "cost_usd": usd,
        "text": "done",
    }
    for name, usd in (("ann", 0.2), ("bob", 0.1), ("cyd", 0.3))
] + [
    {
        "match": {"step": f"solve/{name}/score/judge"},
        "verdict": {"decision": "approve", "score": score},
    }
    for name, score in (("ann", 9), ("bob", 7), ("cyd", 8))
]


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with closing(new_project(tmp_path, {"flow.yaml": FLOW, "cast.yaml": json.dumps(CAST)})) as project:
        assert project.podium("run", "flow.yaml").code == 6
        yield project


def test_the_inbox_shows_the_members_side_by_side(project: Project) -> None:
    questions = json.loads(project.podium("inbox", "--json").out)
    assert len(questions) == 3
    for question in questions:
        proof = question["evidence"]
        rows = [(each["path"], each["score"], each["cost_usd"]) for each in proof["members"]]
        assert rows == [("solve/ann", 9, 0.2), ("solve/bob", 7, 0.1), ("solve/cyd", 8, 0.3)]
        assert proof["picks_one"]
        assert [each["tree"] for each in proof["members"] if each["question"] == question["path"]] == [
            proof["tree"]
        ]
    text = project.podium("inbox").out
    assert "beside each other, approving one stops the others:" in text
    assert "* bob: waiting, score 7, 1 of 1 passed it, $0.10" in text


@pytest.mark.req("R190")
@pytest.mark.parametrize("name", ["bob", "solve/bob", "solve/bob#1/pick"])
def test_the_picked_member_is_taken_by_its_name_although_another_has_a_higher_score(
    project: Project, name: str
) -> None:
    run = json.loads(project.podium("runs", "--json").out)[0]["run"]
    done = project.podium("approve", run, name)
    assert done.code == 0, done.err
    steps = {each["path"]: each["outcome"] for each in project.podium("show", run, "--json").data()["steps"]}
    assert (steps["solve/ann"], steps["solve/bob"], steps["solve/cyd"]) == (
        "cancelled",
        "passed",
        "cancelled",
    )
    assert "+bob" in project.podium("diff", run).out


def test_a_member_that_is_rejected_leaves_the_choice_between_the_others(project: Project) -> None:
    run = json.loads(project.podium("runs", "--json").out)[0]["run"]
    assert project.podium("reject", run, "ann", "--feedback", "Too long.").code == 6
    (question, *_) = json.loads(project.podium("inbox", "--json").out)
    states = {each["path"]: each["status"] for each in question["evidence"]["members"]}
    assert states == {"solve/ann": "failed", "solve/bob": "waiting", "solve/cyd": "waiting"}
    assert project.podium("approve", run, "cyd").code == 0
