"""People, waiting times and iterations that a test of a workflow plays."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project

pytestmark = pytest.mark.slow

FLOW = """\
podium: 1
name: flow
people: {operators: [ann, bob, eve]}
agents: {w: {type: claude}}
steps:
  each:
    for_each: {in: [red, blue], as: colour}
    agent: w
    prompt: "Paint it {{ colour }}"
    touches: []
  approve: {human: "Go?", by: [operators], approvals: 2, timeout: 1h, on: {timeout: {fail: nobody}}}
  paid: {wait: {signal: paid}, timeout: 1h, on: {timeout: {fail: not paid}}}
"""
TESTS = """\
podium: 1
project: .
tests:
  two_members_of_a_group_approve:
    cast: [{match: {step: approve}, by: bob}]
    expect:
      path: [each, approve, paid]
      prompts: [{step: each, iteration: 2, contains: blue, lacks: red}]
  nobody_answers:
    cast: [{match: {step: approve}, error: timeout}]
    expect: {status: timed_out, message: nobody}
  nobody_pays:
    cast: [{match: {step: paid}, error: timeout}]
    expect: {status: timed_out, message: not paid}
"""


def test_groups_timeouts_and_iterations_can_be_played(tmp_path: Path) -> None:
    with closing(new_project(tmp_path, {"w.yaml": FLOW, "w.test.yaml": TESTS})) as project:
        done = project.podium("test", "w.test.yaml")

        assert done.out.count("ok ") == 3, done.out
