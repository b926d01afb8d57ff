"""What reviewers have found over the rounds of a review: the ledger of findings, and where it is going (X5).

A finding is known by its id and its reviewer. Rounds are visits of the review, or attempts of the step whose gate it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from podium.core.model import Agent
from podium.core.payloads import Verdict
from podium.core.state import Leaf, State
from podium.core.types import Path
from podium.views.run.view import StepView

Trend: TypeAlias = Literal["", "improving", "plateau", "diverging"]
_NUMBERS: Final = re.compile(r"[~#]\d+")


class Judged(NamedTuple):
    """One reviewer's verdict; `path` is its address in the run."""

    path: Path
    verdict: Verdict


class Finding(NamedTuple):
    id: str
    by: str
    severity: str
    path: str
    issue: str
    status: str
    """As it was said last: open, fixed or disputed."""
    first: Path
    """The round in which it was seen first, as the address of the review."""
    last: Path


class Reviewed(NamedTuple):
    """All rounds of one review."""

    review: str
    rounds: tuple[Path, ...]
    scores: tuple[float | None, ...]
    """The mean of each round's reviewers."""
    open: tuple[int, ...]
    """How many findings were open after each round."""
    findings: tuple[Finding, ...]
    trend: Trend


def in_view(steps: Iterable[StepView]) -> Iterator[Judged]:
    return (Judged(step.path, step.verdict) for step in steps if step.verdict is not None)


def in_state(state: State) -> Iterator[Judged]:
    """In the order in which they were given."""
    found = [leaf for leaf in state.instances.values() if isinstance(leaf, Leaf) and _is_judge(leaf)]
    for leaf in sorted(found, key=lambda leaf: leaf.place.entered):
        if leaf.answer is not None and leaf.answer.verdict is not None:
            yield Judged(leaf.place.path, leaf.answer.verdict)


def _is_judge(leaf: Leaf) -> bool:
    verb = leaf.place.step.verb
    return isinstance(verb, Agent) and verb.judge


def reviews_of(judged: Iterable[Judged]) -> tuple[Reviewed, ...]:
    """Each review with its ledger, in the order of their first verdicts."""
    rounds: dict[str, dict[Path, list[Judged]]] = {}
    for one in judged:
        path = Path(one.path.rpartition("/")[0])
        rounds.setdefault(_NUMBERS.sub("", path), {}).setdefault(path, []).append(one)
    return tuple(_reviewed(name, found) for name, found in rounds.items())


def _reviewed(name: str, rounds: Mapping[Path, Sequence[Judged]]) -> Reviewed:
    ledger: dict[tuple[str, str], Finding] = {}
    still_open, scores = [], []
    for path, panel in rounds.items():
        for one in panel:
            by = _NUMBERS.sub("", one.path.rpartition("/")[2])
            for said in one.verdict.findings:
                key = by, str(said.get("id", ""))
                ledger[key] = _finding(said, by, path, ledger.get(key))
        still_open.append(sum(finding.status != "fixed" for finding in ledger.values()))
        scores.append(_mean([one.verdict.score for one in panel if one.verdict.score is not None]))
    trend = _trend(scores, still_open)
    return Reviewed(name, tuple(rounds), tuple(scores), tuple(still_open), tuple(ledger.values()), trend)


def _finding(said: Mapping[str, Any], by: str, path: Path, before: Finding | None) -> Finding:
    return Finding(
        id=str(said.get("id", "")),
        by=by,
        severity=str(said.get("severity", "")),
        path=str(said.get("path") or ""),
        issue=str(said.get("issue", "")),
        status=str(said.get("status") or "open"),
        first=path if before is None else before.first,
        last=path,
    )


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None


def _trend(scores: Sequence[float | None], still_open: Sequence[int]) -> Trend:
    """The newest round against those before: by its score, else by how much is open."""
    if len(still_open) < 2:
        return ""
    newest, known = scores[-1], [score for score in scores[:-1] if score is not None]
    if newest is not None and known and newest > max(known):
        return "improving"
    if newest is not None and known and newest < known[-1]:
        return "diverging"
    if newest is None or not known:
        less = still_open[-2] - still_open[-1]
        return "improving" if less > 0 else "diverging" if less < 0 else "plateau"
    return "plateau"
