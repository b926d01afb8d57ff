"""All verdicts of a run: by gates, reviewers and people, each with the judged tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, assert_never

from podium.core import events
from podium.core.codec import encode
from podium.core.events import Event
from podium.core.types import Address, Tree
from podium.views.format import iso

_Ignored: TypeAlias = (
    events.RunStarted
    | events.RunPaused
    | events.RunResumed
    | events.RunRecovered
    | events.AttemptLost
    | events.RunEnded
    | events.CancelAsked
    | events.GuidanceGiven
    | events.NoteLeft
    | events.LimitRaised
    | events.StepExpanded
    | events.StepReopened
    | events.StepEnded
    | events.AttemptQueued
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.AttemptDoubted
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JoinAsked
    | events.JoinEnded
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events without a verdict."""


def verdicts_of(log: Iterable[Event]) -> tuple[dict[str, Any], ...]:
    """The verdicts in order, as JSON values; `seq` is the number of the event."""
    reader = _VerdictReader()
    return tuple(row for seq, event in enumerate(log, start=1) for row in reader.rows(seq, event))


class _VerdictReader:
    """Tracks which tree each open gate, review or question is about."""

    def __init__(self) -> None:
        self._trees: dict[Address, Tree | None] = {}
        self._stages: set[Address] = set()
        self._gates: set[Address] = set()

    def rows(self, seq: int, event: Event) -> Iterator[dict[str, Any]]:
        match event:
            case events.StepEntered(path=path, parent=parent, role=role):
                if role == "gates":
                    self._stages.add(path)
                elif parent in self._stages:
                    self._gates.add(path)
            case events.AttemptStarted(path=path, start=start, base=base):
                self._trees[path] = start or base
            case events.ApprovalAsked(path=path, tree=tree):
                self._trees[path] = tree
            case events.AttemptEnded():
                yield from self._attempt(seq, event)
            case events.ApprovalGiven(path=path):
                tree = event.tree or self._trees.get(path)
                yield {**_head(seq, event, event.by, event.action), "text": event.text, "tree": tree}
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)

    def _attempt(self, seq: int, event: events.AttemptEnded) -> Iterator[dict[str, Any]]:
        path, verdict = event.path, event.verdict
        if verdict is None and path not in self._gates:
            return
        fields = {} if verdict is None else encode(event)["verdict"]
        tree = None if verdict is None else verdict.tree
        outcome = "passed" if event.kind == "ok" else event.kind
        yield {
            **_head(seq, event, "gate" if verdict is None else "reviewer", outcome),
            **fields,
            "tree": tree or self._trees.get(path),
        }


def _head(
    seq: int, event: events.AttemptEnded | events.ApprovalGiven, by: str, outcome: str
) -> dict[str, Any]:
    head = {"seq": seq, "at": iso(event.at), "step": event.path, "by": by, "outcome": outcome}
    return {**head, "reused": event.reused} if event.reused else head
