"""A compiled workflow travels to processes that must not compile it again: every example survives the way unchanged.

After an intended change of the format: python -m tests.tasks.test_workflow_json
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest

from podium.app.author.load import open_workflow
from podium.core.codec import CodecError
from podium.core.model import Workflow
from podium.core.queries.computed import entered
from podium.tasks.task_json import decode_workflow, encode_workflow
from tests.simulate.test_examples import EXAMPLES, project

ROOT = Path(__file__).parents[2]
FILES = sorted(
    path
    for path in (ROOT / "examples").rglob("*.yaml")
    if "domain_roles" not in path.parts
    and "podium:" in path.read_text("utf-8")
    and "steps:" in path.read_text("utf-8")
    and not path.name.endswith(".test.yaml")
)
GOLDEN = Path(__file__).parent / "golden_workflows"
STORED = ("patterns/saga", "patterns/work_queue", "ship_change/workflow")
OWN = sorted(path.stem for path in (EXAMPLES / "workflows").glob("*.yaml"))


def sent(workflow: Workflow) -> Workflow:
    return decode_workflow(json.loads(json.dumps(encode_workflow(workflow))))


def differences(a: Any, b: Any, where: str = "") -> Iterator[str]:
    """Where two values differ; not by ==, because some records are equal only to themselves."""
    if type(a) is not type(b):
        yield f"{where}: {type(a).__name__}, {type(b).__name__}"
    elif is_dataclass(a):
        for field in fields(a):
            yield from differences(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    elif isinstance(a, Mapping):
        if list(a) != list(b):
            yield f"{where}: {list(a)}, {list(b)}"
        for key in a.keys() & b.keys():
            yield from differences(a[key], b[key], f"{where}.{key}")
    elif hasattr(a, "setting"):
        yield from differences(a.setting, b.setting, f"{where}.setting")
    elif isinstance(a, list | tuple):
        if len(a) != len(b):
            yield f"{where}: {len(a)}, {len(b)}"
        for index, (x, y) in enumerate(zip(a, b, strict=False)):
            yield from differences(x, y, f"{where}[{index}]")
    elif a != b:
        yield f"{where}: {a!r}, {b!r}"


@pytest.mark.parametrize("file", FILES, ids=lambda path: str(path.relative_to(ROOT / "examples")))
def test_an_example_survives_the_way_unchanged(file: Path) -> None:
    workflow = open_workflow(file)
    assert list(differences(workflow, sent(workflow))) == []


@pytest.mark.parametrize("name", OWN)
def test_a_workflow_of_the_simulator_survives_the_way_unchanged(name: str, tmp_path: Path) -> None:
    workflow = open_workflow(project(tmp_path) / "workflows" / f"{name}.yaml")
    assert list(differences(workflow, sent(workflow))) == []


def test_settings_that_inputs_decide_are_decided_after_the_way(tmp_path: Path) -> None:
    file = tmp_path / "w.yaml"
    file.write_text(
        "podium: 1\nname: w\ninputs: {patience: {type: string, default: 3m}}\n"
        "steps:\n  a: {run: 'true', timeout: '${{ inputs.patience }}'}\n",
        "utf-8",
    )
    workflow = open_workflow(file)
    assert workflow.has_computed
    assert entered(sent(workflow), {"patience": "2m"}).body.steps[0].timeout == 120_000


def stored() -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(GOLDEN.glob("*.json"))}


@pytest.mark.parametrize("name", [name.replace("/", "+") for name in STORED])
def test_a_stored_workflow_is_read_and_written_unchanged(name: str) -> None:
    value = stored()[name]
    assert json.loads(json.dumps(encode_workflow(decode_workflow(value)))) == value


@pytest.mark.parametrize("name", STORED)
def test_the_examples_are_still_stored_as_they_were(name: str) -> None:
    workflow = open_workflow(ROOT / "examples" / f"{name}.yaml")
    assert json.loads(json.dumps(encode_workflow(workflow))) == stored()[name.replace("/", "+")]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({}, "not a compiled workflow"),
        ({"version": 2, "workflow": {}}, "compiled in format 2, and this version of Podium reads 1"),
        ({"version": 1, "workflow": {"type": "Workflow", "more": 1}}, "unknown fields of Workflow: more"),
        (
            {"version": 1, "workflow": {"type": "Step", "name": "a", "verb": {"type": "Set", "values": []}}},
            "expected",
        ),
    ],
)
def test_what_is_not_a_compiled_workflow_is_refused(value: Any, message: str) -> None:
    with pytest.raises(CodecError, match=message):
        decode_workflow(value)


def write() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for name in STORED:
        workflow = open_workflow(ROOT / "examples" / f"{name}.yaml")
        text = json.dumps(encode_workflow(workflow), indent=1)
        (GOLDEN / f"{name.replace('/', '+')}.json").write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    write()
