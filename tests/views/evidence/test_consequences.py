"""What an answer leads to is said before it is given, as the file of the workflow says (R190)."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Address, Millis
from podium.views.evidence.consequences import leads_to
from podium.views.run.view import Pending
from tests.workflow.compiling import compile_text

FLOW = """\
podium: 1
name: asked
steps:
  work: {run: [make]}
  first: {human: "Go on?", on: {rejected: work}}
  inner:
    steps:
      asks: {human: "And this?", on: {rejected: end, passed: [{when: 1 == 1, to: next}, {to: end}]}}
      last: {human: "Enough?"}
  each:
    for_each: [1, 2]
    steps:
      one: {human: "This one?", on: {rejected: next}}
      stop: {human: "Stop?", on: {passed: break, rejected: {fail: "no"}}}
  gated: {run: [make], gates: [{human: "Good?", name: owner}]}
  final: {human: "Land?", output: {choice: [yes, no]}}
"""


@pytest.mark.parametrize(
    ("path", "actions", "expected"),
    [
        ("first", ("approve", "reject", "abort"), {"approve": "on to inner", "reject": "back to work", "abort": "the run ends"}),
        ("first~3", ("reject",), {"reject": "back to work"}),
        (
            "inner/asks",
            ("approve", "reject"),
            {"approve": "a condition in the file decides what follows", "reject": "inner ends"},
        ),
        ("inner/last", ("approve", "reject"), {"approve": "inner ends", "reject": "the step fails"}),
        ("each[2]/one", ("approve", "reject"), {"approve": "on to stop", "reject": "on to stop"}),
        ("each[1]/stop~2", ("approve", "reject"), {"approve": "the loop ends", "reject": "the step fails"}),
        ("gated#2/owner", ("approve", "reject"), {"approve": "the step passes if its other gates do", "reject": "the step fails"}),
        ("final", ("answer", "abort"), {"answer": "the run ends", "abort": "the run ends"}),
        ("gone", ("approve",), {}),
    ],
)  # fmt: skip
def test_each_answer_names_its_consequence(
    tmp_path: Path, path: str, actions: tuple[str, ...], expected: dict[str, str]
) -> None:
    pending = Pending(Address(path), "approval", Millis(0), actions=actions)

    assert leads_to(compile_text(tmp_path, FLOW), pending) == expected


def test_podiums_own_questions_have_no_consequence_in_the_file(tmp_path: Path) -> None:
    pending = Pending(Address("work#1/!exhausted"), "exhausted", Millis(0), actions=("retry", "fail"))

    assert leads_to(compile_text(tmp_path, FLOW), pending) == {}
