"""Histories of earlier runs are replayed by this version, with its rules and with changed ones.

After an intended change of the order of activities: python -m tests.temporal.test_golden_histories HISTORY.json NAME
"""

from __future__ import annotations

import asyncio
import gzip
import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("temporalio")
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer, UnsandboxedWorkflowRunner

from podium.core.decide import decide
from podium.temporal.payloads import converter
from podium.temporal.workflow import RunWorkflow

GOLDEN = Path(__file__).parents[1] / "golden" / "histories"
NAMES = sorted(path.name for path in GOLDEN.glob("*.json.gz"))


def read(name: str) -> WorkflowHistory:
    return WorkflowHistory.from_json(name, gzip.decompress((GOLDEN / name).read_bytes()).decode())


async def replay(name: str) -> None:
    await replay_history(read(name))


async def replay_history(history: WorkflowHistory) -> None:
    with ThreadPoolExecutor(1) as executor:
        replayer = Replayer(
            workflows=[RunWorkflow],
            data_converter=converter(None),
            workflow_runner=UnsandboxedWorkflowRunner(),
            workflow_task_executor=executor,
        )
        await replayer.replay_workflow(history)


def test_there_are_histories() -> None:
    assert len(NAMES) >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_history_is_replayed(name: str) -> None:
    asyncio.run(replay(name))


@pytest.mark.parametrize("name", NAMES)
def test_a_stored_history_is_replayed_by_a_version_with_other_rules(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decisions are recorded, so a replay never asks for one."""

    def decided(*_: Any) -> Any:
        raise AssertionError("a replay has made a decision")

    monkeypatch.setattr(decide, "settle", decided)
    monkeypatch.setattr("podium.core.turn.settle", decided)
    asyncio.run(replay(name))


def test_a_history_of_another_order_of_activities_is_noticed() -> None:
    from temporalio.workflow import NondeterminismError

    name = NAMES[0]
    history = json.loads(gzip.decompress((GOLDEN / name).read_bytes()))
    for event in history["events"]:
        scheduled = event.get("activityTaskScheduledEventAttributes")
        if scheduled:
            scheduled["activityType"]["name"] = "another"
    changed = WorkflowHistory.from_json(name, json.dumps(history))
    with pytest.raises(NondeterminismError):
        asyncio.run(replay_history(changed))


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), GOLDEN / f"{sys.argv[2]}.json.gz"
    GOLDEN.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as history, gzip.GzipFile(target, "wb", mtime=0) as packed:
        shutil.copyfileobj(history, packed)
