"""The rows of the history. Each class is a table: its fields are the columns, in order, and None means unknown.

Rule: rows have numbers and names, and no texts of prompts, answers, findings or inputs. Times are milliseconds UTC, money
is millionths of a dollar, and booleans are 0 and 1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Final, NamedTuple, TypeAlias, get_args, get_type_hints

from podium.core.json_text import compact_json

ROWS_VERSION: Final = 2
"""Of the rows that a log gives; after a change, stored rows are made again from the logs that are still there."""


class RunRow(NamedTuple):
    run: str
    workflow: str
    fingerprint: str
    subject: str | None
    note: str | None
    inputs: str
    """A hash."""
    started: int
    ended: int | None
    status: str
    """`open` until it has ended."""
    outcome: str | None
    reason: str | None
    branch: str | None
    base: str | None
    tree: str | None
    landed: int
    played: int
    """1 if a script or a recording answered for an agent."""
    continues: str | None
    usd: int
    unknown_calls: int
    tokens: int
    calls: int
    work_ms: int
    """While at least one attempt was active."""
    wait_ms: int
    attempts: int
    retries: int
    questions: int
    """To people."""
    touched: int
    """What people did: answers, guidance, jumps, raised limits, work by hand."""
    score: float | None
    """The mean of the last round of the last review."""
    seq: int
    head: str
    """The number and the hash of the last event that the rows are made from."""


class VisitRow(NamedTuple):
    path: str
    step: str
    """The address without numbers."""
    kind: str
    """agent, judge, command, question, landing or scope."""
    role: str | None
    craft: str
    agent: str | None
    """Who was asked first."""
    agent_last: str | None
    model: str | None
    entered: int
    ended: int | None
    outcome: str | None
    reason: str | None
    attempts: int
    retries: int
    stood: int | None
    """1 if it passed and nothing later sent its work back; None if that says nothing about the agent."""
    usd: int
    unknown_calls: int
    tokens: int
    work_ms: int
    score: float | None
    degraded: int


class AttemptRow(NamedTuple):
    """An attempt of an agent."""

    path: str
    attempt: int
    step: str
    role: str | None
    craft: str
    agent: str | None
    nth: int
    """0 is the step's own agent, n its n-th fallback."""
    model: str | None
    started: int
    ended: int | None
    kind: str | None
    """How it ended; `doubted` if that was never reported."""
    category: str | None
    """Why it did not succeed."""
    proved: int | None
    """Whether its gates passed; None without gates."""
    reused: int
    usd: int
    unknown_calls: int
    price: str | None
    tokens: int
    tok_in: int | None
    tok_out: int | None
    tok_cached: int | None
    calls: int
    ctx_used: int | None
    ctx_window: int | None
    words: int | None
    files: int | None
    added: int | None
    removed: int | None
    likeness: int | None
    sandbox: str | None
    tree: str | None
    prompt: str | None
    """A hash of the role and the template of the prompt: equal for equal instructions."""


class GateRow(NamedTuple):
    path: str
    of_path: str
    of_attempt: int
    name: str
    kind: str
    started: int
    ended: int | None
    passed: int | None
    category: str | None
    exit_code: int | None
    tree: str | None


class VerdictRow(NamedTuple):
    path: str
    attempt: int
    review: str
    round: int
    reviewer: str
    agent: str | None
    model: str | None
    of_path: str | None
    """The visit that made the judged work."""
    of_agent: str | None
    of_model: str | None
    decision: str
    score: float | None
    findings: int
    tree: str | None
    given_at: int


class ScoreRow(NamedTuple):
    """One part of a verdict."""

    path: str
    attempt: int
    name: str
    value: float


class FindingRow(NamedTuple):
    review: str
    reviewer: str
    id: str
    severity: str
    status: str
    first_round: int
    last_round: int
    file: str | None


class QuestionRow(NamedTuple):
    path: str
    about: str
    level: str
    asked_at: int
    ended: int | None
    outcome: str | None
    silent: int
    """1 if it was over without an answer of a person."""
    tree: str | None


class AnswerRow(NamedTuple):
    path: str
    seq: int
    given_at: int
    action: str
    who: str | None
    tree: str | None
    how: str | None
    """terminal, command, file, web and so on."""


class ChoiceRow(NamedTuple):
    """The agent of a step with `agent: auto`."""

    path: str
    policy: str
    chosen: str
    standard: str
    why: str
    chance: float
    as_of: int


class TrialRow(NamedTuple):
    """The place of a run in an experiment of `podium compare`."""

    suite: str
    experiment: str
    case_name: str
    arm: str
    number: int
    position: int


class Table(NamedTuple):
    row: Any
    key: tuple[str, ...]

    @property
    def key_is_text(self) -> tuple[tuple[str, bool], ...]:
        """The columns of the key, and whether each is a text."""
        types = column_types(self.row)
        return tuple((column, types[column][0] is str) for column in self.key)

    @property
    def columns(self) -> tuple[str, ...]:
        columns: tuple[str, ...] = self.row._fields
        return columns


TABLES: Final[Mapping[str, Table]] = {
    "visit": Table(VisitRow, ("path",)),
    "attempt": Table(AttemptRow, ("path", "attempt")),
    "gate": Table(GateRow, ("path",)),
    "verdict": Table(VerdictRow, ("path", "attempt")),
    "score": Table(ScoreRow, ("path", "attempt", "name")),
    "finding": Table(FindingRow, ("review", "reviewer", "id")),
    "question": Table(QuestionRow, ("path",)),
    "answer": Table(AnswerRow, ("path", "seq")),
    "choice": Table(ChoiceRow, ("path",)),
    "trial": Table(TrialRow, ("suite",)),
}
"""The tables whose rows belong to a run."""
ADDED: Final[Mapping[str, tuple[str, ...]]] = {
    "attempt": ("prompt",),
    "answer": ("how",),
    "choice": (),
    "trial": (),
}
"""Columns and tables that came with version 2 of the rows. They do not count in a hash while they are empty, so that rows
of version 1 keep theirs."""


class RunRows(NamedTuple):
    """Everything that the history has of one run."""

    run: RunRow
    tables: Mapping[str, Sequence[Any]]
    """The rows of each table in the order of their keys."""

    @property
    def sum(self) -> str:
        """A hash of all values."""
        tables = {
            name: [_hashed(name, row) for row in rows]
            for name, rows in self.tables.items()
            if rows or name not in ADDED
        }
        value = [list(self.run), tables]
        return hashlib.sha256(compact_json(value).encode("utf-8", "backslashreplace")).hexdigest()


def _hashed(table: str, row: Any) -> list[Any]:
    values = list(row)
    for _ in ADDED.get(table, ()):
        if values[-1] is None:
            values.pop()
    return values


ColumnType: TypeAlias = tuple[type, bool]
"""int, float or str, and whether the value may be missing."""


def column_types(row: Any) -> dict[str, ColumnType]:
    """The type of each column of a table."""
    types = {}
    for name, hint in get_type_hints(row).items():
        inner = [arg for arg in get_args(hint) if arg is not NoneType] or [hint]
        types[name] = (inner[0], len(inner) != len(get_args(hint) or (hint,)))
    return types
