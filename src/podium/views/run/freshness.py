"""Which results of a run are still valid: an approval or a verdict is about one tree, which may change later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, assert_never

from podium.core import events
from podium.core.events import Event
from podium.core.types import Address, Tree
from podium.views.run.view import StepView

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
    | events.AttemptQueued
    | events.AttemptStarted
    | events.AttemptTaken
    | events.AttemptGuided
    | events.ToolAsked
    | events.AttemptDoubted
    | events.RetryScheduled
    | events.WaitStarted
    | events.WaitEnded
    | events.SignalReceived
    | events.TimerFired
    | events.ApprovalGiven
    | events.FactsAsked
    | events.FactsFound
    | events.JoinQueued
    | events.JumpOrdered
    | events.JumpAsked
    | events.CancelOrdered
)
"""Events that make no result stale."""


class Freshness:
    """Feed it events in order; `marked` then marks the steps that have become stale."""

    def __init__(self) -> None:
        self._newest: dict[Address, dict[int, Address]] = {}
        self._outdated: set[Address] = set()
        """Steps that a jump back made stale."""
        self._judged: set[Address] = set()
        self._joining: dict[Address, tuple[tuple[Address, Tree], ...]] = {}
        self._merged: set[Address] = set()
        """Members whose work reached the head only as part of a merged tree."""

    def copy(self) -> Freshness:
        """One that has been fed the same events."""
        twin = Freshness()
        twin._newest = {parent: dict(children) for parent, children in self._newest.items()}
        twin._outdated, twin._judged = set(self._outdated), set(self._judged)
        twin._joining, twin._merged = dict(self._joining), set(self._merged)
        return twin

    def take(self, event: Event) -> None:
        match event:
            case events.StepEntered():
                if event.role != "step":
                    return
                siblings = self._newest.setdefault(event.parent, {})
                self._outdated.update(siblings[index] for index in event.stale if index in siblings)
                siblings[event.index] = event.path
            case events.StepEnded():
                pass  # As frequent as an entry, so it is not looked for among all that is ignored.
            case events.StepReopened():
                self._outdated.update(self._newest.pop(event.path, {}).values())
            case events.ApprovalAsked():
                self._judged.add(event.path)
            case events.AttemptEnded():
                if event.verdict is not None:
                    self._judged.add(event.path)
            case events.JoinAsked():
                if event.gated:
                    self._joining[event.path] = event.members
            case events.JoinEnded():
                refused = {member.path for member in event.refused}
                for path, tree in self._joining.pop(event.path, ()):
                    if path not in refused and tree != event.tree:
                        self._merged.add(path)
            case _ if isinstance(event, _Ignored):
                pass
            case _:
                assert_never(event)

    def marked(self, steps: Iterable[StepView]) -> Iterator[StepView]:
        """The steps, with stale ones marked; a parent comes before its children, which inherit its state."""
        if not self._outdated and not self._merged:
            yield from steps
            return
        outdated, merged = set(self._outdated), set(self._merged)
        for step in steps:
            if step.parent in outdated:
                outdated.add(step.path)
            if step.parent in merged:
                merged.add(step.path)
            stale = step.path in outdated or (step.path in merged and step.path in self._judged)
            yield step._replace(stale=True) if stale else step
