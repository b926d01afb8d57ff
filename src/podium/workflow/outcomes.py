"""How a step can end: the table of language.md 3, with what modifiers and gates add."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, ROUTABLE, Outcome
from podium.workflow.schema.step import Gate, Step

OUTCOMES_OF_VERB: Final[dict[str, tuple[Outcome, ...]]] = {
    "agent": ("failed", "blocked", "timeout", "error"),
    "run": ("failed", "timeout", "error"),
    "review": ("rejected", "aborted", "timeout", "error"),
    "human": ("rejected", "aborted", "timeout"),
    "check": ("failed",),
    "wait": ("timeout", "error"),
    "set": (),
    "git": ("failed", "conflict", "error"),
    "steps": ("failed", "timeout"),
    "workflow": ("failed", "timeout", "error"),
    "build": ("failed", "partial", "error"),
}
"""Besides `passed`; `skipped` needs a `when`."""


def possible_outcomes(step: Step, gates: Iterable[Gate] = ()) -> tuple[Outcome, ...]:
    """In the order of the words. `gates` are all that judge the step, its role's included, by value."""
    if step.verb is None:
        return tuple(outcome for outcome in OUTCOMES if outcome in ROUTABLE)
    found: set[Outcome] = {"passed", *OUTCOMES_OF_VERB[step.verb]}
    judges = {gate.verb for gate in gates}
    if step.when is not None:
        found.add("skipped")
    if step.wait is not None and step.wait.poll is not None:
        found.add("failed")
    if judges:
        found.add("failed")
    if judges & {"review", "human"}:
        found.add("aborted")
    if has_members(step):
        found.update(("partial", "failed"))
    if step.repeat is not None:
        found.add("failed")
    if joins_trees(step):
        found.add("conflict")
    return tuple(outcome for outcome in OUTCOMES if outcome in found)


def possible_failures(step: Step, gates: Iterable[Gate] = ()) -> tuple[Outcome, ...]:
    """What `else` stands for."""
    return tuple(outcome for outcome in possible_outcomes(step, gates) if outcome not in CONTINUING_OUTCOMES)


def has_members(step: Step) -> bool:
    """Whether some of it can pass and some fail."""
    listed = isinstance(step.role, tuple) or isinstance(step.agent, tuple)
    return step.for_each is not None or listed or (step.verb == "steps" and is_wide(step))


def is_wide(step: Step) -> bool:
    """Whether `parallel` lets several things run at once; a value of the run may."""
    if step.parallel is None or isinstance(step.parallel, bool):
        return bool(step.parallel)
    return step.parallel != 1


def joins_trees(step: Step) -> bool:
    """Whether trees of several members are put together, which can clash."""
    if step.join is not None:
        return step.join not in {"best", "discard"}
    return step.verb == "build" or (is_wide(step) and has_members(step))
