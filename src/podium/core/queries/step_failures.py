"""The failed attempts of each step, which the breaker counts within a period.

They are kept by the address of the step without visits and attempts; those of its gates and members count as its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.core.addresses import child, without_visits
from podium.core.payloads import StepFailure
from podium.core.queries.graph import child_step
from podium.core.state import Scope, State
from podium.core.types import Address

FAILURES: Final = "failures"
"""The name of the rule."""


def failing_step(attempt: Address) -> Address:
    """The step that an attempt belongs to: for a gate, the step that it judges."""
    return without_visits(Address(attempt.partition("#")[0]))


def suspects(state: State, scope: Scope, index: int) -> tuple[Address, ...]:
    """The steps whose failures count when a child is entered again: itself, and the one that led back to it."""
    step = child_step(state, scope, "step", index, "")
    own = without_visits(child(scope.place.path, step.name))
    if scope.jump != index or scope.last is None:
        return (own,)
    return own, without_visits(scope.last)


def count_failures(failures: Iterable[StepFailure], step: Address) -> int:
    """How many of the failures are those of a step or of what is inside it."""
    return sum(_belongs_to(failure, step) for failure in failures)


def forget_failures(state: State, scope: Scope, index: int) -> State:
    """The state after the breaker asked about a step: its failures are counted anew."""
    steps = suspects(state, scope, index)
    others = [failure for failure in state.failures if not any(_belongs_to(failure, step) for step in steps)]
    return state._replace(failures=tuple(others))


def _belongs_to(failure: StepFailure, step: Address) -> bool:
    return failure.step == step or failure.step.startswith(f"{step}/")
