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
from tests.crash.stories import STORIES, Story
from tests.crash.story import FILES
from tests.e2e.kit import Project, closing, new_project
from tests.temporal.kit import Cluster, Server, cluster

pytestmark = pytest.mark.slow

NAMES = (
    "linear", "loop", "fan_out", "gate_failure", "review_rejection", "approval", "sub_workflow", "for_each", "landing",
    "landing_in_sandbox",
)  # fmt: skip
PARALLEL = ("fan_out", "for_each", "everything")
EVERYTHING = Story("", files=FILES, landed=1)
OF_THE_MOMENT = {
    "at", "due", "run", "commit", "timeout", "seq", "started_at", "ended_at", "duration_ms", "ms", "since", "base_commit",
    "machine", "host", "worker",
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


def carry_out(project: Project, story: Story, *options: str) -> str:
    """Run a story to its end, and answer what it asks."""
    ended = project.podium("run", "workflows/w.yaml", "--json", *options)
    assert ended.code in (0, 6, story.code), ended.err
    run: str = ended.data()["run"]
    for path, (command, *rest) in story.answers.items():
        answered = project.podium(command, run, path, *rest)
        assert answered.code in (0, 6), answered.err
        project.podium("resume", run, "--json")
    return run


@pytest.mark.parametrize("name", [*NAMES, "everything"])
def test_a_workflow_gives_the_same_log_on_one_machine_and_on_workers(
    name: str, server: Server, tmp_path: Path
) -> None:
    story = EVERYTHING if name == "everything" else STORIES[name]
    with cluster(server, tmp_path / "a", story.all_files()) as made:
        _compare(made, story, tmp_path, is_parallel=name in PARALLEL)


def _compare(made: Cluster, story: Story, tmp_path: Path, *, is_parallel: bool) -> None:
    made.start_worker()
    remote = carry_out(made.project, story, "--on", made.server.address)
    with closing(new_project(tmp_path / "b", story.all_files())) as alone:
        local = carry_out(alone, story)
        expected, tree = log(alone, local, is_parallel=is_parallel), final_tree(alone, local)
    found = log(made.project, remote, is_parallel=is_parallel)

    assert by_step(found) == by_step(expected)
    assert final_tree(made.project, remote) == tree
    if not is_parallel:
        # As text, so that the order of keys counts, which prompts and expressions can show.
        assert json.dumps(found) == json.dumps(expected)
    verified = made.project.podium("verify", remote)
    assert verified.code == 0, verified.err
    for command in ("show", "diff", "costs", "logs"):
        looked = made.project.podium(command, remote)
        assert looked.code == 0, looked.err
    if story.landed:
        assert len(made.branch()) == 1 + story.landed
