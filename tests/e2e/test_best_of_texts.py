"""R106: several drafts, reviewed at the same time; the best text goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = [pytest.mark.slow, pytest.mark.req("R106")]

FLOW = """\
podium: 1
agents:
  ann: {type: scripted, script: cast.yaml}
  ben: {type: scripted, script: cast.yaml}
  cid: {type: scripted, script: cast.yaml}
  judge: {type: scripted, script: cast.yaml}
steps:
  draft:
    agent: [ann, ben, cid]
    prompt: Write a slogan.
    touches: []
    gates: [{review: judge}]
    join: best
  polish:
    agent: ann
    prompt: Polish what you are given.
    touches: []
  print: {run: [echo, "${{ steps.draft.output }}"], output: {file: slogan.txt}}
"""
CAST = """\
- {match: {step: polish}, text: polished}
- {match: {prompt: Good enough}, verdict: {decision: approve, score: 6}}
- {match: {prompt: The best}, verdict: {decision: approve, score: 9}}
- {match: {prompt: Not bad}, verdict: {decision: approve, score: 7}}
- {match: {step: draft/ann}, text: "Good enough\\nfor now"}
- {match: {step: draft/ben}, text: "The best\\nof all"}
- {match: {step: draft/cid}, text: "Not bad\\nat all"}
"""


def test_only_the_best_of_several_texts_is_handed_on(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"flow.yaml": FLOW, "cast.yaml": CAST})) as project:
        done = project.podium("run", "flow.yaml", "--sandbox", "none")

        assert done.code == 0, done.err
        [printed] = project.root.glob(".podium/runs/*/artifacts/print/slogan.txt")
        assert printed.read_text() == "The best\nof all\n"
        [prompt] = project.root.glob(".podium/runs/*/agent_logs/polish/1/prompt.md")
        text = prompt.read_text()
        assert "The best" in text
        assert "Not bad" not in text
        assert "Good enough" not in text
