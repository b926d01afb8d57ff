"""Files that test a workflow, `NAME.test.yaml`: the cast of each test, and what is expected of the run.

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
from podium.workflow.problems import Problem, did_you_mean, mistakes
from podium.workflow.schema.fields import DocPath, InvalidValue, Raw, Scalar, Schema, Short
from podium.workflow.schema.reader import read_or_raise
from podium.workflow.schema.scalars import TEXT, Duration, Number, Positive, TextList, Whole
from podium.workflow.scripted.cast import EMPTY, Rule
from podium.workflow.source import yaml

SUFFIX: Final = ".test.yaml"
DEFAULT_TIMEOUT: Final = Millis(5 * 60_000)

Status: TypeAlias = Literal["passed", "failed", "rejected", "limited", "timed_out", "cancelled", "waiting"]


def path_entry(value: Any) -> tuple[str, str | None]:
    """One entry of the expected path: the address of a step, with its outcome if given."""
    if isinstance(value, str):
        return value, None
    if isinstance(value, dict) and len(value) == 1:
        ((path, outcome),) = value.items()
        if isinstance(path, str) and outcome in OUTCOMES:
            return path, outcome
    raise InvalidValue("a step, or a step with its outcome such as {fix: passed}")


PathEntry: TypeAlias = Annotated[
    tuple[str, str | None],
    Scalar(path_entry, {"anyOf": [TEXT, {"type": "object", "minProperties": 1, "maxProperties": 1}]}),
]


class Words(Raw):
    """Conditions on a text; a plain text must be contained in it."""

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
    """Conditions on a step's result; a plain word is its outcome."""

    outcome: str | None = None
    reason: str | None = None
    attempts: Whole | None = None
    text: TextWords | None = None
    message: TextWords | None = None
    output: Any = None


class PromptWords(Words):
    """Conditions on a prompt; without numbers, on any attempt of the step."""

    step: str
    visit: Positive | None = None
    attempt: Positive | None = None
    iteration: Positive | None = None


class QuestionWords(Raw):
    """Conditions on a question to a person, and the answer of the cast."""

    step: str
    text: TextWords | None = None
    answer: str | None = None


class Bounds(Raw):
    """A number, or a maximum."""

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
    path_: tuple[PathEntry, ...] | None = None
    steps: dict[
        str, Annotated[StepWords, Short(lambda word: {"outcome": word}, {"enum": list(OUTCOMES)})]
    ] = EMPTY
    prompts: tuple[PromptWords, ...] = ()
    questions: tuple[QuestionWords, ...] | None = None
    files: dict[str, FileText] = EMPTY
    artifacts: dict[str, FileText] = EMPTY
    memory: dict[str, FileText] = EMPTY
    """By NAME/FILE, after the run."""
    outputs: dict[str, Any] = EMPTY
    number: Positive | None = None
    """Of the last run that was played, in its series."""
    continues: bool | None = None
    """Whether the last run that was played continues as a new one."""
    usd: Amount | None = None
    tokens: Amount | None = None


class Setting(Raw):
    """Settings of one test, or of all tests of the file."""

    inputs: dict[str, Any] = EMPTY
    vars: dict[str, Any] = EMPTY
    env: dict[str, str] = EMPTY
    files: dict[str, str] = EMPTY
    memory: dict[str, dict[str, str]] = EMPTY
    """The files of each memory before the run."""
    cast: str | tuple[Rule, ...] | None = None
    replay: str | None = None
    no_human: bool = False
    timeout: Duration | None = None
    runs: Positive | None = None
    """How many runs of a series are played; all by default."""


class Trial(Setting):
    noun = "test"

    description: str = ""
    expect: Expect = Expect({})


class TrialFile(Setting):
    noun = "test file"

    podium: Literal[1]
    workflow: str | None = None
    project: str | None = None
    description: str = ""
    tests: dict[str, Trial]


def read_tests(path: Path) -> TrialFile:
    """Reads a test file; raises ConfigurationError with every mistake and its line."""
    document = yaml.read(path)
    file = read_or_raise(TrialFile, document)
    faults = tuple(_faults(file))
    if faults:
        places = ((document.position(at), message, hint) for at, message, hint in faults)
        problems = (Problem(document.name, at.line, at.col, 0, text, hint) for at, text, hint in places)
        raise mistakes(problems)
    return file


def line_of_test(path: Path, name: str) -> int:
    return yaml.read(path).position(("tests", name), key=True).line


def _faults(file: TrialFile) -> Iterator[tuple[DocPath, str, str]]:
    """Faults that the schema cannot express."""
    if not file.tests:
        yield file.at("tests"), "this file has no tests", ""
    for name, test in file.tests.items():
        if test.cast is not None and test.replay is not None:
            yield test.at("replay"), f'test "{name}" has both a cast and recordings; keep one of them', ""
        for path, step in test.expect.steps.items():
            if step.outcome is not None and step.outcome not in OUTCOMES:
                hint = did_you_mean(step.outcome, OUTCOMES)
                yield step.at("outcome"), f'"{path}" cannot end with "{step.outcome}"', hint
        yield from _patterns(test.expect)


def _patterns(expect: Expect) -> Iterator[tuple[DocPath, str, str]]:
    texts = (
        expect.message,
        *(text for step in expect.steps.values() for text in (step.text, step.message)),
        *expect.prompts,
        *(question.text for question in expect.questions or ()),
        *expect.files.values(),
        *expect.artifacts.values(),
        *expect.memory.values(),
    )
    for words in (text for text in texts if text is not None):
        for pattern in words.matches:
            try:
                re.compile(pattern)
            except re.error as error:
                yield words.at("matches"), f'"{pattern}" is not a valid pattern: {error}', ""
