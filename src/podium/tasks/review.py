"""Builds what a reviewer judges: the steps, their results, the plan before them, and the open findings of earlier rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from podium.core.addresses import ROOT
from podium.core.expressions.values import ExprError
from podium.core.model import Agent, Gates, Review
from podium.core.queries.disputes import disputes_shown_to
from podium.core.queries.graph import fresh_children, workflow_of
from podium.core.queries.names import InstanceNames
from podium.core.queries.step_results import fields_of, work_of
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import Address, Tree
from podium.tasks.command_work import to_plain
from podium.tasks.excerpt import finished_before
from podium.tasks.feedback import findings_text
from podium.tasks.reads import chains_read
from podium.tasks.review_rounds import findings_up_to, rounds_before
from podium.tasks.task import ReviewScope, WorkResult
from podium.tasks.task_names import capture

PLAN: Final = "Plan"


def review_of(state: State, leaf: Leaf) -> ReviewScope:
    works, base = judged_by(state, leaf)
    plan = _plan_before(state, leaf, works)
    last = _last_round(state, leaf)
    disputes = disputes_shown_to(state, leaf)
    around = state.instances[leaf.place.parent].place.step.verb
    review = around if isinstance(around, Review) else Review(())
    return ReviewScope(
        works=tuple(_asked_and_answered(state, work) for work in works),
        base=base,
        plan=None if plan is None else _result_of(state, plan),
        last_round=None if last is None else last.place.start,
        open_findings="" if last is None else _open_findings(state, last),
        phrase=review.phrase,
        approve=review.approve,
        form=review.verdict,
        inputs=_inputs(state, leaf),
        disputed=tuple(row for dispute in disputes for row in dispute.rows),
        disputed_diff="\n".join(dict.fromkeys(dispute.diff for dispute in disputes)),
    )


def shown_to_judge(state: State, leaf: Leaf) -> frozenset[Address]:
    """The steps whose answers are part of what the reviewer judges."""
    works, _ = judged_by(state, leaf)
    plan = _plan_before(state, leaf, works)
    return frozenset(step.place.path for step in (*works, *(() if plan is None else (plan,))))


def judged_by(state: State, leaf: Leaf) -> tuple[tuple[Instance, ...], Tree | None]:
    """The steps that this reviewer judges, and the tree that their work is compared with.

    They are the steps that the review names, else the step that it is a gate of.
    """
    instance: Instance = leaf
    while instance.place.path != ROOT:
        verb = instance.place.step.verb
        if isinstance(verb, Review) and verb.of:
            works = tuple(work_of(state, instance, name) for name in verb.of)
            return works, works[0].base
        if isinstance(verb, Gates):
            return (state.instances[instance.place.parent],), instance.place.base
        instance = state.instances[instance.place.parent]
    return (), None


def _result_of(state: State, work: Instance) -> WorkResult:
    text = _field(state, work, "text")
    return WorkResult(work.place.step.name, _field(state, work, "output"), "" if text is None else str(text))


def _asked_and_answered(state: State, work: Instance) -> WorkResult:
    """The answer of a step with what it was asked."""
    step = work.place.step
    answer = replace(_result_of(state, work), description=step.description)
    prompt = step.verb.prompt if isinstance(step.verb, Agent) else None
    if prompt is None:
        return answer
    chains = chains_read(step, workflow_of(state, work.place).config)
    return replace(answer, prompt=prompt, values=capture(InstanceNames(state, work), chains))


def _inputs(state: State, leaf: Leaf) -> Any:
    try:
        return to_plain(InstanceNames(state, leaf).lookup("inputs"))
    except (ExprError, KeyError):
        return None


def _field(state: State, work: Instance, key: str) -> Any:
    try:
        return fields_of(state, work)[key]
    except ExprError:
        return None


def _open_findings(state: State, review: Scope) -> str:
    """The findings of this review that are not fixed, for its next round."""
    texts = (
        findings_text(state, child, {"findings": findings_up_to(state, child)})
        for child in fresh_children(state, review)
    )
    return "\n".join(filter(None, texts))


def _last_round(state: State, leaf: Leaf) -> Scope | None:
    return next(rounds_before(state, leaf.place.parent), None)


def _plan_before(state: State, leaf: Leaf, works: Sequence[Instance]) -> Instance | None:
    """The newest plan that is certainly finished and is not itself under review.

    A plan has the schema of one, or is the work of a step or a role with that name.
    """
    judged = {work.place.path for work in works}
    for step in reversed(finished_before(state, leaf)):
        if step.place.path not in judged and _is_plan(step):
            return step
    return None


def _is_plan(instance: Instance) -> bool:
    step, verb = instance.place.step, instance.place.step.verb
    if instance.ending is None or instance.ending.outcome != "passed":
        return False
    names = (step.name, verb.role) if isinstance(verb, Agent) and not verb.judge else ()
    return step.output.schema_name == PLAN or any(isinstance(name, str) and "plan" in name for name in names)
