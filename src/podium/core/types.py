"""The units, names and closed sets of values that the whole core uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, NewType, TypeAlias, get_args

Millis = NewType("Millis", int)
"""A time since the epoch or a duration, in milliseconds. An integer, so that a sum does not depend on its order."""

MicroUsd = NewType("MicroUsd", int)
"""An amount of money in millionths of a dollar. An integer, for the same reason."""

Address = NewType("Address", str)
"""The address of an instance within a run; see addresses.py."""

Tree = NewType("Tree", str)
"""The opaque name of a tree of files. The core compares and passes on trees; it never reads them."""

Outcome: TypeAlias = Literal[
    "passed",
    "skipped",
    "partial",
    "failed",
    "rejected",
    "aborted",
    "blocked",
    "timeout",
    "conflict",
    "error",
    "cancelled",
]
OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

CONTINUING_OUTCOMES: Final[frozenset[Outcome]] = frozenset({"passed", "skipped"})
"""Outcomes after which the next step runs if `on` has no entry for them."""

ROUTABLE: Final[frozenset[Outcome]] = frozenset(OUTCOMES) - {"cancelled"}

AnswerKind: TypeAlias = Literal[
    "ok",
    "failed",
    "blocked",
    "timeout",
    "error",
    "cancelled",
    "quota",
    "unavailable",
    "transient",
    "malformed",
    "asked",
]
"""How an attempt ended, as far as it decides what follows: `failed` is caused by the worker, `error` by the host.

An attempt that `asked` waits for other members of its team; its work is kept and not judged."""

Reason: TypeAlias = str
"""Why a step ended with its outcome: one of REASONS, or an error category reported by the host."""

REASONS: Final = (
    "gates",
    "contract",
    "truncated",
    "no_change",
    "touches",
    "protected",
    "exhausted",
    "limit",
    "rejected",
    "aborted",
    "blocked",
    "conflict",
    "members",
    "child",
)

GONE: Final = "gone"
"""The reason of an attempt that was to reuse an answer of an earlier run which no longer exists."""

MOVED: Final = "moved"
"""The reason of a landing that has not landed, because what would land is not what was judged."""

ONTO: Final = "onto"
"""The field of a landing's result with the tree of the branch before it is moved."""

REBASE: Final = "rebase"
"""The field of a landing's result with its work merged onto a branch that has moved."""

ABANDONED: Final = "abandoned"
"""The reason of a run that was ended with open instances because it could not be resumed."""

Severity: TypeAlias = Literal["critical", "major", "minor"]
VerdictForm: TypeAlias = Literal["review", "quality_gate"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

Level: TypeAlias = Literal["auto", "notify", "human"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

Unit: TypeAlias = Literal["usd", "tokens", "calls", "window", "time", "transitions", "members", "messages"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)

Role: TypeAlias = Literal["step", "gates", "finally", "question", "advice", "member"]
"""The role of an instance in its parent: an ordinary child, or one that the engine adds."""

RunStatus: TypeAlias = Literal["passed", "failed", "rejected", "limited", "timed_out", "cancelled"]

ACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "!exhausted": ("retry", "accept", "fail"),
    "!consent": ("rerun", "fail"),
    "!price": ("proceed", "halt"),
    "!tool": ("approve", "reject"),
    "!advice": ("proceed", "force_complete", "retry_different", "halt", "dump_context"),
}
"""The actions that answer the engine's own questions, by their names."""

IN_PLACE: Final = "in_place"
"""The key of an attempt's change that tells that it was made in the user's own files."""

TO_A_PERSON: Final = "person:"
"""The prefix of `about` in advice that a person is asked for, because the advisor gave no valid decision."""

PIN_MEMORY: Final = "memory"
"""The fact that names the version of a memory which a run uses."""
MERGE_MEMORY: Final = "merge_memory"
"""The fact that says how the changes of a run were merged into the stored memory."""
MEMORY_FACTS: Final = (PIN_MEMORY, MERGE_MEMORY)
