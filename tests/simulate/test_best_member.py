"""The output of a list of agents of which the best is kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.app.author.load import open_workflow
from podium.simulate.random_world import RandomWorld
from podium.simulate.run import simulate

FLOW = """\
podium: 1
name: flow
outputs: {text: "${{ upper(steps.draft.output) }}"}
steps:
  draft: {agent: [claude, gemini], prompt: Write., touches: [], join: best, pass: any}
  next: {agent: claude, prompt: Go on., touches: []}
"""


@pytest.mark.req("R106")
def test_the_output_of_the_best_member_is_that_of_the_step(tmp_path: Path) -> None:
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW.replace("  next:", "  more:"))
    workflow = open_workflow(path)

    states = [simulate(workflow, RandomWorld(seed)).state for seed in range(12)]

    passed = [state.ended for state in states if state.ended is not None and state.ended.status == "passed"]
    assert passed
    assert all(isinstance(dict(end.outputs)["text"], str) for end in passed)
