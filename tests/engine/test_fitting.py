"""A person's answer is held against what the question asks for, whichever way it comes."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from podium.app.run.serve import Service
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Cancel
from podium.core.types import Address
from podium.errors import ConfigurationError
from podium.ports.runtime import DrivenRun
from tests.engine.kit import Project, drive, output

SHAPE = "{schema: {n: int}}"


def asked(project: Project, wanted: str | None) -> RunId:
    what = "" if wanted is None else f", output: {wanted}"
    run, _ = project.run(project.flow(f"  ask: {{human: 'Which?'{what}}}\n"))
    return run


def answer(value: Any, text: str = "") -> Approve:
    return Approve(Address("ask"), "answer", "ann", text, value)


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("wanted", "value", "why"),
    [
        (SHAPE, {"n": "x"}, r"\bn: .*integer"),
        (SHAPE, "hello", "the answer does not match"),
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
    assert project.store.commands(run) == ()


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


def letterbox(project: Project) -> Path:
    (file,) = (project.root / ".podium/inbox").glob("*.yaml")
    return file


def fill_in(file: Path, key: str, words: str) -> None:
    file.write_text(file.read_text("utf-8").replace(f"{key}:\n", f"{key}: {words}\n"), "utf-8")


@pytest.mark.req("R193")
@pytest.mark.parametrize(("key", "words"), [("value", "blue"), ("answer", "blue"), ("value", "\n  blue")])
def test_a_file_says_which_values_there_are_and_takes_one(project: Project, key: str, words: str) -> None:
    run = asked(project, "{choice: [red, blue]}")
    file = letterbox(project)
    text = file.read_text("utf-8")
    service = Service(project.facade, tell=lambda _: None)
    service.note(run)
    fill_in(file, key, words)

    ready = service.ready()
    state = project.resume(run)

    assert "# Write one of red, blue after `value:` and save, or abort after `answer:`." in text
    assert [why for _, why in ready] == ["its inbox has an answer"]
    assert output(state, "ask") == "blue"


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("wanted", "key", "words", "why"),
    [
        (SHAPE, "value", "{n: x}", "n: "),
        ("{choice: [red, blue]}", "answer", "green", "red, blue"),
        (None, "answer", "yes", "choose from approve, reject, abort"),
    ],
)
def test_what_does_not_fit_in_a_file_is_told_beside_it_and_by_whoever_reads_it(
    project: Project, wanted: str | None, key: str, words: str, why: str
) -> None:
    run = asked(project, wanted)
    file = letterbox(project)
    fill_in(file, key, words)
    told: list[str] = []

    def listen(driven: DrivenRun) -> None:
        told[:] = driven.refused

    state = drive(project.facade, run, park=True, on_turn=listen)

    reason = file.with_suffix(".refused")
    assert state.ended is None
    assert (len(told), why in told[0], why in reason.read_text("utf-8")) == (1, True, True)
    project.say(run, Cancel("ann"))
    assert list(file.parent.iterdir()) == []


@pytest.mark.req("R193")
@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"answer: approve: x\n", "yaml:1:"),
        (b"answer: approve\nanswer: reject\n", "answer"),
        (b"answer: approve\nfeedbck: no\n", '"feedbck" is not a field of an answer'),
        (b"answer: approve\nfeedback: [a, b]\n", "feedback is not text"),
        (b"answer: approve\nby: 7\n", "by is not text"),
        (b"- approve\n", "this is not a map"),
        (b"answer: \xff\n", "the file is not UTF-8"),
        (b"#" * (1 << 20) + b"\nanswer: approve\n", "more than 1048576 bytes"),
        (b"answer: {a: " * 500, "yaml:1:"),
    ],
)
def test_a_file_that_cannot_be_read_says_why_beside_it(project: Project, content: bytes, why: str) -> None:
    run = asked(project, None)
    file = letterbox(project)
    file.write_bytes(content)

    assert drive(project.facade, run, park=True).ended is None
    assert why in file.with_suffix(".refused").read_text("utf-8")
    assert file.read_bytes() == content


def test_a_pipe_or_a_link_in_place_of_a_file_is_refused_at_once(project: Project) -> None:
    run = asked(project, None)
    file = letterbox(project)
    for is_pipe in (True, False):
        file.unlink()
        os.mkfifo(file) if is_pipe else file.symlink_to("/dev/zero")
        assert drive(project.facade, run, park=True).ended is None
        assert file.with_suffix(".refused").read_text("utf-8")
    project.say(run, Cancel("ann"))


def test_no_escape_sequence_of_an_agent_is_in_a_question(project: Project) -> None:
    hostile = "\x1b]0;owned\x07 \x1b[2J \u202e \x9b31m \r hidden"
    flow = f"  first: {{run: [printf, '%s', {json.dumps(hostile)}], output: text}}\n"
    project.run(project.flow(f"{flow}  ask: {{human: 'Is this right: {{{{ steps.first.output }}}}?'}}\n"))

    text = letterbox(project).read_text("utf-8")

    assert "hidden" in text and "\\u202e" in text
    assert not [char for char in text if char != "\n" and not char.isprintable()]


def test_a_file_that_was_mended_has_no_reason_beside_it(project: Project) -> None:
    run = asked(project, SHAPE)
    file = letterbox(project)
    fill_in(file, "value", "{n: x}")
    project.resume(run)
    file.write_text(file.read_text("utf-8").replace("value: {n: x}", "value:"), "utf-8")

    project.resume(run)

    assert list(file.parent.iterdir()) == [file]
