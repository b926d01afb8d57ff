"""The rounds of a review: the attempts of the step whose gate it is, or its own visits; and what was found in them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import Path

_GATE: Final = re.compile(r"(.*)#(\d+)(/.*)")
_VISIT: Final = re.compile(r"(.*)~(\d+)")


def findings_up_to(state: State, judge: Instance) -> tuple[Mapping[str, Any], ...]:
    """All that a reviewer has found up to this round, each finding as it was last reported.

    What a round does not mention stays as it was: a finding is over when its reviewer says so.
    """
    review, _, name = judge.place.path.rpartition("/")
    earlier = [
        state.instances.get(Path(f"{one.place.path}/{name}")) for one in rounds_before(state, Path(review))
    ]
    known: dict[str, Mapping[str, Any]] = {}
    for one in (*reversed(earlier), judge):
        for finding in _findings(one):
            known[str(finding.get("id", ""))] = finding
    return tuple(known.values())


def _findings(judge: Instance | None) -> tuple[Mapping[str, Any], ...]:
    result = {} if judge is None or judge.ending is None else judge.ending.result or {}
    return tuple(result.get("findings") or ())


def rounds_before(state: State, review: Path) -> Iterator[Scope]:
    """The same review in earlier rounds, as far as these came to an end, the newest first."""
    for path in _addresses(state, review):
        found = state.instances.get(path)
        if isinstance(found, Scope) and found.ending is not None:
            yield found


def _addresses(state: State, review: Path) -> Iterator[Path]:
    gate = _GATE.fullmatch(review)
    if gate is None:
        yield from _visits_before(review)
        return
    step, number, rest = Path(gate[1]), int(gate[2]), gate[3]
    yield from (Path(f"{step}#{earlier}{rest}") for earlier in range(number - 1, 0, -1))
    for visit in _visits_before(step):
        judged = state.instances.get(visit)
        tries = 0 if judged is None else judged.attempt if isinstance(judged, Leaf) else judged.tries + 1
        yield from (Path(f"{visit}#{earlier}{rest}") for earlier in range(tries, 0, -1))


def _visits_before(path: Path) -> Iterator[Path]:
    found = _VISIT.fullmatch(path)
    if found is not None:
        yield from (Path(f"{found[1]}~{number}") for number in range(int(found[2]) - 1, 1, -1))
        yield Path(found[1])
