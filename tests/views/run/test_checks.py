"""A failed check shows its expression, also in the stored view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from podium.views.files.run_json import run_data
from podium.views.files.summary import summary_text
from podium.views.run.builder import run_view
from podium.views.run.questions import with_state
from podium.views.run.stored_text import with_stored
from podium.views.text.terminal import run_lines
from tests.views.kit import tell

FLOW = """\
podium: 1
name: checked
inputs: {n: {type: int, default: 3}}
steps:
  inner:
    steps:
      fine: {check: inputs.n > 2}
      wrong: {check: "EXPRESSION"}
  never: {run: [ls]}
finally:
  after: {run: [ls]}
"""


@pytest.mark.parametrize(
    "expression",
    [
        "inputs.n > 4 and inputs.n < 9",
        "(inputs.n + 1) * 2 == 3",
        "not (inputs.n == 3 or (inputs.n > 1 and inputs.n < 9))",
        "inputs.n in [1, 2] or run.branch == 'x'",
        "(false if inputs.n > 1 else true) == true",
        "default(inputs['n'], null) == -5",
    ],
)
def test_a_failed_check_shows_its_expression_and_line(tmp_path: Path, expression: str) -> None:
    told = tell(tmp_path, flow=FLOW.replace("EXPRESSION", expression), cast=None, n=3)

    view = with_state(run_view(told.events), told.state)

    why = f"not true: {expression} (line 8)"
    assert [step.message for step in view.steps if step.path == "inner/wrong"] == [why]
    assert view.message == f"inner/wrong: {why}"
    assert "inner/wrong: not true: " in summary_text(view)
    stored = json.loads(json.dumps(run_data(view)))
    again = with_stored(run_view(told.events), stored)
    assert list(run_lines(again, view.at)) == list(run_lines(view, view.at))
