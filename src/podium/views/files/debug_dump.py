"""`debug_dump.json`: the context of a run that was stopped by the decision `dump_context`, in one file."""

from __future__ import annotations

import json
from collections import Counter

from podium.core.addresses import without_visit
from podium.views.files.run_json import run_data
from podium.views.run.advice import advice_in
from podium.views.run.view import RunView
from podium.views.text.next_steps import DUMP

__all__ = ["DUMP", "dump_text"]


def dump_text(view: RunView) -> str | None:
    """None if no decision asked for it."""
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
