"""What one run has found out, for another that goes on from it (X10).

An attempt is known by all that could have changed its answer: who is asked, every word it is told, the tree it starts
from, the contract it is held to.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from podium.core.events import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptEnded,
    AttemptStarted,
    Event,
    JoinAsked,
    JoinEnded,
)
from podium.core.hash_chain import RunId
from podium.core.types import Millis, Path

FOUND_OUT: Final = frozenset({"ok", "failed", "blocked"})
"""How an attempt ends that says something about the work; the rest is about the world, which may be another today."""


CONSENT: Final = "/!consent"
"""A consent is about one attempt that may have taken effect, and about no other."""


@dataclass(frozen=True, slots=True)
class PriorResults:
    run: RunId
    attempts: Mapping[Path, Sequence[AttemptEnded]] = field(default_factory=dict)
    """By address, in the order in which they ended; the same may have been asked more than once."""
    approvals: Mapping[Path, tuple[ApprovalAsked, Sequence[ApprovalGiven]]] = field(default_factory=dict)
    joins: Mapping[JoinAsked, JoinEnded] = field(default_factory=dict)
    """By what was asked, whenever that was."""


class NoPriorResult(Exception):
    """An attempt would have to be made."""


def prior_results_of(
    run: RunId, events: Iterable[Event], *, without: frozenset[Path] = frozenset()
) -> PriorResults:
    """What these events have found out, except at some paths."""
    attempts: dict[Path, list[AttemptEnded]] = {}
    approvals: dict[Path, tuple[ApprovalAsked, list[ApprovalGiven]]] = {}
    asked: dict[Path, JoinAsked] = {}
    joins: dict[JoinAsked, JoinEnded] = {}
    for event in events:
        match event:
            case JoinAsked():
                asked[event.path] = timeless(event)
            case JoinEnded():
                joins[asked[event.path]] = event
            case AttemptEnded() if event.key and event.kind in FOUND_OUT and event.path not in without:
                attempts.setdefault(event.path, []).append(event)
            case ApprovalAsked() if event.path not in without and not event.path.endswith(CONSENT):
                approvals[event.path] = (event, [])
            case ApprovalGiven() if event.path in approvals:
                approvals[event.path][1].append(event)
            case _:
                pass
    return PriorResults(run, attempts, approvals, joins)


def timeless(asked: JoinAsked) -> JoinAsked:
    return replace(asked, at=Millis(0))


def request_key(asked: AttemptStarted, *parts: Any) -> str:
    """The hash of all that is asked; a part that is no JSON counts by how it is written."""
    told = json.dumps([asked.start, asked.base, *parts], default=repr, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:32]
