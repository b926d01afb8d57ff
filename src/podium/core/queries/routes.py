"""Where the outcome of a step leads: the targets that its file names, and the one that was chosen when it ended."""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.events import StepEnded
from podium.core.model import Step, Target
from podium.core.types import Outcome


def target_after(step: Step, ending: StepEnded) -> Target | None:
    """The target of an ended step; None if its file has none for the outcome."""
    target = step.on.get(ending.outcome)
    if target is None or not target.choices:
        return target
    chosen = -1 if ending.route is None else ending.route.entry
    return target.choices[chosen].target if 0 <= chosen < len(target.choices) else None


def targets_of(step: Step) -> Iterator[tuple[Outcome, Target]]:
    """Every target that an outcome may lead to."""
    for outcome, target in step.on.items():
        for choice in target.choices:
            yield outcome, choice.target
        if not target.choices:
            yield outcome, target
