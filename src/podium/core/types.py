"""The closed sets of words and the units that the whole core is written in."""

from __future__ import annotations

from typing import Final, Literal, NewType, TypeAlias, get_args

Millis = NewType("Millis", int)
"""A moment (since the epoch) or a duration, in milliseconds. Integers, so that sums do not depend on order."""

MicroUsd = NewType("MicroUsd", int)
"""Money, in millionths of a dollar. Integers, for the same reason."""

Path = NewType("Path", str)
"""The address of an instance within a run; see addresses.py."""

Tree = NewType("Tree", str)
"""An opaque name of a tree of files. The core compares trees and hands them on; it never looks inside."""

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
"""Outcomes after which control goes on when `on` is silent."""

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
]
"""How an attempt ended, in the terms that decide what follows. `failed` is the worker's doing, `error` the world's."""

Reason: TypeAlias = str
"""Why a step ended as it did: one of REASONS, or an error category of the world."""

REASONS: Final = (
    "gates",
    "contract",
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

ABANDONED: Final = "abandoned"
"""Why a run ended that nobody could carry on: with whatever was open in it."""

Severity: TypeAlias = Literal["critical", "major", "minor"]
SEVERITIES: Final[tuple[Severity, ...]] = get_args(Severity)

Level: TypeAlias = Literal["auto", "notify", "human"]
LEVELS: Final[tuple[Level, ...]] = get_args(Level)

Unit: TypeAlias = Literal["usd", "tokens", "calls", "window", "time", "transitions", "members", "messages"]
UNITS: Final[tuple[Unit, ...]] = get_args(Unit)

RunStatus: TypeAlias = Literal["passed", "failed", "rejected", "limited", "timed_out", "cancelled"]
