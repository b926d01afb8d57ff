"""Results of an earlier run that a new run may reuse (X10).

An attempt is identified by everything that could change its answer: the agent, the whole prompt, the tree it starts
from, the contract.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
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
from podium.core.types import Address, Millis
from podium.fast_dataclass import dataclass

REUSABLE_KINDS: Final = frozenset({"ok", "failed", "blocked", "asked"})
"""Results that depend on the work only; others depend on circumstances that may have changed."""


CONSENT: Final = "/!consent"
"""Never reused: a consent applies to one attempt, which may already have had an effect."""


@dataclass(frozen=True, slots=True)
class PriorResults:
    run: RunId
    attempts: Mapping[Address, Sequence[AttemptEnded]] = field(default_factory=dict)
    """By address, in the order in which they ended; the same request may occur more than once."""
    approvals: Mapping[Address, tuple[ApprovalAsked, Sequence[ApprovalGiven]]] = field(default_factory=dict)
    joins: Mapping[JoinAsked, JoinEnded] = field(default_factory=dict)
    """By request, without its time."""


class NoPriorResult(Exception):
    """No earlier result fits, so the attempt would have to run."""


def prior_results_of(
    run: RunId, events: Iterable[Event], *, without: frozenset[Address] = frozenset()
) -> PriorResults:
    """The reusable results of these events, except at the paths in `without`."""
    attempts: dict[Address, list[AttemptEnded]] = {}
    approvals: dict[Address, tuple[ApprovalAsked, list[ApprovalGiven]]] = {}
    requests: dict[Address, JoinAsked] = {}
    joins: dict[JoinAsked, JoinEnded] = {}
    for event in events:
        match event:
            case JoinAsked():
                requests[event.path] = timeless(event)
            case JoinEnded():
                joins[requests[event.path]] = event
            case AttemptEnded() if event.key and event.kind in REUSABLE_KINDS and event.path not in without:
                attempts.setdefault(event.path, []).append(event)
            case ApprovalAsked() if event.path not in without and not event.path.endswith(CONSENT):
                approvals[event.path] = (event, [])
            case ApprovalGiven() if event.path in approvals:
                approvals[event.path][1].append(event)
            case _:
                pass
    return PriorResults(run, attempts, approvals, joins)


def timeless(request: JoinAsked) -> JoinAsked:
    return replace(request, at=Millis(0))


def request_key(started: AttemptStarted, *parts: Any) -> str:
    """The hash of a request; a part that is not JSON is hashed by its repr."""
    encoded = json.dumps([started.start, started.base, *parts], default=repr, sort_keys=True)
    return hashlib.sha256(encoded.encode()).hexdigest()[:32]


def prior_approvals(past: PriorResults | None, request: ApprovalAsked) -> tuple[ApprovalGiven, ...]:
    """The answers that people gave to the same question about the same tree, marked with the run they are from."""
    prior = None if past is None else past.approvals.get(request.path)
    if past is None or prior is None:
        return ()
    earlier, approvals = prior
    is_same = (earlier.key, earlier.tree, earlier.approvals) == (request.key, request.tree, request.approvals)
    if not is_same:
        return ()
    return tuple(replace(approval, reused=approval.reused or past.run) for approval in approvals)
