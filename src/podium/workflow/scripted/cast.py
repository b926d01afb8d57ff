"""Scripted answers: a YAML list of rules; the first rule that matches an attempt, a question or a wait answers it.

    - match: {step: implement, attempt: 1}
      error: garbled
    - match: {step: review/reviewer}
      verdict: {decision: reject, score: 4, findings: [{severity: major, issue: no test}]}

`step` is a step's name, or its address with or without numbers (`each/test`, `implement/tests` for a gate); `visit`, `attempt`
and `iteration` are numbers (for a gate: those of the step it judges). The list may also be under `rules`, next to
`files`, the tree at the start.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, ClassVar, Final, Literal

from podium.workflow.schema.fields import Raw, Short
from podium.workflow.schema.reader import read_or_raise
from podium.workflow.schema.scalars import Duration
from podium.workflow.source import yaml

Failure = Literal["quota", "overloaded", "auth", "timeout", "crash", "refused", "garbled"]
Decision = Literal["approve", "reject", "abort"]
EMPTY: Final[dict[str, Any]] = {}


class Match(Raw):
    other_words: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("agent", "member", "role"), "write step: NAME/MEMBER"
    )

    step: str | None = None
    visit: int | None = None
    attempt: int | None = None
    iteration: int | None = None
    prompt: str | None = None


class VerdictSpec(Raw):
    decision: Decision
    score: float | None = None
    findings: tuple[dict[str, Any], ...] = ()
    summary: str = ""


class Usage(Raw):
    input: int = 0
    output: int = 0


class AskSpec(Raw):
    to: str
    question: str
    files: tuple[str, ...] = ()


class NoteSpec(Raw):
    text: str
    to: str = ""


class Rule(Raw):
    """What happens at the matching place; anything not set succeeds."""

    noun = "rule"
    other_words: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("decision", "score", "findings"), "write verdict: {decision: reject, score: 4}"),
        **dict.fromkeys(("approve", "reject", "signal"), "write action: approve, or answer: with a value"),
        **dict.fromkeys(("files", "writes"), "write write: {FILE: TEXT}"),
        "fail": "write exit: 1 for a command, error: for an agent",
    }

    match: Match = Match({})
    text: str | None = None
    output: Any = None
    write: dict[str, str] = EMPTY
    delete: tuple[str, ...] = ()
    remember: dict[str, str] = EMPTY
    """Files in the memory of the step."""
    verdict: (
        Annotated[
            VerdictSpec, Short(lambda word: {"decision": word}, {"enum": ["approve", "reject", "abort"]})
        ]
        | None
    ) = None
    usage: Usage | None = None
    cost_usd: float | None = None
    delay: Duration | None = None
    error: Failure | None = None
    blocked: str | None = None
    ask: tuple[AskSpec, ...] = ()
    """Whom the worker of a team asks instead of finishing."""
    so_far: str = ""
    note: tuple[NoteSpec, ...] = ()
    exit: int | None = None
    action: str | None = None
    by: str | None = None
    answer: Any = None
    silent: bool = False
    outcome: Literal["ok", "failed", "error"] = "ok"


class Cast(Raw):
    noun = "cast"

    rules: tuple[Rule, ...] = ()
    files: dict[str, str] = EMPTY
    facts: dict[str, Any] = EMPTY
    """Answers to `exists` and `glob` by argument, where the files do not decide."""


NO_CAST = Cast({})


def line_of(path: FilePath, rule: Rule) -> int:
    """The line of a rule in its file."""
    document = yaml.read(path)
    return document.position(rule.path[1:] if isinstance(document.value, list) else rule.path).line


def read_cast(path: FilePath) -> Cast:
    """Reads a cast; every mistake is reported with its line."""
    return read_or_raise(Cast, yaml.read(path), under="rules")


def is_named(written: str, path: str) -> bool:
    """Whether a rule or an expectation means this address: by the whole of it or its end, such as the name of the step; each
    also without the visit, or without all numbers."""
    return any(
        f"/{form}".endswith(f"/{written}") for form in (path, re.sub(r"~\d+$", "", path), place_of(path))
    )


def names_list_of(written: str, path: str, *workers: object) -> bool:
    """Whether a rule names the list of agents or reviewers in which this worker is a member.

    What is below an attempt, as a member of a team, belongs to no list.
    """
    around, _, last = path.rpartition("/")
    if re.search(r"#\d+$", around):
        return False
    member = re.sub(r"_\d+$", "", place_of(last))
    return bool(around) and member in workers and is_named(written, around)


def place_of(path: str) -> str:
    """The address of an instance without its numbers."""
    return re.sub(r"~\d+|#\d+|\[\d+\]", "", path)


def iteration_of(path: str) -> int | None:
    numbers = re.findall(r"\[(\d+)\]", path)
    return int(numbers[-1]) if numbers else None


def judged_attempt(path: str) -> tuple[int, int] | None:
    """The visit and attempt of the step that a gate at this path judges; None if the path is not a gate's."""
    numbers = re.findall(r"(?:~(\d+))?#(\d+)/", path)
    return (int(numbers[-1][0] or 1), int(numbers[-1][1])) if numbers else None
