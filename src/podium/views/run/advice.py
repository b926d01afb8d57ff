"""The decisions about rules of the breaker: by an advisor or by a person."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from podium.core.types import TO_A_PERSON
from podium.views.plain import as_text
from podium.views.run.view import StepView


class Advice(NamedTuple):
    step: str
    rule: str
    decision: str
    by: str
    reason: str


def advice_in(steps: Iterable[StepView]) -> Iterator[Advice]:
    for step in steps:
        advice = advice_of(step)
        if advice is not None:
            yield advice


def advice_of(step: StepView) -> Advice | None:
    """The decision of a step that was asked about a rule; None if it is another step, or gave none."""
    if step.role != "advice":
        return None
    output: Any = step.result.get("output")
    fields: Mapping[str, Any] = output if isinstance(output, Mapping) else {}
    action = step.result.get("action", fields.get("action"))
    if not isinstance(action, str):
        return None
    verdict = step.result.get("verdict")
    people = verdict.get("by", ()) if isinstance(verdict, Mapping) else ()
    by = ", ".join(map(str, people)) or as_text(step.result.get("role") or step.result.get("agent"))
    reason = as_text(fields.get("reason") or step.result.get("text"))
    return Advice(step.path, step.about.removeprefix(TO_A_PERSON), action, by, reason)
