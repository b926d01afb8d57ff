"""A used-up quota in a simulation is handled as in a run: the call is not made."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.core.addresses import ROOT
from podium.simulate.run import simulate
from podium.simulate.scripted_world import ScriptedWorld
from podium.workflow.scripted.cast import read_cast

FLOW = """\
podium: 1
name: flow
limits: {calls: 2}
steps:
  a: {agent: claude, prompt: x, touches: []}
  b: {agent: claude, fallback: [codex], prompt: x, touches: []}
"""


@pytest.mark.parametrize(
    ("usage", "status", "calls"), [("", "passed", 2), (", usage: {input: 5, output: 0}", "failed", 2)]
)
def test_a_refused_call_leaves_its_share_to_the_fallback(
    tmp_path: Path, usage: str, status: str, calls: int
) -> None:
    """Unless the call used something before it was refused."""
    (tmp_path / "flow.yaml").write_text(FLOW)
    (tmp_path / "cast.yaml").write_text(f"- {{match: {{step: b, attempt: 1}}, error: quota{usage}}}\n")
    world = ScriptedWorld(read_cast(tmp_path / "cast.yaml"))

    state = simulate(open_workflow(tmp_path / "flow.yaml"), world, inputs={}).state

    assert state.ended is not None
    assert (state.ended.outcome, state.ledgers[ROOT].spent.calls) == (status, calls)
