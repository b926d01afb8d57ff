"""Files that test a workflow, `NAME.test.yaml`: who says what in each test, and what is expected of the run.

podium: 1
inputs: {task: Make titles into addresses}
tests:
  the_second_try_lands:
    cast:
      - {match: {step: fix, attempt: 1}, write: {slug.py: "..."}}
    expect:
      path: [fix, review, approve, land]
      steps: {fix: {attempts: 2}}
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Final, Literal, TypeAlias

from podium.core.types import OUTCOMES, Millis
from podium.errors import ConfigurationError
from podium.workflow.problems import Problem, did_you_mean
from podium.workflow.schema.fields import DocPath, InvalidValue, Raw, Scalar, Schema, Short
from podium.workflow.schema.reader import read_or_raise
from podium.workflow.schema.scalars import TEXT, Duration, Number, Positive, TextList, Whole
from podium.workflow.scripted.cast import NOTHING, Rule
from podium.workflow.source import yaml

SUFFIX: Final = ".test.yaml"
USUAL_TIME: Final = Millis(5 * 60_000)

Status: TypeAlias = Literal["passed", "failed", "rejected", "limited", "timed_out", "cancelled", "waiting"]


def passage(value: Any) -> tuple[str, str | None]:
    """One stop on the way of a run: the address of a step, with its outcome if that is said."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and len(value) == 1:
        ((path, outcome),) = value.items()
        if isinstance(path, str) and outcome in OUTCOMES:
            return path, outcome
    raise InvalidValue("a step, or a step with its outcome such as {fix: passed}")


Passage: TypeAlias = Annotated[
    tuple[str, str | None],
    Scalar(passage, {"anyOf": [TEXT, {"type": "object", "minProperties": 1, "maxProperties": 1}]}),
]


class Words(Raw):
    """What a text must be like; a plain text must be contained in it."""

    equals: str | None = None
    contains: TextList = ()
    lacks: TextList = ()
    matches: TextList = ()


class FileWords(Words):
    exists: bool = True


_CONTAINED: Final[Schema] = {"anyOf": [TEXT, {"type": "array", "items": TEXT}]}
TextWords: TypeAlias = Annotated[Words, Short(lambda value: {"contains": value}, _CONTAINED)]
FileText: TypeAlias = Annotated[FileWords, Short(lambda value: {"contains": value}, _CONTAINED)]


class StepWords(Raw):
    """What a step must have come to; a plain word is its outcome."""

    outcome: str | None = None
    reason: str | None = None
    attempts: Whole | None = None
    text: TextWords | None = None
    message: TextWords | None = None
    output: Any = None


class PromptWords(Words):
    """What an agent must have been told; without numbers, in any of its attempts."""

    step: str
    visit: Positive | None = None
    attempt: Positive | None = None


class QuestionWords(Raw):
    """What a person must have been asked, and what the cast let them say."""

    step: str
    text: TextWords | None = None
    answer: str | None = None


class Bounds(Raw):
    """A number, or how much it may be at most."""

    max: Number | None = None
    exactly: Number | None = None


Amount: TypeAlias = Annotated[
    Bounds, Short(lambda value: {"exactly": value}, {"type": "number", "minimum": 0})
]


class Expect(Raw):
    status: Status | None = None
    exit: Whole | None = None
    reason: str | None = None
    message: TextWords | None = None
    path_: tuple[Passage, ...] | None = None
    steps: dict[
        str, Annotated[StepWords, Short(lambda word: {"outcome": word}, {"enum": list(OUTCOMES)})]
    ] = NOTHING
    prompts: tuple[PromptWords, ...] = ()
    questions: tuple[QuestionWords, ...] | None = None
    files: dict[str, FileText] = NOTHING
    artifacts: dict[str, FileText] = NOTHING
    outputs: dict[str, Any] = NOTHING
    usd: Amount | None = None
    tokens: Amount | None = None


class Setting(Raw):
    """What may be said for one test, and above all of them for each."""

    inputs: dict[str, Any] = NOTHING
    vars: dict[str, Any] = NOTHING
    env: dict[str, str] = NOTHING
    files: dict[str, str] = NOTHING
    cast: str | tuple[Rule, ...] | None = None
    replay: str | None = None
    no_human: bool = False
    timeout: Duration | None = None


class Trial(Setting):
    thing = "test"

    description: str = ""
    expect: Expect = Expect({})


class TrialFile(Setting):
    thing = "test file"

    podium: Literal[1]
    workflow: str | None = None
    project: str | None = None
    description: str = ""
    tests: dict[str, Trial]


def read_tests(path: Path) -> TrialFile:
    """Raises ConfigurationError with every mistake by line."""
    document = yaml.read(path)
    found = read_or_raise(TrialFile, document)
    wrong = tuple(_faults(found))
    if wrong:
        places = ((document.position(at), message, hint) for at, message, hint in wrong)
        problems = (Problem(document.name, at.line, at.col, 0, told, hint) for at, told, hint in places)
        raise ConfigurationError("\n".join(problem.render() for problem in problems))
    return found


def line_of_test(path: Path, name: str) -> int:
    return yaml.read(path).position(("tests", name), key=True).line


def _faults(file: TrialFile) -> Iterator[tuple[DocPath, str, str]]:
    """What the shape alone does not show."""
    if not file.tests:
        yield file.at("tests"), "there are no tests", ""
    for name, test in file.tests.items():
        if test.cast is not None and test.replay is not None:
            yield test.at("replay"), f'test "{name}" has a cast and recordings; one of them answers', ""
        for path, step in test.expect.steps.items():
            if step.outcome is not None and step.outcome not in OUTCOMES:
                hint = did_you_mean(step.outcome, OUTCOMES)
                yield step.at("outcome"), f'"{path}" cannot end as "{step.outcome}"', hint
        yield from _patterns(test.expect)


def _patterns(expect: Expect) -> Iterator[tuple[DocPath, str, str]]:
    texts = (
        expect.message,
        *(text for step in expect.steps.values() for text in (step.text, step.message)),
        *expect.prompts,
        *(question.text for question in expect.questions or ()),
        *expect.files.values(),
        *expect.artifacts.values(),
    )
    for words in (text for text in texts if text is not None):
        for pattern in words.matches:
            try:
                re.compile(pattern)
            except re.error as error:
                yield words.at("matches"), f'"{pattern}" is not a pattern: {error}', ""
