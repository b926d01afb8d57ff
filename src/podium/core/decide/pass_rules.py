"""Pass rules and verdicts: what several answers amount to."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from podium.core.events import StepEnded
from podium.core.model import Review
from podium.core.payloads import Verdict
from podium.core.policy import PassRule
from podium.core.types import SEVERITIES, Outcome, Severity


def needed(rule: PassRule, total: int) -> int:
    """How many of `total` members must pass."""
    match rule:
        case "all":
            return total
        case "any":
            return min(1, total)
        case "majority":
            return total // 2 + 1 if total else 0
        case float():
            return math.ceil(rule * total - 1e-9)
        case _:
            return rule


def tallied(rule: PassRule, *, ok: int, total: int) -> Literal["passed", "partial", "failed"]:
    """An empty list passes, except under a fixed number."""
    if ok >= needed(rule, total):
        return "passed"
    return "partial" if ok else "failed"


def judged(verdict: Verdict, review: Review) -> Literal["passed", "rejected", "aborted"]:
    """What one reviewer's answer means: findings at or above the bar block, those below do not."""
    if verdict.decision == "abort":
        return "aborted"
    if any(blocks(finding, review.bar) for finding in verdict.findings):
        return "rejected"
    if review.min_score is not None and (verdict.score is None or verdict.score < review.min_score):
        return "rejected"
    # A no with nothing but lesser findings is a yes; one that says what is fixed by now remains a no.
    if verdict.decision == "approve" or any(map(_is_open, verdict.findings)):
        return "passed"
    return "rejected"


def blocks(finding: Any, bar: Severity) -> bool:
    severity = finding.get("severity", "major")
    if severity not in SEVERITIES:
        return True
    return _is_open(finding) and SEVERITIES.index(severity) <= SEVERITIES.index(bar)


def _is_open(finding: Any) -> bool:
    return finding.get("status", "open") in ("open", "new", "reopened")


class Panel(NamedTuple):
    """What a panel of reviewers amounts to."""

    outcome: Outcome
    reason: str
    score: float | None
    spread: float


def panel(review: Review, members: Iterable[StepEnded]) -> Panel:
    """Enough approvals pass; else hopeless, then a valid rejection, then no valid verdict at all: never approval."""
    endings = list(members)
    scores = [ending.score for ending in endings if ending.score is not None]
    score = sum(scores) / len(scores) if scores else None
    spread = max(scores) - min(scores) if scores else 0.0
    outcomes = [ending.outcome for ending in endings if ending.outcome != "skipped"]
    ok = outcomes.count("passed")
    if ok >= max(1, needed(review.rule, len(outcomes))):
        return Panel("passed", "", score, spread)
    if "aborted" in outcomes:
        return Panel("aborted", "aborted", score, spread)
    if "rejected" in outcomes:
        return Panel("rejected", "rejected", score, spread)
    if "timeout" in outcomes:
        return Panel("timeout", "", score, spread)
    return Panel("error", "no_verdict", score, spread)
