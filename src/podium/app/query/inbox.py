"""Everything that all runs of a project wait for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.app.query.runs import ENDED, show
from podium.views.files.run_json import DOLLAR, pending_data
from podium.views.run.view import Pending, RunView, StepView
from podium.views.text.next_steps import Hint, answers_to

if TYPE_CHECKING:
    from podium.app.project import Project


class Question(NamedTuple):
    """One thing that a run waits for, with what there is to see about it."""

    view: RunView
    pending: Pending
    verdicts: tuple[StepView, ...]
    answers: tuple[Hint, ...]


def open_questions(project: Project) -> tuple[Question, ...]:
    """Those that wait longest first."""
    questions = [
        question
        for head in project.runtime.heads()
        if head.status not in ENDED
        for question in _of_run(show(project, head))
    ]
    return tuple(sorted(questions, key=lambda question: question.pending.since))


def _of_run(view: RunView) -> Iterator[Question]:
    for pending in view.pending:
        if pending.kind != "retry":
            yield Question(view, pending, _verdicts(view, pending), tuple(answers_to(view.run, pending)))


def _verdicts(view: RunView, pending: Pending) -> tuple[StepView, ...]:
    """Of the tree that is asked about; a verdict on another one says nothing about it."""
    return tuple(
        step
        for step in view.steps
        if step.verdict is not None and pending.tree is not None and step.verdict.tree == pending.tree
    )


def question_data(question: Question) -> dict[str, Any]:
    view = question.view
    return {
        "run": view.run,
        "workflow": view.workflow,
        "status": view.status,
        **pending_data(view, question.pending),
        "verdicts": [_verdict(step) for step in question.verdicts],
        "cost": {"usd": view.usd / DOLLAR, "unknown_calls": view.unknown_calls},
        "commands": [hint.command for hint in question.answers],
    }


def _verdict(step: StepView) -> dict[str, Any]:
    verdict = step.verdict
    assert verdict is not None
    return {
        "path": step.path,
        "decision": verdict.decision,
        "score": verdict.score,
        "findings": [dict(finding) for finding in verdict.findings],
        "summary": verdict.summary,
    }
