"""Every step of a workflow is listed with its address, before any run."""

from __future__ import annotations

from pathlib import Path

from podium.core.queries.steps import all_steps, children_of, inner_steps, top_steps
from tests.workflow.compiling import compile_text

FLOW = """
roles: {w: {agent: claude, prompt: x}}
steps:
  each:
    for_each: [1, 2]
    run: [echo, x]
  rounds:
    repeat: {until: "true", max: 2}
    steps:
      turn: {run: [echo, x]}
  block:
    steps:
      work: {role: w, gates: [{name: proof, run: "true"}]}
  called: {workflow: other.yaml}
  look: {review: [w, w], of: block}
finally:
  last: {run: [echo, x]}
"""
OTHER = "podium: 1\nname: other\nsteps:\n  inner: {run: [echo, x]}\n"


def test_loops_blocks_gates_and_called_workflows_are_walked(tmp_path: Path) -> None:
    workflow = compile_text(tmp_path, FLOW, {"other.yaml": OTHER})

    addresses = [str(path) for path, _, _ in all_steps(workflow)]

    for address in (
        "each",
        "rounds",
        "rounds/turn",
        "block/work",
        "block/work#",
        "block/work#/proof",
        "called/inner",
    ):
        assert address in addresses
    assert any(address.startswith("look/") for address in addresses)
    assert any("last" in address for address in addresses)


def test_the_children_of_a_step_are_those_written_in_it(tmp_path: Path) -> None:
    workflow = compile_text(tmp_path, FLOW, {"other.yaml": OTHER})
    steps = {step.name: step for step in top_steps(workflow)}

    assert [child.name for child in children_of(steps["called"].verb)] == ["inner"]  # type: ignore[arg-type]
    assert children_of(steps["each"].verb) == ()  # type: ignore[arg-type]
    assert [child.name for child in inner_steps(steps["block"])] == ["work"]
    assert len(inner_steps(steps["each"])) == 1
    assert inner_steps(inner_steps(steps["each"])[0]) == ()
