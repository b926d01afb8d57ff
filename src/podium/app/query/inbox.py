"""Everything that all runs of a project wait for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from podium.app.query.runs import ENDED
from podium.app.query.shelf import FoldedRun, Shelf
from podium.core.hash_chain import RunId
from podium.views.files.run_json import DOLLAR, pending_data
from podium.views.run.view import NOTHING, Pending, RunView, StepView
from podium.views.text.next_steps import Hint, answers_to

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.query.exhibits import Exhibit
    from podium.views.evidence.evidence import Evidence


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
    evidence: Evidence | None = None
    """For a question that a person decides, if it was asked for."""


def open_questions(
    project: Project, *, with_exhibits: bool = False, shelf: Shelf | None = None
) -> tuple[Question, ...]:
    """Those that wait longest first. With exhibits also what each is about, and what its answers lead to.

    With a shelf, only what has changed since its last look is read again.
    """
    shelf = shelf or Shelf(project)
    runs = [shelf.of(head) for head in shelf.heads() if head.status not in ENDED]
    questions = [(run, question) for run in runs for question in _of_run(project, run.view)]
    if with_exhibits:
        questions = [(run, _with_evidence(project, shelf, run, question)) for run, question in questions]
    return tuple(sorted((each for _, each in questions), key=lambda question: question.pending.since))


def runs_waiting_for(project: Project, name: str) -> frozenset[str]:
    """The runs with a question that this person may answer."""
    questions = open_questions(project)
    return frozenset(each.view.run for each in questions if _may_answer(project, each, name))


def _may_answer(project: Project, question: Question, name: str) -> bool:
    by = question.pending.by
    if not by or name in by:
        return True
    from podium.app.run.start import workflow_of
    from podium.core.decide.approvals import may_answer

    head = project.runtime.head(RunId(question.view.run))
    # A group has a name of its own, which only the workflow explains.
    return head is not None and may_answer(by, name, dict(workflow_of(project, head).people))


def _of_run(project: Project, view: RunView) -> Iterator[Question]:
    for pending in view.pending:
        if pending.kind != "retry":
            answers = tuple(answers_to(view.run, pending))
            yield Question(view, pending, _verdicts(view, pending), answers, project.root)


def _with_evidence(project: Project, shelf: Shelf, run: FoldedRun, question: Question) -> Question:
    from podium.app.query.evidence import evidence
    from podium.app.query.exhibits import exhibits

    pending = question.pending
    proof = evidence(shelf, run, pending)
    leads = proof.consequences if pending.kind in FROM_FILE else NOTHING
    return question._replace(
        leads_to=leads,
        answers=tuple(answers_to(run.view.run, pending, leads)),
        exhibits=exhibits(project, run.view, pending),
        evidence=proof if pending.actions else None,
    )


def _verdicts(view: RunView, pending: Pending) -> tuple[StepView, ...]:
    """Of the tree that is asked about; a verdict on another one says nothing about it."""
    return tuple(
        step
        for step in view.steps
        if step.verdict is not None and pending.tree is not None and step.verdict.tree == pending.tree
    )


def question_data(question: Question) -> dict[str, Any]:
    from podium.views.files.evidence_json import evidence_data

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
        "evidence": None if question.evidence is None else evidence_data(question.evidence),
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
