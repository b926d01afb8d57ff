"""Whether a step of another run has passed, for `wait: {step}`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from podium.core.addresses import without_visit
from podium.core.hash_chain import Record, RunId
from podium.ports.store import RunHead


def has_passed(
    heads: Callable[[], Iterable[RunHead]],
    records_of: Callable[[RunId], Iterable[Record]],
    run: RunId,
    workflow: str,
    step: str,
) -> bool:
    """Whether a step has passed in the newest other run of a workflow, both by name."""
    newest = next((head for head in heads() if head.workflow == workflow and head.run != run), None)
    if newest is None:
        return False
    records = (record for record in records_of(newest.run) if record.type == "StepEnded")
    ended = (json.loads(record.body) for record in records)
    outcomes = [event["outcome"] for event in ended if without_visit(event["path"]) == step]
    return bool(outcomes) and outcomes[-1] == "passed"
