"""The rows of visits, and which of them stood."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from podium.core.addresses import without_numbers
from podium.views.history.attempts import AttemptReader, craft_of
from podium.views.history.judging import JudgeReader
from podium.views.history.people import PeopleReader
from podium.views.history.rows import AttemptRow, VisitRow
from podium.views.run.view import RunView, StepView

BY_THE_WORLD: Final = frozenset(("quota", "unavailable", "transient", "error", "cancelled", "doubted"))
"""How the last attempt of a visit ends if that says nothing about its agent."""
NO_SAMPLE: Final = frozenset(("cancelled", "skipped", "conflict"))
NO_SAMPLE_REASONS: Final = frozenset(("limit", "quota", "unavailable", "transient", "conflict"))


def visits_of(
    view: RunView, attempts: AttemptReader, judges: JudgeReader, people: PeopleReader
) -> list[VisitRow]:
    """A row for each visit of a step; gates have a table of their own."""
    by_visit = attempts.by_visit()
    stages = {step.path for step in view.steps if step.role == "gates"}
    rows = [
        _visit(step, by_visit.get(step.path, ()), attempts, judges)
        for step in view.steps
        if step.role in ("step", "finally") and (step.parent not in stages or step.path in by_visit)
    ]
    return [row._replace(kind="question") if people.asked_at(row.path) else row for row in rows]


def _visit(
    step: StepView, own: Sequence[AttemptRow], attempts: AttemptReader, judges: JudgeReader
) -> VisitRow:
    counted = [row for row in own if not row.reused]
    named = [row for row in own if row.agent is not None]
    first = next((row for row in named if row.nth == 0), None)
    last = named[-1] if named else None
    is_judge = step.path in attempts.judges
    role = None if last is None else last.role
    is_agent = bool(counted)
    is_sample = is_agent and step.path not in attempts.by_hand and not step.reused
    return VisitRow(
        path=step.path,
        step=without_numbers(step.path),
        kind=_kind(step, is_agent=bool(own), is_judge=is_judge),
        role=role,
        craft=craft_of(role, judges=is_judge),
        agent=None if first is None else first.agent,
        agent_last=None if last is None else last.agent,
        model=None if last is None else last.model,
        entered=step.entered,
        ended=step.ended,
        outcome=step.outcome,
        reason=step.reason or None,
        attempts=step.attempts if step.worked else 0,
        retries=max(0, len(counted) - 1),
        stood=_stood(step, counted, judges, is_judge=is_judge) if is_sample else None,
        usd=step.usd,
        unknown_calls=step.unknown_calls,
        tokens=step.tokens,
        work_ms=sum(max(0, (row.ended or row.started) - row.started) for row in counted),
        score=None if step.score is None else float(step.score),
        degraded=int(step.degraded),
    )


def _kind(step: StepView, *, is_agent: bool, is_judge: bool) -> str:
    if is_agent:
        return "judge" if is_judge else "agent"
    if step.landed is not None:
        return "landing"
    return "command" if step.worked else "scope"


def _stood(
    step: StepView, counted: Sequence[AttemptRow], judges: JudgeReader, *, is_judge: bool
) -> int | None:
    """1 if the step passed and nothing later sent its work back. A judge did its work if its verdict was valid."""
    if step.outcome is None or step.outcome in NO_SAMPLE or step.reason in NO_SAMPLE_REASONS:
        return None
    if counted[-1].kind in BY_THE_WORLD and step.outcome != "passed":
        return None
    if is_judge:
        return int(step.verdict is not None)
    stands = step.outcome == "passed" and not step.degraded and step.reason != "exhausted"
    return int(stands and not step.stale and step.path not in judges.rejected)
