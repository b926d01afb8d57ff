"""Finds the rounds of a review (attempts of the step it gates, or its own visits) and their findings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import Address

_GATE: Final = re.compile(r"(.*)#(\d+)(/.*)")
_VISIT: Final = re.compile(r"(.*)~(\d+)")


def findings_up_to(state: State, judge: Instance) -> tuple[Mapping[str, Any], ...]:
    """All findings of a reviewer up to this round, each as last reported.

    A finding that a round does not mention keeps its status until the reviewer closes it.
    """
    review, _, name = judge.place.path.rpartition("/")
    earlier = [
        state.instances.get(Address(f"{earlier_round.place.path}/{name}"))
        for earlier_round in rounds_before(state, Address(review))
    ]
    latest: dict[str, Mapping[str, Any]] = {}
    for judgement in (*reversed(earlier), judge):
        for finding in _findings(judgement):
            latest[str(finding.get("id", ""))] = finding
    return tuple(latest.values())


def _findings(judge: Instance | None) -> tuple[Mapping[str, Any], ...]:
    result = {} if judge is None or judge.ending is None else judge.ending.result or {}
    return tuple(result.get("findings") or ())


def rounds_before(state: State, review: Address) -> Iterator[Scope]:
    """The finished earlier rounds of a review, the newest first."""
    for path in _addresses(state, review):
        review_round = state.instances.get(path)
        if isinstance(review_round, Scope) and review_round.ending is not None:
            yield review_round


def _addresses(state: State, review: Address) -> Iterator[Address]:
    gate = _GATE.fullmatch(review)
    if gate is None:
        yield from _visits_before(review)
        return
    step, number, rest = Address(gate[1]), int(gate[2]), gate[3]
    yield from (Address(f"{step}#{earlier}{rest}") for earlier in range(number - 1, 0, -1))
    for visit in _visits_before(step):
        judged = state.instances.get(visit)
        tries = 0 if judged is None else judged.attempt if isinstance(judged, Leaf) else judged.tries + 1
        yield from (Address(f"{visit}#{earlier}{rest}") for earlier in range(tries, 0, -1))


def _visits_before(path: Address) -> Iterator[Address]:
    match = _VISIT.fullmatch(path)
    if match is not None:
        yield from (Address(f"{match[1]}~{number}") for number in range(int(match[2]) - 1, 1, -1))
        yield Address(match[1])
