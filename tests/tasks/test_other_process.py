"""Every effect of real runs, carried out by a process that gets only JSON, leaves the same log as an ordinary run."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.attempt.host import Host
from podium.core.codec import decode, encode
from podium.core.effects import AskPerson, RunAttempt
from podium.core.messages import Approve, Report
from podium.ports.runtime import ManualWorkDone
from podium.runtime import effects
from podium.tasks import task_json
from podium.tasks.task import Task
from tests.engine.kit import Project

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

# example, file, inputs
CASES: list[tuple[str, str, Mapping[str, Any]]] = [
    ("content_pipeline", "workflow.yaml", {}),
    ("enterprise", "workflow.yaml", {"task": "Greet by name"}),
    ("fix_failing_ci", "workflow.yaml", {}),
    ("from_hand_to_agents", "4_gates.yaml", {}),
    ("merge_queue", "workflow.yaml", {}),
    ("migrate_each_file", "workflow.yaml", {}),
    ("nightly_deps", "workflow.yaml", {}),
    ("panel", "workflow.yaml", {"task": "Announce version 2 by the story"}),
    ("plan_to_commit", "workflow.yaml", {"task": "Times become minutes"}),
    ("review_loop", "workflow.yaml", {"task": "Add up prices"}),
    ("scan_fix_verify", "workflow.yaml", {}),
    ("slogan", "workflow.yaml", {"product": "bicycles"}),
    ("steps_demo", "workflow.yaml", {}),
]


TIMED = frozenset({"at", "due", "date", "expires", "timeout", "commit", "base", "key", "digest", "likeness"})
"""Points in time, what is left of it, and what is computed from texts that tell it or name a workspace."""

VARYING = re.compile(r"\d+\.\d+ ?s\b|(?<=/)c[0-9a-f]{8}\b|\b[0-9a-f]{12}\b")
"""Durations, the random name of a workspace, the short name of a commit."""


@dataclass
class Others:
    """Carries out tasks in other processes, one process per task."""

    root: Path
    kinds: Counter[str] = field(default_factory=Counter)

    async def perform(self, task: Task, host: Host) -> Report | None:
        self.kinds[type(task).__name__ if not hasattr(task, "work") else type(task.work).__name__] += 1
        message = {"task": task_json.encode(task), "context": task_json.encode(host.context)}
        done = await anyio.run_process(
            [sys.executable, "-m", "tests.tasks.child", str(self.root)],
            input=json.dumps(message).encode(),
            cwd=ROOT,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode()
        report = json.loads(done.stdout)
        return None if report is None else decode(report)  # type: ignore[return-value]  # an event that reports


def play(folder: Path, example: str, file: str, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The log of a run of an example."""
    shutil.copytree(EXAMPLES / example, folder, dirs_exist_ok=True)
    return run_to_end(folder, file, inputs)


def run_to_end(folder: Path, file: str, inputs: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The log of a run whose people approve everything and do their work at once."""
    project = Project(folder)
    project.commit()
    run, state = project.run(folder / file, inputs, settings={"max_parallel": 1})
    while state.ended is None:
        for effect in [effect for _, effect in state.pending.items()]:
            if isinstance(effect, AskPerson):
                project.say(run, Approve(effect.request.path, "approve", "ann"))
            elif isinstance(effect, RunAttempt) and effect.by_hand:
                project.say(run, ManualWorkDone(effect.started.path, "ann", "done"))
        state = project.resume(run)
    return [encode(event) for event in project.events(run)]


def comparable(log: list[dict[str, Any]]) -> list[Any]:
    """Without what differs from run to run: times, what is computed from them, and the run's name."""
    run = str(log[0]["run"]["id"])
    text = json.dumps([_timeless(event) for event in log])
    events: list[Any] = json.loads(re.sub(VARYING, "", text.replace(run, "RUN")))
    return events


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(inner) for key, inner in value.items() if key not in TIMED}
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("example", "file", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_another_process_leaves_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str, file: str, inputs: Mapping[str, Any]
) -> None:
    first = play(tmp_path / "project", example, file, inputs)
    shutil.rmtree(tmp_path / "project")
    others = Others(tmp_path / "project")
    monkeypatch.setattr(effects, "perform", others.perform)

    second = play(others.root, example, file, inputs)

    assert others.kinds, "no task was sent"
    for in_other_process, event in zip(comparable(second), comparable(first), strict=False):
        assert in_other_process == event
    assert len(second) == len(first)
    assert first_key(second) == first_key(first), "an earlier answer would not be found again"


def first_key(log: list[dict[str, Any]]) -> str:
    """What the first attempt was asked, as a hash."""
    return next(str(event["key"]) for event in log if event.get("key"))


WAITING = """
podium: 1
name: waiting
agents: {w: {type: scripted, script: cast.yaml}}
steps:
  there: {run: [cat, README.md], when: 'exists("README.md")'}
  file: {wait: {file: ready.txt}}
  polled: {wait: {poll: [cat, ready.txt], every: 1s}}
  both:
    parallel: 2
    steps:
      one: {agent: w, prompt: Write one., touches: [one.txt], gates: [{run: [cat, one.txt]}]}
      two: {agent: w, prompt: Write two., touches: [two.txt], gates: [{run: [cat, two.txt]}]}
"""
CAST = """
- {match: {step: both/one}, write: {one.txt: "1"}}
- {match: {step: both/two}, write: {two.txt: "2"}}
"""


def test_waits_questions_about_files_and_joins_are_carried_out_by_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    others = Others(tmp_path / "project")
    others.root.mkdir()
    for name, text in (("flow.yaml", WAITING), ("cast.yaml", CAST), ("ready.txt", "now\n")):
        (others.root / name).write_text(text)
    monkeypatch.setattr(effects, "perform", others.perform)

    log = run_to_end(others.root, "flow.yaml", {})

    assert log[-1]["status"] == "passed", log[-5:]
    assert {"FactTask", "WatchTask", "JoinTask", "AgentWork", "CommandWork"} <= others.kinds.keys()
