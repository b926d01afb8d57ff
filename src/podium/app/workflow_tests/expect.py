"""Compares a played run with what a test expects; every difference is reported with both sides."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any, Final

from podium.app.workflow_tests.play import Played, SentPrompt
from podium.core.addresses import without_visit
from podium.core.expressions.values import plain_json
from podium.fast_dataclass import dataclass
from podium.views.run.view import RunView, StepView
from podium.workflow.problems import did_you_mean
from podium.workflow.scripted.cast import is_named, iteration_of, place_of
from podium.workflow.scripted.test_file import (
    Bounds,
    Expect,
    FileWords,
    PromptWords,
    QuestionWords,
    StepWords,
    Words,
)

SHOWN: Final = 12
"""How many lines of a text are shown where none is close to the expected one."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was expected, and what it was instead."""

    about: str
    message: str
    difference: str = ""


def failures(expect: Expect, played: Played) -> tuple[Failure, ...]:
    return tuple(_failures(expect, played))


def _failures(expect: Expect, played: Played) -> Iterator[Failure]:
    yield from _end(expect, played)
    yield from _text("message", expect.message, played.message)
    if played.view is None or played.trace is None:
        return
    if expect.path_ is not None:
        yield from _way(expect.path_, played.view)
    for path, words in expect.steps.items():
        yield from _step(path, words, played.view)
    for prompt in expect.prompts:
        yield from _prompt(prompt, played)
    if expect.questions is not None:
        yield from _questions(expect.questions, played)
    for name, files in (
        ("files", played.files),
        ("artifacts", played.artifacts),
        ("memory", played.memory),
    ):
        for path, file_words in expect.get(name).items():
            yield from _file(f"{name}.{path}", file_words, files, path)
    for key, value in expect.outputs.items():
        yield from _value(f"outputs.{key}", value, played.outputs.get(key))
    series = played.view.series
    number, continues = (1, False) if series is None else (series.number, bool(series.next))
    if expect.number is not None and number != expect.number:
        yield Failure("number", f"expected run {expect.number} of a series, the last one was run {number}")
    if expect.continues is not None and continues != expect.continues:
        fact = "continues as a new one" if continues else "does not continue as a new one"
        yield Failure("continues", f"run {number} {fact}")
    yield from _amount("usd", expect.usd, played.trace.usd / 1_000_000, unknown=played.trace.unknown_calls)
    yield from _amount("tokens", expect.tokens, played.trace.tokens)


def _end(expect: Expect, played: Played) -> Iterator[Failure]:
    """A test that says nothing about the end expects the run to pass."""
    status = expect.status or ("passed" if expect.exit is None and expect.reason is None else None)
    reason_text = f": {played.message}" if played.message else ""
    if status is not None and played.status != status:
        yield Failure("status", f"expected {status}, the run was {played.status}{reason_text}")
    if expect.exit is not None and played.exit != expect.exit:
        yield Failure("exit", f"expected {expect.exit}, it was {played.exit}{reason_text}")
    reason = "" if played.view is None else played.view.reason
    if expect.reason is not None and reason != expect.reason:
        yield Failure("reason", f'expected "{expect.reason}", it was "{reason}"')


def _way(expected: Iterable[tuple[str, str | None]], view: RunView) -> Iterator[Failure]:
    """The steps of the top block in the order in which they ended; an outcome counts where one is expected."""
    steps = list(expected)
    ended = sorted((step for step in view.steps if _is_top(step)), key=lambda step: step.ended or 0)
    bare = {path for path, outcome in steps if outcome is None}
    actual = [step.path if step.path in bare else f"{step.path}: {step.outcome}" for step in ended]
    lines = [path if outcome is None else f"{path}: {outcome}" for path, outcome in steps]
    if actual != lines:
        yield Failure("path", "the run went another way", _difference(lines, actual))


def _is_top(step: StepView) -> bool:
    """Not inside a block, a gate or an iteration."""
    return step.role == "step" and step.ended is not None and not set("/#[") & set(step.path)


def _step(path: str, words: StepWords, view: RunView) -> Iterator[Failure]:
    about = f"steps.{path}"
    last = _last_step(path, view)
    if last is None:
        names = [step.path for step in view.steps]
        hint = did_you_mean(path, names) or f"there are {', '.join(names)}"
        yield Failure(about, f"the run never came to it; {hint}")
        return
    message = f": {last.words}" if last.words else ""
    if words.outcome is not None and last.outcome != words.outcome:
        yield Failure(about, f"expected {words.outcome}, it was {last.outcome or last.status}{message}")
    if words.reason is not None and last.reason != words.reason:
        yield Failure(about, f'expected the reason "{words.reason}", it was "{last.reason}"')
    if words.attempts is not None and last.attempts != words.attempts:
        yield Failure(about, f"expected {words.attempts} attempts, there were {last.attempts}")
    yield from _text(f"{about}.text", words.text, str(last.result.get("text") or ""))
    yield from _text(f"{about}.message", words.message, last.words)
    if words.has("output"):
        yield from _value(f"{about}.output", words.output, last.result.get("output"))


def _last_step(written: str, view: RunView) -> StepView | None:
    """The last visit of the step at this address, else the last place that a rule of the cast would mean by it."""
    steps = view.steps[::-1]
    exact = (step for step in steps if written in (step.path, without_visit(step.path)))
    named = (step for step in steps if step.role != "gates" and is_named(written, step.path))
    return next(exact, None) or next(named, None)


def _prompt(expected: PromptWords, played: Played) -> Iterator[Failure]:
    numbers = [
        f"{name} {number}"
        for name, number in (
            ("visit", expected.visit),
            ("attempt", expected.attempt),
            ("iteration", expected.iteration),
        )
        if number is not None
    ]
    about = f"prompts of {' '.join((expected.step, *numbers))}"
    prompts = [prompt for prompt in played.prompts if _is_meant(expected, prompt)]
    if not prompts:
        sent = ", ".join(f"{prompt.path} attempt {prompt.attempt}" for prompt in played.prompts) or "none"
        yield Failure(about, f"there was no such prompt; there were: {sent}")
        return
    tries = [list(_text(about, expected, prompt.prompt)) for prompt in prompts]
    if all(tries):
        yield from tries[-1]


def _is_meant(expected: PromptWords, sent: SentPrompt) -> bool:
    return (
        is_named(expected.step, sent.path)
        and expected.visit in (None, sent.visit)
        and expected.attempt in (None, sent.attempt)
        and expected.iteration in (None, iteration_of(sent.path))
    )


def _questions(expected: tuple[QuestionWords, ...], played: Played) -> Iterator[Failure]:
    pairs = zip_longest((question.step for question in expected), (each.path for each in played.questions))
    if not all(
        written is not None and path is not None and is_named(written, path) for written, path in pairs
    ):
        actual = [place_of(answered.path) for answered in played.questions]
        lines = [question.step for question in expected]
        yield Failure("questions", "other people were asked", _difference(lines, actual))
        return
    for number, (question, answered) in enumerate(zip(expected, played.questions, strict=True), start=1):
        about = f"questions {number} ({question.step})"
        yield from _text(about, question.text, answered.text)
        if question.answer is not None and question.answer != answered.answer:
            yield Failure(about, f'expected the answer "{question.answer}", it was "{answered.answer}"')


def _file(about: str, words: FileWords, files: Mapping[str, str], path: str) -> Iterator[Failure]:
    if path not in files:
        if words.exists:
            hint = did_you_mean(path, files)
            yield Failure(about, f"file not found{f'; {hint}' if hint else ''}")
    elif not words.exists:
        yield Failure(about, "it is there and should not be")
    else:
        yield from _text(about, words, files[path])


def _text(about: str, words: Words | None, text: str) -> Iterator[Failure]:
    if words is None:
        return
    if words.equals is not None and words.equals != text:
        difference = _difference(words.equals.splitlines(), text.splitlines())
        yield Failure(about, "it is not equal", difference)
    for part in words.contains:
        if part not in text:
            yield Failure(about, f"it does not contain {_quoted(part)}", _nearest(part, text))
    for part in words.lacks:
        if part in text:
            yield Failure(about, f"it contains {_quoted(part)}")
    for pattern in words.matches:
        if re.search(pattern, text, re.MULTILINE) is None:
            yield Failure(about, f"nothing matches {_quoted(pattern)}", _start(text))


def _value(about: str, expected: Any, actual: Any) -> Iterator[Failure]:
    left, right = _json(expected), _json(actual)
    if left != right:
        yield Failure(about, "it is another value", _difference(left, right))


def _amount(about: str, bounds: Bounds | None, actual: float, *, unknown: int = 0) -> Iterator[Failure]:
    if bounds is None:
        return
    if unknown:
        yield Failure(about, f"{unknown} calls have an unknown cost")
    if bounds.exactly is not None and abs(bounds.exactly - actual) > 1e-9:
        yield Failure(about, f"expected {bounds.exactly:g}, it was {actual:g}")
    if bounds.max is not None and actual > bounds.max:
        yield Failure(about, f"expected at most {bounds.max:g}, it was {actual:g}")


def _json(value: Any) -> list[str]:
    text = json.dumps(plain_json(value), indent=1, sort_keys=True, ensure_ascii=False)
    return text.splitlines()


def _difference(expected: list[str], actual: list[str]) -> str:
    lines = difflib.unified_diff(
        expected, actual, "expected", "seen", lineterm="", n=max(len(expected), len(actual))
    )
    return "\n".join(line for line in lines if not line.startswith("@@"))


def _nearest(part: str, text: str) -> str:
    """The line that comes closest, or the beginning of the text."""
    close = difflib.get_close_matches(part, text.splitlines(), n=1, cutoff=0.5)
    return f"- {part}\n+ {close[0]}" if close and "\n" not in part else _start(text)


def _start(text: str) -> str:
    lines = text.splitlines()
    more = [f"... {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    return "\n".join(("it begins:", *lines[:SHOWN], *more)) if lines else "it is empty"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
