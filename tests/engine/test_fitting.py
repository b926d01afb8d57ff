"""A person's answer is held against what the question asks for, whichever way it comes."""

from __future__ import annotations

from typing import Any

import pytest

from podium.core.chain import RunId
from podium.core.messages import Approve
from podium.core.words import Path as StepPath
from podium.errors import ConfigurationError
from tests.engine.kit import Project, output

SHAPE = "{schema: {n: int}}"


def asked(project: Project, wanted: str) -> RunId:
    run, _ = project.run(project.flow(f"  ask: {{human: 'Which?', output: {wanted}}}\n"))
    return run


def answer(value: Any, text: str = "") -> Approve:
    return Approve(StepPath("ask"), "answer", "ann", text, value)


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("wanted", "value", "why"),
    [
        (SHAPE, {"n": "x"}, r"\$\.n: .*integer"),
        (SHAPE, "hello", "the answer is not"),
        (SHAPE, None, "asks for a value, and none was given"),
        ("text", None, "asks for a value, and none was given"),
        ("{choice: [red, blue]}", "green", "not one of red, blue"),
        ("lines", [1, 2], "not a list of lines"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_the_reason_and_the_question_stays_open(
    project: Project, wanted: str, value: Any, why: str
) -> None:
    run = asked(project, wanted)

    with pytest.raises(ConfigurationError, match=why):
        project.say(run, answer(value))

    assert [pending.path for pending in project.view(run).pending] == ["ask"]
    assert project.office.store.letters(run) == ()


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("wanted", "message", "value"),
    [
        (SHAPE, answer({"n": 3}), {"n": 3}),
        (SHAPE, answer(None, '{"n": 3}'), {"n": 3}),
        ("json", answer("hello"), "hello"),
        ("text", answer("hello"), "hello"),
        ("text", answer(None, "hello"), "hello"),
        ("text", answer(3), "3"),
        ("{choice: ['1', '2']}", answer(2), "2"),
        ("lines", answer("a\nb"), ["a", "b"]),
        ("lines", answer(["a", "b"]), ["a", "b"]),
    ],
)
def test_a_value_that_fits_is_what_the_step_gives(
    project: Project, wanted: str, message: Approve, value: Any
) -> None:
    state = project.say(asked(project, wanted), message).state

    assert state is not None
    assert output(state, "ask") == value
