"""The same workflow gives the same log on one machine and on workers: kinds of events, addresses, outcomes, trees.

Times, the owner of the run and the names of commits, which contain times, may differ.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from tests.crash.stories import STORIES, TEAM, Story
from tests.crash.story import FILES
from tests.e2e.kit import Project, closing, new_project, until
from tests.temporal.kit import Cluster, Server, cluster

pytestmark = pytest.mark.slow

NAMES = (
    "linear", "loop", "fan_out", "gate_failure", "review_rejection", "approval", "sub_workflow", "for_each", "landing",
    "landing_in_sandbox", "several_branches", "series", "memory", "team", "everything",
)  # fmt: skip
PARALLEL = ("fan_out", "for_each", "everything", "memory")
AT_HOME = ("memory",)
HOME_FLOW = """\
podium: 1
name: story
steps:
  write: {agent: human, prompt: Write it., touches: [hand.txt]}
  place: {run: {script: "echo placed > placed.txt"}, workspace: inplace, touches: [placed.txt], recovery: ask}
  drop: {wait: {file: dropped.txt}}
  look: {run: [cat, hand.txt]}
"""
OTHERS = {"everything": Story("", files=FILES, landed=1), **TEAM}
OF_THE_MOMENT = {
    "at", "due", "run", "commit", "timeout", "seq", "started_at", "ended_at", "duration_ms", "ms", "since", "base_commit",
    "machine", "host", "worker",
    # The ids, the last hash and the working time of the runs of a series.
    "continued_by", "first", "previous", "previous_hash", "carried_time", "carried_steps", "time",
}  # fmt: skip


COMMIT = re.compile(r"\b[0-9a-f]{12}\b")
TREES = {"tree", "base", "start", "onto", "fork", "members", "key", "head"}
"""What depends on which of several steps was joined first."""


def lasting(value: Any, without: frozenset[str]) -> Any:
    match value:
        case dict():
            kept = {key: lasting(inner, without) for key, inner in value.items() if key not in without}
            # A digest of a text that names a commit.
            return {key: inner for key, inner in kept.items() if key != "digest" or "COMMIT" not in str(kept)}
        case list():
            return [lasting(inner, without) for inner in value]
        case str():
            return COMMIT.sub("COMMIT", value)
        case _:
            return value


def log(project: Project, run: str, *, is_parallel: bool) -> list[Any]:
    """The events without what may differ; a new owner is an event of one machine only."""
    without = frozenset(OF_THE_MOMENT | (TREES if is_parallel else set()))
    # Whether work waits for its turn to be joined is a matter of time, too.
    left_out = ("RunRecovered", "JoinQueued") if is_parallel else ("RunRecovered",)
    records = (record for record in project.records(RunId(run)) if record.type not in left_out)
    return [(record.type, lasting(json.loads(record.body), without)) for record in records]


def final_tree(project: Project, run: str) -> Any:
    return [event for event in project.events(RunId(run)) if event["type"] == "StepEnded"][-1].get("tree")


def by_step(events: list[Any]) -> dict[str, list[Any]]:
    """The events of each address; the order among parallel steps is a matter of time, and so are their ledgers."""
    steps: dict[str, list[Any]] = {}
    for kind, body in events:
        steps.setdefault(body.get("path", ""), []).append((kind, body))
    return steps


def carry_out(project: Project, story: Story, *options: str) -> list[str]:
    """Run a story to its end, and answer what it asks; the runs of its series."""
    ended = project.podium("run", "workflows/w.yaml", "--json", *options)
    assert ended.code in (0, 6, story.code), ended.err
    run: str = ended.data()["run"]
    for path, (command, *rest) in story.answers.items():
        answered = project.podium(command, run, path, *rest)
        assert answered.code in (0, 6), answered.err
        project.podium("resume", run, "--json")
    first = run.removesuffix(f"-{story.runs}") if story.runs > 1 else run
    return [first, *(f"{first}-{number}" for number in range(2, story.runs + 1))]


@pytest.mark.parametrize("name", NAMES)
def test_a_workflow_gives_the_same_log_on_one_machine_and_on_workers(
    name: str, server: Server, tmp_path: Path
) -> None:
    story = OTHERS[name] if name in OTHERS else STORIES[name]
    with cluster(server, tmp_path / "a", story.all_files()) as made:
        made.start_worker()
        if name in AT_HOME:
            made.start_home()
        for branch in story.branches:
            made.project.git("push", "-q", "podium", f"main:{branch}")
        runs = carry_out(made.project, story, "--on", made.server.address)
        with closing(new_project(tmp_path / "b", story.all_files())) as alone:
            for branch in story.branches:
                alone.git("branch", branch)
            expected = carry_out(alone, story)
            assert len(runs) == len(expected) == story.runs
            for run, other in zip(runs, expected, strict=True):
                compare(made, run, alone, other, is_parallel=name in PARALLEL)
        if story.landed:
            assert len(made.branch()) == 1 + story.landed


def compare(made: Cluster, remote: str, alone: Project, local: str, *, is_parallel: bool) -> None:
    found, expected = (
        log(*each, is_parallel=is_parallel) for each in ((made.project, remote), (alone, local))
    )
    assert by_step(found) == by_step(expected)
    assert final_tree(made.project, remote) == final_tree(alone, local)
    if not is_parallel:
        # As text, so that the order of keys counts, which prompts and expressions can show.
        assert json.dumps(found) == json.dumps(expected)
    verified = made.project.podium("verify", remote)
    assert verified.code == 0, verified.err
    for command in ("show", "diff", "costs", "logs"):
        looked = made.project.podium(command, remote)
        assert looked.code == 0, looked.err


def test_what_happens_in_the_folder_of_a_person_has_the_same_log(server: Server, tmp_path: Path) -> None:
    """By hand, in place, and a file that is waited for."""
    files = {"workflows/w.yaml": HOME_FLOW, ".podium/config.yaml": "sandbox: limits\n"}
    with cluster(server, tmp_path / "a", files) as made:
        made.start_worker()
        made.start_home()
        remote = be_the_person(made.project, "--on", made.server.address)
        with closing(new_project(tmp_path / "b", files)) as alone:
            compare(made, remote, alone, be_the_person(alone), is_parallel=False)
        assert (made.project.root / "placed.txt").read_text("utf-8") == "placed\n"


def be_the_person(project: Project, *options: str) -> str:
    started = project.podium("run", "workflows/w.yaml", "--json", *options)
    assert started.code == 6, started.err
    run: str = started.data()["run"]
    folder = project.root / f".podium/runs/{run}/by_hand/write/1/work"
    until((folder / ".git").exists, "the worktree of the person")
    (folder / "hand.txt").write_text("by hand\n", "utf-8")
    (project.root / "dropped.txt").write_text("here it is\n", "utf-8")
    done = project.podium("approve", run, "write")
    assert done.code == 0, done.err
    ended = project.podium("resume", run, "--json")
    assert ended.code == 0, ended.err
    return run
