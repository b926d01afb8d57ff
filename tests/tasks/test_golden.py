"""Stored tasks are read as they were written, and the same run makes the same tasks.

After an intended change of the format: python -m tests.tasks.test_golden
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.core.codec import CodecError
from podium.core.hash_chain import RunId
from podium.tasks.run_context import AgentUse, RunContext
from podium.tasks.task_json import decode, decode_task, encode
from tests.simulate.test_examples import project
from tests.tasks.test_examples import tasks_in

GOLDEN = Path(__file__).parent / "golden"
STORIES = (("ship_change", 4), ("loops", 2), ("build", 1))
CONTEXT = RunContext(
    RunId("20260101-a"),
    base_commit="1" * 40,
    secrets=("TOKEN",),
    agents=(AgentUse("claude", {"type": "claude", "key": "TOKEN"}),),
    sandbox="limits",
)


def made(folder: Path) -> dict[str, Any]:
    """One task of each kind, by story and kind."""
    tasks: dict[str, Any] = {}
    for name, seed in STORIES:
        for task, _ in tasks_in(folder, name, seed):
            kind = type(getattr(task, "work", task)).__name__
            tasks.setdefault(f"{name}.{kind}", encode(task))
    return {**tasks, "context": encode(CONTEXT)}


def stored() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


def test_the_same_runs_make_the_stored_tasks(tmp_path: Path) -> None:
    assert json.loads(json.dumps(made(project(tmp_path)))) == stored()


@pytest.mark.parametrize("name", sorted(path.stem for path in GOLDEN.glob("*.json")))
def test_a_stored_task_is_read_and_written_unchanged(name: str) -> None:
    value = stored()[name]
    record = decode(RunContext, value) if name == "context" else decode_task(value)

    assert json.loads(json.dumps(encode(record))) == value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "Nothing"}, "unknown record type 'Nothing'"),
        ({"more": 1}, "unknown fields of (JoinTask|AttemptTask): more"),
        ({"by_hand": "yes"}, "AttemptTask.by_hand cannot be 'yes'"),
        ({"step": 3}, "AttemptTask.step cannot be 3"),
    ],
)
def test_what_is_not_a_task_is_refused(change: Mapping[str, Any], message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode_task({**stored()["ship_change.AgentWork"], **change})


def test_a_task_without_its_step_or_of_another_class_is_refused() -> None:
    value = stored()["ship_change.AgentWork"]

    with pytest.raises(CodecError, match="missing fields of AttemptTask: step"):
        decode_task({key: inner for key, inner in value.items() if key != "step"})
    with pytest.raises(CodecError, match="expected a task, not RunContext"):
        decode_task(encode(CONTEXT))
    with pytest.raises(CodecError, match="expected RunContext, not AttemptTask"):
        decode(RunContext, value)


@pytest.mark.parametrize("value", [object(), {1: 2}, {"a": {1, 2}}])
def test_what_is_not_json_cannot_be_part_of_a_task(value: object) -> None:
    with pytest.raises(CodecError):
        encode(value)


def write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, value in made(project(Path(folder))).items():
            (GOLDEN / f"{name}.json").write_text(json.dumps(value, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    write()
