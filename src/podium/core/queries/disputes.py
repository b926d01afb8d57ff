"""Disputed tests: earlier tests that fail on the work, whose author says that the requirement has changed.

The command that noticed them passes for now. The work lands only if a reviewer or a person who saw these tests accepts
them, so every judge is shown those that are open where it judges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from podium.core.addresses import ROOT
from podium.core.expressions.nodes import ExprError
from podium.core.model import Gates, Git, Review, Step
from podium.core.queries.graph import fresh_children
from podium.core.queries.step_results import work_of
from podium.core.state import Dispute, Instance, Leaf, Scope, State
from podium.core.types import Address, Millis

DISPUTED: Final = "disputed"
"""The result field of a command that passed with disputed tests."""
DISPUTED_DIFF: Final = "disputed_diff"
ACCEPTED: Final = "accepted_tests"
"""The result field of a judge: the ids of the disputed tests that it accepts."""
CLAIMS: Final = "tests_changed"
"""The result field of a worker: the tests that it changed on purpose, with its reasons."""


def open_disputes(state: State) -> tuple[Dispute, ...]:
    """The disputed tests of the run that no judge has accepted."""
    return tuple(_open(state, state.disputes))


def disputes_shown_to(state: State, judge: Instance, before: Millis | None = None) -> tuple[Dispute, ...]:
    """The open disputed tests of the work that this reviewer or person judges, noticed up to a time."""
    if not state.disputes:
        return ()
    places = _judged_places(state, judge)
    shown = (
        dispute
        for dispute in state.disputes
        if (before is None or dispute.at <= before) and (places is None or _is_in(dispute.path, places))
    )
    return tuple(_open(state, shown))


def accepted_by_person(state: State, question: Leaf) -> tuple[str, ...]:
    """The ids of the disputed tests that the text of this question named."""
    request = question.approval_request
    disputes = () if request is None else disputes_shown_to(state, question, request.at)
    return tuple(str(row["id"]) for dispute in disputes for row in dispute.rows)


def claims_of(state: State, judged: Instance) -> tuple[Mapping[str, Any], ...]:
    """The tests that the authors of the judged work say they changed on purpose."""
    if isinstance(judged.place.step.verb, Git):
        return tuple(row for dispute in state.disputes for row in dispute.rows)
    if isinstance(judged, Scope):
        return tuple(claim for child in fresh_children(state, judged) for claim in claims_of(state, child))
    return () if judged.answer is None else tuple((judged.answer.result or {}).get(CLAIMS, ()))


def claims_before(state: State, command: Instance) -> tuple[Mapping[str, Any], ...]:
    """The same for a command that is a step of its own: of the steps around it that have ended."""
    around = state.instances[command.place.parent]
    before = fresh_children(state, around) if isinstance(around, Scope) else ()
    return tuple(claim for step in before if step.ending is not None for claim in claims_of(state, step))


def steps_above(state: State, instance: Instance) -> tuple[Step, ...]:
    """The step, the step around it, and so on."""
    steps = [instance.place.step]
    while instance.place.path != ROOT:
        instance = state.instances[instance.place.parent]
        steps.append(instance.place.step)
    return tuple(steps)


def _open(state: State, disputes: Sequence[Dispute] | Iterator[Dispute]) -> Iterator[Dispute]:
    for dispute in disputes:
        rows = tuple(row for row in dispute.rows if row["id"] not in state.accepted_tests)
        if rows:
            yield dispute._replace(rows=rows)


def _judged_places(state: State, judge: Instance) -> tuple[Address, ...] | None:
    """The addresses of the work that is judged; None for everything before."""
    instance = judge
    while instance.place.path != ROOT:
        verb = instance.place.step.verb
        if isinstance(verb, Review) and verb.of:
            return tuple(_work(state, instance, name) for name in verb.of)
        if isinstance(verb, Gates):
            owner = state.instances[instance.place.parent]
            return None if isinstance(owner.place.step.verb, Git) else (owner.place.path,)
        instance = state.instances[instance.place.parent]
    return None


def _work(state: State, review: Instance, name: str) -> Address:
    try:
        return work_of(state, review, name).place.path
    except ExprError:  # A route may have led past the step.
        return review.place.path


def _is_in(path: Address, places: tuple[Address, ...]) -> bool:
    return any(path.startswith((f"{place}/", f"{place}#", f"{place}[")) for place in places)
