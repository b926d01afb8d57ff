"""Holds what was seen of a run against what a test expects; every difference is told, each with both sides."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from podium.app.workflow_tests.play import Seen, SentPrompt
from podium.core.addresses import without_visit
from podium.views.run.view import RunView, StepView
from podium.workflow.problems import did_you_mean
from podium.workflow.scripted.cast import place_of
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
"""So many lines of a text are shown where none of it is like what was expected."""


@dataclass(frozen=True, slots=True)
class Failure:
    """What was expected of what, and how it was instead."""

    about: str
    message: str
    difference: str = ""


def failures(expect: Expect, seen: Seen) -> tuple[Failure, ...]:
    return tuple(_failures(expect, seen))


def _failures(expect: Expect, seen: Seen) -> Iterator[Failure]:
    yield from _end(expect, seen)
    yield from _text("message", expect.message, seen.message)
    if seen.view is None or seen.trace is None:
        return
    if expect.path_ is not None:
        yield from _way(expect.path_, seen.view)
    for path, words in expect.steps.items():
        yield from _step(path, words, seen.view)
    for wanted in expect.prompts:
        yield from _prompt(wanted, seen)
    if expect.questions is not None:
        yield from _questions(expect.questions, seen)
    for name, found in (("files", seen.files), ("artifacts", seen.artifacts)):
        for path, file_words in expect.get(name).items():
            yield from _file(f"{name}.{path}", file_words, found, path)
    for key, value in expect.outputs.items():
        yield from _value(f"outputs.{key}", value, seen.outputs.get(key))
    yield from _amount("usd", expect.usd, seen.trace.usd / 1_000_000, unknown=seen.trace.unknown_calls)
    yield from _amount("tokens", expect.tokens, seen.trace.tokens)


def _end(expect: Expect, seen: Seen) -> Iterator[Failure]:
    """Without a word about its end, a run is to pass."""
    wanted = expect.status or ("passed" if expect.exit is None and expect.reason is None else None)
    told = f": {seen.message}" if seen.message else ""
    if wanted is not None and seen.status != wanted:
        yield Failure("status", f"expected {wanted}, the run was {seen.status}{told}")
    if expect.exit is not None and seen.exit != expect.exit:
        yield Failure("exit", f"expected {expect.exit}, it was {seen.exit}{told}")
    reason = "" if seen.view is None else seen.view.reason
    if expect.reason is not None and reason != expect.reason:
        yield Failure("reason", f'expected "{expect.reason}", it was "{reason}"')


def _way(expected: Iterable[tuple[str, str | None]], view: RunView) -> Iterator[Failure]:
    """The steps of the top block in the order in which they ended; an outcome counts where one is expected."""
    wanted = list(expected)
    ended = sorted((step for step in view.steps if _is_top(step)), key=lambda step: step.ended or 0)
    bare = {path for path, outcome in wanted if outcome is None}
    went = [step.path if step.path in bare else f"{step.path}: {step.outcome}" for step in ended]
    lines = [path if outcome is None else f"{path}: {outcome}" for path, outcome in wanted]
    if went != lines:
        yield Failure("path", "the run went another way", _difference(lines, went))


def _is_top(step: StepView) -> bool:
    """Neither a step of a block, nor a gate, nor one time round of a loop."""
    return step.role == "step" and step.ended is not None and not set("/#[") & set(step.path)


def _step(path: str, words: StepWords, view: RunView) -> Iterator[Failure]:
    about = f"steps.{path}"
    found = next(
        (step for step in reversed(view.steps) if path in (step.path, without_visit(step.path))), None
    )
    if found is None:
        names = [step.path for step in view.steps]
        hint = did_you_mean(path, names) or f"there are {', '.join(names)}"
        yield Failure(about, f"the run never came to it; {hint}")
        return
    told = f": {found.words}" if found.words else ""
    if words.outcome is not None and found.outcome != words.outcome:
        yield Failure(about, f"expected {words.outcome}, it was {found.outcome or found.status}{told}")
    if words.reason is not None and found.reason != words.reason:
        yield Failure(about, f'expected the reason "{words.reason}", it was "{found.reason}"')
    if words.attempts is not None and found.attempts != words.attempts:
        yield Failure(about, f"expected {words.attempts} attempts, there were {found.attempts}")
    yield from _text(f"{about}.text", words.text, str(found.result.get("text") or ""))
    yield from _text(f"{about}.message", words.message, found.words)
    if words.has("output"):
        yield from _value(f"{about}.output", words.output, found.result.get("output"))


def _prompt(wanted: PromptWords, seen: Seen) -> Iterator[Failure]:
    numbers = [
        f"{name} {number}"
        for name, number in (("visit", wanted.visit), ("attempt", wanted.attempt))
        if number is not None
    ]
    about = f"prompts of {' '.join((wanted.step, *numbers))}"
    told = [told for told in seen.prompts if _is_meant(wanted, told)]
    if not told:
        there = ", ".join(f"{told.path} attempt {told.attempt}" for told in seen.prompts) or "none"
        yield Failure(about, f"there was no such prompt; there were: {there}")
        return
    tries = [list(_text(about, wanted, one.prompt)) for one in told]
    if all(tries):
        yield from tries[-1]


def _is_meant(wanted: PromptWords, told: SentPrompt) -> bool:
    return (
        wanted.step in (told.path, place_of(told.path), place_of(told.path).rpartition("/")[2])
        and wanted.visit in (None, told.visit)
        and wanted.attempt in (None, told.attempt)
    )


def _questions(wanted: tuple[QuestionWords, ...], seen: Seen) -> Iterator[Failure]:
    there = [place_of(asked.path) for asked in seen.questions]
    lines = [question.step for question in wanted]
    if lines != there:
        yield Failure("questions", "other people were asked", _difference(lines, there))
        return
    for number, (question, asked) in enumerate(zip(wanted, seen.questions, strict=True), start=1):
        about = f"questions {number} ({question.step})"
        yield from _text(about, question.text, asked.text)
        if question.answer is not None and question.answer != asked.answer:
            yield Failure(about, f'expected the answer "{question.answer}", it was "{asked.answer}"')


def _file(about: str, words: FileWords, found: Mapping[str, str], path: str) -> Iterator[Failure]:
    if path not in found:
        if words.exists:
            hint = did_you_mean(path, found)
            yield Failure(about, f"there is no such file{f'; {hint}' if hint else ''}")
    elif not words.exists:
        yield Failure(about, "it is there and should not be")
    else:
        yield from _text(about, words, found[path])


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


def _value(about: str, wanted: Any, found: Any) -> Iterator[Failure]:
    one, other = _json(wanted), _json(found)
    if one != other:
        yield Failure(about, "it is another value", _difference(one, other))


def _amount(about: str, bounds: Bounds | None, found: float, *, unknown: int = 0) -> Iterator[Failure]:
    if bounds is None:
        return
    if unknown:
        yield Failure(about, f"{unknown} calls have an unknown cost")
    if bounds.exactly is not None and abs(bounds.exactly - found) > 1e-9:
        yield Failure(about, f"expected {bounds.exactly:g}, it was {found:g}")
    if bounds.max is not None and found > bounds.max:
        yield Failure(about, f"expected at most {bounds.max:g}, it was {found:g}")


def _json(value: Any) -> list[str]:
    text = json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, default=_plain)
    return text.splitlines()


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


def _difference(wanted: list[str], found: list[str]) -> str:
    lines = difflib.unified_diff(
        wanted, found, "expected", "seen", lineterm="", n=max(len(wanted), len(found))
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
