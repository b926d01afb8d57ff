"""A run as JSON, printed by `podium run`, `resume` and `show`; src/podium/data/schemas/run.json describes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from podium.core.addresses import without_visit
from podium.core.types import Millis
from podium.views.format import iso, iso_or_none
from podium.views.plain import as_text
from podium.views.run.advice import advice_in
from podium.views.run.choices import choice_data
from podium.views.run.features import FeatureProgress, features_of
from podium.views.run.findings import ReviewHistory, in_view, reviews_of
from podium.views.run.labels import labels_in
from podium.views.run.view import (
    AgentView,
    LimitView,
    Pending,
    RunView,
    SeriesView,
    StepView,
    comparison_base,
    duration_of,
    failure_before,
    hand_folder,
)

DOLLAR: Final = 1_000_000


def run_data(view: RunView, now: Millis | None = None) -> dict[str, Any]:
    """The whole run. The duration of a running step ends at `now`, by default the time of the newest event."""
    steps = [step_data(step, view.at if now is None else now) for step in view.steps]
    return {**head_data(view), "steps": steps, **end_data(view)}


def end_data(view: RunView) -> dict[str, Any]:
    """What follows the steps."""
    features = [feature_data(feature) for feature in features_of(view)]
    return {
        "outputs": dict(view.outputs),
        "agents": [agent_data(agent) for agent in view.agents],
        "reviews": [review_data(review) for review in reviews_of(in_view(view.steps))],
        "limits": {limit.unit: _limit(limit) for limit in view.limits},
        "raised": [
            {"unit": raised.unit, "to": raised.to, "by": raised.by, "why": raised.why}
            for raised in view.raised
        ],
        "pending": [pending_data(view, pending) for pending in view.pending],
        # Only in runs that build one, so that stored records of other runs stay as they are.
        **({"features": features} if features else {}),
        **(
            {"chosen": [choice_data(each) for each in view.facts.chosen]}
            if view.facts and view.facts.chosen
            else {}
        ),
        **({"labels": dict(labels_in(view))} if labels_in(view) else {}),
        **({"memories": [memory_data(*each) for each in view.memories.items()]} if view.memories else {}),
    }


def feature_data(feature: FeatureProgress) -> dict[str, Any]:
    return {
        "step": feature.step,
        "state": feature.state,
        "phases": [
            {**phase._asdict(), "components": [component._asdict() for component in phase.components]}
            for phase in feature.phases
        ],
    }


def memory_data(name: str, memory: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "used": memory.get("tip") or None,
        "stored": memory.get("commit"),
        "conflicts": list(memory.get("conflicts", ())),
        "error": memory.get("error"),
    }


def list_data(view: RunView) -> dict[str, Any]:
    """An entry of `podium runs`, without trees, because not every event was read for it."""
    return {key: value for key, value in head_data(view).items() if key not in ("base", "tree")}


def head_data(view: RunView) -> dict[str, Any]:
    """The fields of the run as a whole."""
    return {
        "run": view.run,
        "workflow": view.workflow,
        "status": view.status,
        "outcome": view.outcome,
        "reason": view.reason,
        "message": view.message,
        "why": view.why,
        "started_at": iso_or_none(view.started),
        "ended_at": iso_or_none(view.ended),
        "seq": view.seq,
        "inputs": dict(view.inputs),
        "branch": view.branch,
        "base": view.base,
        "tree": view.tree,
        "usage": {"tokens": view.tokens, "calls": view.calls},
        "cost": {"usd": view.usd / DOLLAR, "unknown_calls": view.unknown_calls},
        **({} if view.series is None else {"series": series_data(view.series)}),
    }


def series_data(series: SeriesView) -> dict[str, Any]:
    """The place of the run in its series, and what the series has used up to the end of this run."""
    return {
        "first": series.first,
        "number": series.number,
        "previous": series.previous or None,
        "next": series.next or None,
        "usd": series.usd / DOLLAR,
        "unknown_usd": series.unknown_usd / DOLLAR,
        "tokens": series.tokens,
        "calls": series.calls,
    }


def workers_data(step: StepView) -> list[dict[str, Any]]:
    """From which attempt on which agent or model worked."""
    return [{"attempt": attempt, "by": worker} for attempt, worker in step.workers]


def step_data(step: StepView, now: Millis) -> dict[str, Any]:
    return {
        "path": step.path,
        "step": step.step,
        "role": step.role,
        "visit": step.visit,
        "status": step.status,
        "outcome": step.outcome,
        "reason": step.reason,
        "message": step.message,
        "why": step.why,
        "degraded": step.degraded,
        "passed_over": list(step.passed_over),
        **({"workers": workers_data(step)} if len(step.workers) > 1 and not step.passed_over else {}),
        **({"by": step.result["by"]} if step.done_by else {}),
        **({"guidance": [text._asdict() for text in step.guidance]} if step.guidance else {}),
        "reused": step.reused or None,
        "stale": step.stale,
        "attempts": step.attempts,
        "repairs": len(step.repaired),
        "started_at": iso(step.entered),
        "ended_at": iso_or_none(step.ended),
        "duration_s": duration_of(step, now) / 1000,
        "output": step.result.get("output"),
        "artifacts": artifacts_of(step),
        "evidence": step.result.get("evidence"),
        "base": step.base,
        "tree": step.tree,
        "score": step.score,
        "usage": {"tokens": step.tokens, "calls": step.calls},
        "cost_usd": cost_of(step),
    }


def agent_data(agent: AgentView) -> dict[str, Any]:
    return {
        "agent": agent.agent,
        "model": agent.model or None,
        "calls": agent.calls,
        "input_tokens": agent.input,
        "cached_tokens": agent.cached,
        "output_tokens": agent.output,
        "cost_usd": cost_of(agent),
    }


def review_data(review: ReviewHistory) -> dict[str, Any]:
    rounds = zip(review.rounds, review.scores, review.open, strict=True)
    return {
        "review": review.review,
        "trend": review.trend or None,
        "rounds": [{"path": path, "score": score, "open": count} for path, score, count in rounds],
        "findings": [finding._asdict() for finding in review.findings],
    }


def cost_of(step: StepView | AgentView) -> float | None:
    """The cost in dollars; None if it is unknown."""
    return None if step.unknown_calls else step.usd / DOLLAR


def artifacts_of(step: StepView) -> list[dict[str, str]]:
    """The stored artifacts: the path below the step's folder, and the hash of the content."""
    artifacts = step.result.get("artifacts", ())
    listed = artifacts if isinstance(artifacts, list | tuple) else ()
    return [
        {"file": as_text(each.get("file")), "sha256": as_text(each.get("hash"))}
        for each in listed
        if isinstance(each, Mapping)
    ]


def pending_data(view: RunView, pending: Pending) -> dict[str, Any]:
    return {
        "path": pending.path,
        "kind": pending.kind,
        "question": pending.question,
        "actions": list(pending.actions),
        "choices": list(pending.choices),
        "since": iso(pending.since),
        "due": iso_or_none(pending.due),
        "by": list(pending.by),
        "approvals": pending.approvals,
        "given": list(pending.approved_by),
        "about": pending.about,
        "shows": list(pending.shows),
        "base": comparison_base(view, pending) if pending.actions else pending.base,
        "tree": pending.tree,
        "name": pending.name,
        "rule": pending.rule,
        "presence": pending.presence,
        "until": pending.until,
        "why": failure_before(view, pending),
        "folder": hand_folder(view, pending),
    }


def _limit(limit: LimitView) -> dict[str, float]:
    return {"limit": limit.limit, "used": limit.used, "reserved": limit.reserved}


def dump_text(view: RunView) -> str | None:
    """The context of a run that was stopped by the decision `dump_context`; None if no decision asked for it."""
    advice = list(advice_in(view.steps))
    if not any(each.decision == "dump_context" for each in advice):
        return None
    steps = [step for step in view.steps if step.role == "step" and step.parent == ""]
    dump = {
        "advice": [each._asdict() for each in advice],
        "state_visits": dict(Counter(without_visit(step.path) for step in steps)),
        "transition_history": [step.path for step in steps],
        "transition_count": len(steps),
        "quality_scores": {step.path: step.score for step in steps if step.score is not None},
        "outputs": {step.path: step.result.get("text") for step in view.steps if step.result.get("text")},
        "run": run_data(view, view.at),
    }
    return json.dumps(dump, ensure_ascii=False, indent=2, default=str) + "\n"
