"""Scripted answers: a YAML list of rules, of which the first that matches an attempt, a question or a wait speaks.

    - match: {step: implement, attempt: 1}
      error: garbled
    - match: {step: review/reviewer}
      verdict: {decision: reject, score: 4, findings: [{severity: major, issue: no test}]}

`step` is a step's name, or its place without numbers (`each/test`, `implement/tests` for a gate); `visit`,
`attempt` and `iteration` are numbers (of a gate: those of the step it judges). The list may also stand under `rules`, beside `files`, the tree at the start.
"""

from __future__ import annotations

import re
from pathlib import Path as FilePath
from typing import Annotated, Any, Final, Literal

from podium.workflow.schema.fields import Raw, Short
from podium.workflow.schema.reader import read_or_raise
from podium.workflow.schema.scalars import Duration
from podium.workflow.source import yaml

Trouble = Literal["quota", "overloaded", "auth", "timeout", "crash", "refused", "garbled"]
Decision = Literal["approve", "reject", "abort"]
NOTHING: Final[dict[str, Any]] = {}


class Match(Raw):
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


class Rule(Raw):
    """What happens at the matching place; what is not said goes well."""

    thing = "rule"

    match: Match = Match({})
    text: str | None = None
    output: Any = None
    write: dict[str, str] = NOTHING
    delete: tuple[str, ...] = ()
    verdict: (
        Annotated[
            VerdictSpec, Short(lambda word: {"decision": word}, {"enum": ["approve", "reject", "abort"]})
        ]
        | None
    ) = None
    usage: Usage | None = None
    cost_usd: float | None = None
    delay: Duration | None = None
    error: Trouble | None = None
    blocked: str | None = None
    exit: int | None = None
    action: str | None = None
    by: str | None = None
    answer: Any = None
    silent: bool = False
    outcome: Literal["ok", "failed", "error"] = "ok"


class Cast(Raw):
    thing = "cast"

    rules: tuple[Rule, ...] = ()
    files: dict[str, str] = NOTHING
    facts: dict[str, Any] = NOTHING
    """Answers of `exists` and `glob` by their argument, where the files do not tell."""


NO_CAST = Cast({})


def line_of(path: FilePath, rule: Rule) -> int:
    """Where a rule stands in its file."""
    document = yaml.read(path)
    return document.position(rule.path[1:] if isinstance(document.value, list) else rule.path).line


def read_cast(path: FilePath) -> Cast:
    """A cast from its file; every mistake is named by line."""
    return read_or_raise(Cast, yaml.read(path), under="rules")


def place_of(path: str) -> str:
    """The address of an instance without its numbers."""
    return re.sub(r"~\d+|#\d+|\[\d+\]", "", path)


def iteration_of(path: str) -> int | None:
    found = re.findall(r"\[(\d+)\]", path)
    return int(found[-1]) if found else None


def judged_by(path: str) -> tuple[int, int] | None:
    """Visit and attempt of the step that a gate at this path judges; None if it is no gate."""
    found = re.findall(r"(?:~(\d+))?#(\d+)/", path)
    return (int(found[-1][0] or 1), int(found[-1][1])) if found else None
