"""Every effect of real runs, carried out by a process that gets only JSON, leaves the same log as an ordinary run."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.attempt.site import Site
from podium.core.codec import decode, encode
from podium.core.effects import AskPerson, RunAttempt
from podium.core.messages import Approve, Report
from podium.engine import effects
from podium.runtime.commands import ManualWorkDone
from podium.tasks import codec
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


@dataclass
class Others:
    """Carries out tasks in other processes, one process per task."""

    root: Path
    kinds: Counter[str] = field(default_factory=Counter)

    async def perform(self, task: Task, site: Site) -> Report | None:
        self.kinds[type(task).__name__ if not hasattr(task, "work") else type(task.work).__name__] += 1
        message = {"task": codec.encode(task), "context": codec.encode(site.context)}
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
    """The log of a run whose people approve everything and do their work at once."""
    shutil.copytree(EXAMPLES / example, folder, dirs_exist_ok=True)
    project = Project(folder)
    project.commit()
    run, state = project.run(folder / file, inputs)
    while state.ended is None:
        for effect in [effect for _, effect in state.pending.items()]:
            if isinstance(effect, AskPerson):
                project.say(run, Approve(effect.asked.path, "approve", "ann"))
            elif isinstance(effect, RunAttempt) and effect.by_hand:
                project.say(run, ManualWorkDone(effect.asked.path, "ann", "done"))
        state = project.resume(run)
    return [encode(event) for event in project.events(run)]


def comparable(log: list[dict[str, Any]], folder: Path) -> list[Any]:
    """Without what differs from run to run: times, the run's name, folders."""
    run = str(log[0]["run"]["id"])
    text = json.dumps([_timeless(event) for event in log])
    events: list[Any] = json.loads(text.replace(run, "RUN").replace(str(folder), "FOLDER"))
    return events


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: _timeless(inner) for key, inner in value.items() if key not in ("at", "due", "date", "base")
        }
    return [_timeless(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.parametrize(("example", "file", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_another_process_leaves_the_same_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: str, file: str, inputs: Mapping[str, Any]
) -> None:
    ordinary = play(tmp_path / "ordinary" / "project", example, file, inputs)
    others = Others(tmp_path / "others" / "project")
    monkeypatch.setattr(effects, "perform", others.perform)

    sent = play(others.root, example, file, inputs)

    assert others.kinds, "no task was sent"
    expected = comparable(ordinary, tmp_path / "ordinary" / "project")
    for got, wanted in zip(comparable(sent, others.root), expected, strict=False):
        assert got == wanted
    assert len(sent) == len(expected)
