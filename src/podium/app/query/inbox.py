"""Everything that all runs of a project wait for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.query.runs import ENDED, definition_of, show
from podium.views.files.run_json import DOLLAR, pending_data
from podium.views.run.view import NOTHING, Pending, RunView, StepView
from podium.views.text.next_steps import Hint, answers_to

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.query.exhibits import Exhibit
    from podium.core.model import Workflow
    from podium.ports.store import RunHead


FROM_FILE: Final = ("approval", "question")


class Question(NamedTuple):
    """One thing that a run waits for, with what there is to see about it."""

    view: RunView
    pending: Pending
    verdicts: tuple[StepView, ...]
    answers: tuple[Hint, ...]
    root: Path
    """The project of the run."""
    leads_to: Mapping[str, str] = NOTHING
    """What each action leads to, as the workflow says; empty for Podium's own questions."""
    exhibits: tuple[Exhibit, ...] = ()
    """What the question is about, if it was asked for."""


def open_questions(project: Project, *, with_exhibits: bool = False) -> tuple[Question, ...]:
    """Those that wait longest first. With exhibits also what each is about, and what its answers lead to."""
    questions = [
        (head, question)
        for head in project.runtime.heads()
        if head.status not in ENDED
        for question in _of_run(project, show(project, head))
    ]
    if with_exhibits and questions:
        questions = list(_with_evidence(project, questions))
    return tuple(sorted((each for _, each in questions), key=lambda question: question.pending.since))


def _of_run(project: Project, view: RunView) -> Iterator[Question]:
    for pending in view.pending:
        if pending.kind != "retry":
            answers = tuple(answers_to(view.run, pending))
            yield Question(view, pending, _verdicts(view, pending), answers, project.root)


def _with_evidence(
    project: Project, questions: Iterable[tuple[RunHead, Question]]
) -> Iterator[tuple[RunHead, Question]]:
    from podium.app.query.exhibits import exhibits
    from podium.views.run.consequences import leads_to

    workflows: dict[str, Workflow | None] = {}
    for head, question in questions:
        view, pending = question.view, question.pending
        leads: Mapping[str, str] = {}
        if pending.kind in FROM_FILE:
            # Many runs of one workflow may wait, and reading it takes longer than all the rest.
            if head.fingerprint not in workflows:
                workflows[head.fingerprint] = definition_of(project, head)
            workflow = workflows[head.fingerprint]
            leads = {} if workflow is None else leads_to(workflow, pending)
        answers = tuple(answers_to(view.run, pending, leads))
        shown = exhibits(project, view, pending)
        yield head, question._replace(leads_to=leads, answers=answers, exhibits=shown)


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
        "project": str(question.root),
        "run": view.run,
        "workflow": view.workflow,
        "status": view.status,
        **pending_data(view, question.pending),
        "verdicts": [_verdict(step) for step in question.verdicts],
        "cost": {"usd": view.usd / DOLLAR, "unknown_calls": view.unknown_calls},
        "leads_to": dict(question.leads_to),
        "exhibits": [each._asdict() for each in question.exhibits],
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
