"""The guidance that a run received, for the run that continues it; computed from the events alone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from podium.core.events import AttemptGuided, AttemptStarted, Event, GuidanceGiven, RunStarted, StepEnded
from podium.core.guidance import after_end, after_guided, after_start
from podium.core.payloads import CarriedGuidance
from podium.core.types import Address
from podium.tasks.prior_results import PriorResults


def carried_guidance(events: Iterable[Event], past: PriorResults) -> dict[str, Any]:
    """The fields of `RunFacts` that hold it."""
    received: dict[tuple[Address, int], tuple[str, ...]] = {}
    by_step: dict[Address, tuple[str, ...]] = {}
    guided: dict[Address, tuple[str, ...]] = {}
    """What agents were given while they worked: not part of their requests, so results are reused without it."""
    carried: tuple[CarriedGuidance, ...] = ()
    open_texts: tuple[str, ...] = ()
    for event in events:
        match event:
            case RunStarted(run=run):
                carried, open_texts = run.guidance, run.open_guidance
            case GuidanceGiven(text=text):
                open_texts = (*open_texts, text)
            case AttemptStarted(path=path, attempt=attempt) if event.guidance:
                received[path, attempt] = by_step[path] = event.guidance
                open_texts = after_start(open_texts, event)
            case AttemptGuided(path=path, text=text, refused=""):
                guided[path] = (*guided.get(path, ()), text)
                by_step[path] = (*by_step.get(path, ()), text)
                open_texts = after_guided(open_texts, event)
            case StepEnded(path=path) if path in by_step:
                open_texts = after_end(open_texts, by_step[path], event)
            case _:
                pass
    sent = (
        *_for_results(received, past),
        *_without_result(received, past),
        *(CarriedGuidance(path, 0, texts) for path, texts in guided.items()),
        *_not_reached(carried, received),
    )
    return {"guidance": sent, "open_guidance": open_texts}


def _for_results(
    received: dict[tuple[Address, int], tuple[str, ...]], past: PriorResults
) -> Iterable[CarriedGuidance]:
    """For each result, under the number of the attempt that will reuse it: results are reused in their order."""
    for path, ends in past.attempts.items():
        for attempt, end in enumerate(ends, start=1):
            texts = received.get((path, end.attempt))
            if texts:
                yield CarriedGuidance(path, attempt, texts)


def _without_result(
    received: dict[tuple[Address, int], tuple[str, ...]], past: PriorResults
) -> Iterable[CarriedGuidance]:
    for (path, attempt), texts in received.items():
        if all(end.attempt != attempt for end in past.attempts.get(path, ())):
            yield CarriedGuidance(path, 0, texts)


def _not_reached(
    carried: Iterable[CarriedGuidance], received: dict[tuple[Address, int], tuple[str, ...]]
) -> Iterable[CarriedGuidance]:
    """What an even earlier run had sent to steps that this one did not come to."""
    paths = {path for path, _ in received}
    for sent in carried:
        if sent.path not in paths:
            yield CarriedGuidance(sent.path, 0, sent.texts)
