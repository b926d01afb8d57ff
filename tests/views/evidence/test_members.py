"""A question about one member of a fan-out knows the fan-out, the member, and whether approving stops the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.core.types import Address, Millis
from podium.views.evidence.consequences import leads_to
from podium.views.evidence.fan_out import fan_out_of
from podium.views.evidence.members import member_path
from podium.views.run.view import Pending
from tests.workflow.compiling import compile_text

FLOW = """\
podium: 1
name: asked
agents: {ann: {type: scripted}, bob: {type: scripted}}
steps:
  plain: {run: [make], gates: [{name: pick, human: "Good?"}]}
  solve:
    agent: [ann, bob]
    prompt: Do it.
    touches: [a.txt]
    join: best
    pass: 1
    cancel: rest
    gates: [{name: pick, human: "This one?"}]
  all: {agent: [ann, bob], prompt: Do it., touches: [], gates: [{name: ok, human: "Good?"}]}
  each:
    for_each: [1, 2]
    parallel: true
    pass: any
    cancel: rest
    steps:
      work: {run: [make], gates: [{name: pick, human: "This one?"}]}
  sides:
    parallel: true
    steps:
      left: {human: "Left?"}
      right: {run: [make]}
  last: {human: "Land?"}
"""


@pytest.mark.parametrize(
    ("path", "fan", "member", "picks_one"),
    [
        ("plain#1/pick", None, None, False),
        ("solve/bob#1/pick", "solve", "solve/bob", True),
        ("solve~2/ann#3/pick", "solve", "solve~2/ann", True),
        ("all/ann#1/ok", "all", "all/ann", False),
        ("each[2]/work#1/pick", "each", "each[2]", True),
        ("sides/left", "sides", "sides/left", False),
        ("last", None, None, False),
        ("gone/ann#1/pick", None, None, False),
    ],
)
def test_the_member_that_a_question_is_about(
    tmp_path: Path, path: str, fan: str | None, member: str | None, picks_one: bool
) -> None:
    found = fan_out_of(compile_text(tmp_path, FLOW), Address(path))
    assert (None if found is None else found.path) == fan
    if found is not None:
        assert member_path(found, Address(path)) == member
        assert found.picks_one == picks_one


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("solve/bob#1/pick", "bob is taken, the others are stopped"),
        ("all/ann#1/ok", "the step passes if its other gates do"),
        ("plain#1/pick", "the step passes if its other gates do"),
    ],
)
def test_approving_says_what_becomes_of_the_others(tmp_path: Path, path: str, word: str) -> None:
    pending = Pending(Address(path), "approval", Millis(0), actions=("approve",))
    assert leads_to(compile_text(tmp_path, FLOW), pending) == {"approve": word}
