"""Chooses which parallel child is entered next: none whose files a live sibling has claimed.

A claim lasts from the entry of a child until its end, so until its work is merged. Later children may overtake one that
waits, but not if their files overlap, so it gets its turn.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from podium.core.model import Block, Call, ForEach, Members, Review
from podium.core.policy import Count
from podium.core.queries.claims import Claim, claim_of_child, overlap
from podium.core.queries.evaluate import count_of
from podium.core.queries.graph import merges_members
from podium.core.state import Scope, State

LOOK_AHEAD: Final = 32
"""How many waiting children or attempts are looked at, so that a long queue does not slow down every decision."""


class Admission(NamedTuple):
    """A child that may be entered now, and the files it claims."""

    child: int
    claim: Claim


def next_child(state: State, scope: Scope, candidates: Iterable[int]) -> Admission | None:
    """The first of these children whose files are free."""
    if not separates_children(state, scope):
        first = next(iter(candidates), None)
        return None if first is None else Admission(first, ())
    others = _claims_of_live_children(state, scope)
    for index in islice(candidates, LOOK_AHEAD):
        claim = claim_of_child(state, scope, index)
        if not any(overlap(claim, other) for other in others):
            return Admission(index, claim)
        others.append(claim)
    return None


def claim_for(state: State, scope: Scope, index: int) -> Claim:
    """The files that a child claims if it is entered now; () if it has no siblings to keep away from."""
    return claim_of_child(state, scope, index) if separates_children(state, scope) else ()


def has_free_files(state: State, scope: Scope, index: int) -> bool:
    """Whether no live child has claimed files of this one."""
    claim = claim_for(state, scope, index)
    return not any(overlap(claim, other) for other in _claims_of_live_children(state, scope))


def _claims_of_live_children(state: State, scope: Scope) -> list[Claim]:
    return [state.instances[path].place.claim for path in scope.claimants]


def separates_children(state: State, scope: Scope) -> bool:
    """Whether several children of this scope may work at once and their work is merged."""
    verb = scope.place.step.verb
    if scope.place.order == "dag" and not isinstance(verb, ForEach):
        return True
    return merges_members(scope) and width(state, scope) > 1


def width(state: State, scope: Scope) -> int:
    """How many children of a scope may run at once."""
    verb = scope.place.step.verb
    parallel: Count
    match verb:
        case ForEach():
            parallel = verb.parallel
        case Members(in_turn=True):
            parallel = 1
        case Review() if verb.parallel is not None:
            parallel = verb.parallel
        case Block():
            parallel = verb.parallel if verb.kind == "par" else len(verb.steps)
        case Call():
            body = verb.workflow.body
            parallel = body.parallel if body.kind == "par" else len(body.steps)
        case _:
            return max(1, scope.total)
    return count_of(state, scope, parallel)
