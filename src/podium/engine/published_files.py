"""Publishes the files of steps that have ended: as artifacts of the run, and in the project when the run has ended.

A visit that adopts the result of an earlier one publishes the files of that one again. A judge has a result whatever its verdict;
any other step that failed publishes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.attempt.artifacts import folder_of, publish, write_to_project
from podium.attempt.host import Host
from podium.core.events import AttemptEnded, RunEnded, StepEnded
from podium.core.types import Address
from podium.engine.log import Log


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
            for result in _results(log, event):
                publish(host, result.path, result.result, republish=republish or event.path in reused)
    if any(isinstance(event, RunEnded) for event in events):
        ended = [event for event in log.events if isinstance(event, StepEnded)]
        results = {
            folder_of(result.path): result.result or {} for event in ended for result in _results(log, event)
        }
        log.refused.extend(write_to_project(host, results))


def _results(log: Log, event: StepEnded) -> Iterator[StepEnded]:
    instance = log.state.instances.get(event.path)
    adopted = None if instance is None else instance.place.adopt
    if adopted is None:
        if _has_result(event):
            yield event
        return
    for earlier in log.events:
        if isinstance(earlier, StepEnded) and f"{earlier.path}/".startswith(f"{adopted}/"):
            yield from _results(log, earlier)


def _has_result(event: StepEnded) -> bool:
    result = event.result or {}
    return bool(result) and (event.outcome == "passed" or "verdict" in result)
