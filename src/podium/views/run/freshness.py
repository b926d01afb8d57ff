"""Which results of a run still count: an approval or a verdict is about one tree, and trees move on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from podium.core.events import (
    ApprovalAsked,
    AttemptEnded,
    Event,
    JoinAsked,
    JoinEnded,
    StepEntered,
    StepReopened,
)
from podium.core.types import Path, Tree
from podium.views.run.view import StepView


class Freshness:
    """Feed it events in their order, then let it mark the steps that have become stale."""

    def __init__(self) -> None:
        self._newest: dict[Path, dict[int, Path]] = {}
        self._left: set[Path] = set()
        """Control went back before these."""
        self._judged: set[Path] = set()
        self._joining: dict[Path, tuple[tuple[Path, Tree], ...]] = {}
        self._merged: set[Path] = set()
        """Members that reached the head as part of another tree than their own."""

    def take(self, event: Event) -> None:
        match event:
            case StepEntered(role="step"):
                siblings = self._newest.setdefault(event.parent, {})
                self._left.update(siblings[index] for index in event.stale if index in siblings)
                siblings[event.index] = event.path
            case StepReopened():
                self._left.update(self._newest.pop(event.path, {}).values())
            case ApprovalAsked():
                self._judged.add(event.path)
            case AttemptEnded() if event.verdict is not None:
                self._judged.add(event.path)
            case JoinAsked(gated=True):
                self._joining[event.path] = event.members
            case JoinEnded():
                refused = {member.path for member in event.refused}
                for path, tree in self._joining.pop(event.path, ()):
                    if path not in refused and tree != event.tree:
                        self._merged.add(path)
            case _:
                pass

    def marked(self, steps: Iterable[StepView]) -> Iterator[StepView]:
        """What holds others comes before them, and hands its own state down."""
        left, merged = set(self._left), set(self._merged)
        for step in steps:
            if step.parent in left:
                left.add(step.path)
            if step.parent in merged:
                merged.add(step.path)
            stale = step.path in left or (step.path in merged and step.path in self._judged)
            yield step._replace(stale=True) if stale else step
