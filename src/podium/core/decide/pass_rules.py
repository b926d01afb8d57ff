"""Pass rules and verdicts: the outcome of several members or reviewers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, Literal, NamedTuple

from podium.core.effects import JoinTrees
from podium.core.events import StepEnded
from podium.core.model import Block, Call, ForEach, Members, Review, Verb
from podium.core.payloads import Verdict
from podium.core.policy import PassRule
from podium.core.state import Instance, Scope, State
from podium.core.types import SEVERITIES, Address, Outcome, Severity


def required_passes(rule: PassRule, total: int) -> int:
    """How many of `total` members must pass."""
    match rule:
        case "all":
            return total
        case "any":
            return min(1, total)
        case "done":
            return 0
        case "majority":
            return total // 2 + 1 if total else 0
        case float():
            return math.ceil(rule * total - 1e-9)
        case _:
            return rule


def tally(rule: PassRule, *, ok: int, total: int) -> Literal["passed", "partial", "failed"]:
    """The outcome of members under a pass rule; an empty list passes unless the rule is a fixed number."""
    if ok >= required_passes(rule, total):
        return "passed"
    return "partial" if ok else "failed"


def rule_of(verb: Verb) -> PassRule:
    """The rule by which the children of a scope are counted."""
    match verb:
        case Call():
            return verb.workflow.body.rule
        case Block() | Members() | ForEach():
            return verb.rule
        case _:
            return "all"


def is_settled(state: State, scope: Scope) -> bool:
    """Whether enough members of a scope with `cancel: rest` have passed; those whose work is merged will."""
    return cancels_rest(scope) and open_places(state, scope) <= 0


def open_places(state: State, scope: Scope) -> int:
    """How many more members must pass."""
    merged = sum(state.instances[path].phase != "ended" for path in _merged(state, scope))
    return required_passes(rule_of(scope.place.step.verb), scope.total - scope.skipped) - scope.ok - merged


def _merged(state: State, scope: Scope) -> Iterator[Address]:
    return (path for path in scope.merged if state.instances[path].join_status == "joined")


def cancels_rest(scope: Scope) -> bool:
    verb = scope.place.step.verb
    return isinstance(verb, Block | Members | ForEach) and verb.cancels_rest


def is_rest(state: State, scope: Scope, member: Instance) -> bool:
    """Whether a member is stopped because enough others have passed; work that is being merged is not thrown away."""
    if not is_settled(state, scope) or member.join_status == "joined":
        return False
    joining = state.pending.get(("join", scope.place.path))
    members = joining.join.members if isinstance(joining, JoinTrees) else ()
    return all(path != member.place.path for path, _ in members)


def verdict_outcome(verdict: Verdict, review: Review) -> Literal["passed", "rejected", "aborted"]:
    """The outcome of one reviewer's verdict: open findings at or above the bar reject the work, others do not."""
    if verdict.decision == "abort":
        return "aborted"
    if review.verdict == "quality_gate":
        return "rejected" if verdict.decision == "reject" or _is_below(verdict, review) else "passed"
    if any(blocks(finding, review.bar) for finding in verdict.findings):
        return "rejected"
    if _is_below(verdict, review):
        return "rejected"
    # A rejection with open findings only below the bar passes; one without open findings stays a rejection.
    if verdict.decision == "approve" or any(map(_is_open, verdict.findings)):
        return "passed"
    return "rejected"


def _is_below(verdict: Verdict, review: Review) -> bool:
    return review.min_score is not None and (verdict.score is None or verdict.score < review.min_score)


def blocks(finding: Any, bar: Severity) -> bool:
    severity = finding.get("severity", "major")
    if severity not in SEVERITIES:
        return True
    return _is_open(finding) and SEVERITIES.index(severity) <= SEVERITIES.index(bar)


def _is_open(finding: Any) -> bool:
    return finding.get("status", "open") in ("open", "new", "reopened")


class Panel(NamedTuple):
    """The outcome of a panel of reviewers."""

    outcome: Outcome
    reason: str
    score: float | None
    spread: float


def panel(review: Review, members: Iterable[StepEnded]) -> Panel:
    """Passed with enough approvals; else aborted, rejected or timed out, in this order; an error if no verdict is valid."""
    endings = list(members)
    scores = [ending.score for ending in endings if ending.score is not None]
    score = sum(scores) / len(scores) if scores else None
    spread = max(scores) - min(scores) if scores else 0.0
    outcomes = [ending.outcome for ending in endings if ending.outcome != "skipped"]
    ok = outcomes.count("passed")
    if ok >= max(1, required_passes(review.rule, len(outcomes))):
        return Panel("passed", "", score, spread)
    if "aborted" in outcomes:
        return Panel("aborted", "aborted", score, spread)
    if "rejected" in outcomes:
        return Panel("rejected", "rejected", score, spread)
    if "timeout" in outcomes:
        return Panel("timeout", "", score, spread)
    return Panel("error", "no_verdict", score, spread)
