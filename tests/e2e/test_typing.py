"""Somebody answers at the terminal that a run goes on in."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.kit import closing, new_project, until
from tests.e2e.terminal import at_a_terminal

WORKFLOW = """\
podium: 1
name: typing
steps:
  ask: {human: "How many?", output: {schema: {n: int}}}
"""


@pytest.mark.req("R193")
def test_a_typed_value_that_does_not_fit_is_refused_with_the_reason(tmp_path: Path) -> None:
    with (
        closing(new_project(tmp_path / "place", {"w.yaml": WORKFLOW})) as project,
        at_a_terminal(project, "run", "w.yaml", "--sandbox", "limits") as terminal,
    ):
        until(lambda: terminal.shows(b"type the answer, or: abort"), "the question")
        terminal.type("foo")
        until(lambda: terminal.shows(b"'ask' still waits for an answer"), "the reason")
        terminal.type('{"n": 3}')
        until(lambda: terminal.shows(b"passed"), "the end")
        assert terminal.child.wait(timeout=60) == 0


QUICK = """\
podium: 1
name: quick
steps:
  one: {check: "true"}
  two: {check: "true"}
  three: {check: "true"}
  ask: {human: "Which?", output: json}
"""


@pytest.mark.req("R213")
def test_what_led_to_a_question_stands_above_it_and_half_a_character_is_no_answer(tmp_path: Path) -> None:
    with (
        closing(new_project(tmp_path / "place", {"w.yaml": QUICK})) as project,
        at_a_terminal(project, "run", "w.yaml", "--sandbox", "limits") as terminal,
    ):
        until(lambda: terminal.shows(b"type the answer, or: abort"), "the question")
        assert b"three: passed" in terminal.seen.partition(b"? ask:")[0]
        terminal.type('["\\ud83d"]')
        until(lambda: terminal.shows(b"the answer[0] has half of a character"), "the reason")
        terminal.type("[1]")
        assert b"passed" in terminal.whole().rpartition(b"half of a character")[2]
        assert terminal.child.wait(timeout=60) == 0
