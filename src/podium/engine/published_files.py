"""Publishes the files of steps that have ended: as artifacts of the run, and in the project when the run has ended.

`runtime.records` says which results have files to publish.
"""

from __future__ import annotations

from podium.attempt.artifacts import folder_of, publish, write_to_project
from podium.attempt.host import Host
from podium.core.events import AttemptEnded, RunEnded, StepEnded
from podium.core.types import Address
from podium.engine.log import Log
from podium.runtime.records import published_by


def publish_results(log: Log, host: Host, *, since: int = 0, republish: bool) -> None:
    """Before anything starts that may read the files; `since` is the number of events that were handled before.

    `republish`: an earlier owner may have published them already. So may the run whose results are reused.
    """
    events = log.events[since:]
    reused: set[Address] = set()
    for event in events:
        if isinstance(event, AttemptEnded) and event.reused:
            reused.add(event.path)
        elif isinstance(event, StepEnded):
            for result in published_by(log.state, log.events, event):
                publish(host, result.path, result.result, republish=republish or event.path in reused)
    if any(isinstance(event, RunEnded) for event in events):
        ended = [event for event in log.events if isinstance(event, StepEnded)]
        results = {
            folder_of(result.path): result.result or {}
            for event in ended
            for result in published_by(log.state, log.events, event)
        }
        log.refused.extend(write_to_project(host, results))
