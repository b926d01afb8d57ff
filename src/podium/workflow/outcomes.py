"""The possible outcomes of a step: the table of language.md 3, extended by modifiers and gates."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.core.types import CONTINUING_OUTCOMES, OUTCOMES, ROUTABLE, Outcome
from podium.workflow.schema.scalars import DONE
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
    "continue_as": ("failed", "error"),
}
"""The outcomes besides `passed`; `skipped` needs a `when`."""

WRITING_VERBS: Final = ("agent", "run", "steps", "workflow", "build")
"""The verbs that may change files."""


def possible_outcomes(step: Step, gates: Iterable[Gate] = (), *, merged: bool = False) -> tuple[Outcome, ...]:
    """The outcomes in their usual order; `gates` are all gates of the step, its role's included.

    `merged` says that the step's work is merged with that of parallel steps of its block, where it can conflict.
    """
    if step.verb is None:
        return tuple(outcome for outcome in OUTCOMES if outcome in ROUTABLE)
    outcomes: set[Outcome] = {"passed", *OUTCOMES_OF_VERB[step.verb]}
    judges = {gate.verb for gate in gates}
    if step.when is not None:
        outcomes.add("skipped")
    if step.wait is not None and step.wait.poll is not None:
        outcomes.add("failed")
    if judges:
        outcomes.add("failed")
    if judges & {"review", "human"}:
        outcomes.add("aborted")
    if has_members(step) and step.pass_ != DONE:
        outcomes.update(("partial", "failed"))
    if step.repeat is not None:
        outcomes.add("failed")
    if any(route.may_fail for route in step.on.values()):
        outcomes.add("error")
    if joins_trees(step) or (merged and step.verb in WRITING_VERBS):
        outcomes.add("conflict")
    return tuple(outcome for outcome in OUTCOMES if outcome in outcomes)


def possible_failures(step: Step, gates: Iterable[Gate] = (), *, merged: bool = False) -> tuple[Outcome, ...]:
    """The outcomes that `else` stands for."""
    possible = possible_outcomes(step, gates, merged=merged)
    return tuple(outcome for outcome in possible if outcome not in CONTINUING_OUTCOMES)


def has_members(step: Step) -> bool:
    """Whether the step has several members, so that some can pass and some fail."""
    return step.for_each is not None or step.has_list or (step.verb == "steps" and runs_parallel(step))


def runs_parallel(step: Step) -> bool:
    """Whether `parallel` allows several children at once; an inserted value may."""
    if step.parallel is None or isinstance(step.parallel, bool):
        return bool(step.parallel)
    return step.parallel != 1


def joins_trees(step: Step) -> bool:
    """Whether trees of several members are joined, which can conflict."""
    if step.join is not None:
        return step.join not in {"best", "discard"}
    return step.verb == "build" or (runs_parallel(step) and has_members(step))
