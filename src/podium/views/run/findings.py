"""The findings of reviewers over the rounds of a review, and their trend (X5).

A finding is identified by its id and its reviewer. Rounds are visits of the review, or attempts of the step it judges.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from podium.core.payloads import Verdict
from podium.core.types import Address
from podium.views.run.view import StepView

if TYPE_CHECKING:
    from podium.core.state import Leaf, State

Trend: TypeAlias = Literal["", "improving", "plateau", "diverging"]
_NUMBERS: Final = re.compile(r"[~#]\d+")


class JudgedStep(NamedTuple):
    """One reviewer's verdict and the reviewer's address."""

    path: Address
    verdict: Verdict


class Finding(NamedTuple):
    id: str
    by: str
    severity: str
    path: str
    issue: str
    status: str
    """The latest status: open, fixed or disputed."""
    first: Address
    """The address of the review in whose round it first appeared."""
    last: Address


class ReviewHistory(NamedTuple):
    """All rounds of one review."""

    review: str
    rounds: tuple[Address, ...]
    scores: tuple[float | None, ...]
    """The mean score of each round."""
    open: tuple[int, ...]
    """How many findings were open after each round."""
    findings: tuple[Finding, ...]
    trend: Trend


def in_view(steps: Iterable[StepView]) -> Iterator[JudgedStep]:
    return (JudgedStep(step.path, step.verdict) for step in steps if step.verdict is not None)


def in_state(state: State) -> Iterator[JudgedStep]:
    """The verdicts in a state, in the order of their reviews."""
    # Imported here: a view of events needs neither the state nor the model.
    from podium.core.state import Leaf

    reviewers = [leaf for leaf in state.instances.values() if isinstance(leaf, Leaf) and _is_judge(leaf)]
    for leaf in sorted(reviewers, key=lambda leaf: leaf.place.entered):
        if leaf.answer is not None and leaf.answer.verdict is not None:
            yield JudgedStep(leaf.place.path, leaf.answer.verdict)


def _is_judge(leaf: Leaf) -> bool:
    from podium.core.model import Agent

    verb = leaf.place.step.verb
    return isinstance(verb, Agent) and verb.judge


def reviews_of(judged: Iterable[JudgedStep]) -> tuple[ReviewHistory, ...]:
    """Each review with its findings, in the order of their first verdicts."""
    rounds: dict[str, dict[Address, list[JudgedStep]]] = {}
    for verdict in judged:
        path = Address(verdict.path.rpartition("/")[0])
        rounds.setdefault(_NUMBERS.sub("", path), {}).setdefault(path, []).append(verdict)
    return tuple(_review_history(name, by_path) for name, by_path in rounds.items())


def _review_history(name: str, rounds: Mapping[Address, Sequence[JudgedStep]]) -> ReviewHistory:
    findings: dict[tuple[str, str], Finding] = {}
    still_open, scores = [], []
    for path, panel in rounds.items():
        for judged in panel:
            by = _NUMBERS.sub("", judged.path.rpartition("/")[2])
            for entry in judged.verdict.findings:
                key = by, str(entry.get("id", ""))
                findings[key] = _finding(entry, by, path, findings.get(key))
        still_open.append(sum(finding.status != "fixed" for finding in findings.values()))
        scores.append(_mean([judged.verdict.score for judged in panel if judged.verdict.score is not None]))
    trend = _trend(scores, still_open)
    return ReviewHistory(
        name, tuple(rounds), tuple(scores), tuple(still_open), tuple(findings.values()), trend
    )


def _finding(entry: Mapping[str, Any], by: str, path: Address, before: Finding | None) -> Finding:
    return Finding(
        id=str(entry.get("id", "")),
        by=by,
        severity=str(entry.get("severity", "")),
        path=str(entry.get("path") or ""),
        issue=str(entry.get("issue", "")),
        status=str(entry.get("status") or "open"),
        first=path if before is None else before.first,
        last=path,
    )


def _mean(scores: Sequence[float]) -> float | None:
    return sum(scores) / len(scores) if scores else None


def _trend(scores: Sequence[float | None], still_open: Sequence[int]) -> Trend:
    """Compare the newest round with those before it: by score, else by the number of open findings."""
    if len(still_open) < 2:
        return ""
    newest, earlier = scores[-1], [score for score in scores[:-1] if score is not None]
    if newest is not None and earlier and newest > max(earlier):
        return "improving"
    if newest is not None and earlier and newest < earlier[-1]:
        return "diverging"
    if newest is None or not earlier:
        fixed = still_open[-2] - still_open[-1]
        return "improving" if fixed > 0 else "diverging" if fixed < 0 else "plateau"
    return "plateau"
