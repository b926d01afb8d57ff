"""Prints the state of a project as lines: what runs, what waits for a person, the last results, what to do next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from podium.core.types import Millis
from podium.views.format import duration
from podium.views.run.labels import label_address, labelled, labelled_question, labels_in
from podium.views.run.view import Pending, RunView
from podium.views.text.next_steps import Hint, answers_to, next_steps, waits_for
from podium.views.text.terminal import TONES, Paint, hint_lines, list_lines, no_paint, question_lines

FOR_PEOPLE: Final = frozenset({"approval", "question", "exhausted", "consent", "advice", "price", "by_hand"})
"""The kinds of waits that a person ends, not a clock or a service."""
LAST_RESULTS: Final = 5
MOST_FILES: Final = 5


def status_lines(
    open_runs: Sequence[RunView],
    ended: Sequence[RunView],
    workflows: Sequence[str],
    now: Millis,
    paint: Paint = no_paint,
    width: int | None = None,
) -> Iterator[str]:
    """`open_runs` with their questions, `ended` newest first; the sections that have nothing to show are left out."""
    questions = [
        (view, pending) for view in open_runs for pending in view.pending if pending.kind in FOR_PEOPLE
    ]
    if questions:
        yield paint("Waits for you", "bold")
        for view, pending in questions:
            yield from _question_lines(view, pending, now, paint, width)
        yield ""
    others = [view for view in open_runs if not any(view is asking for asking, _ in questions)]
    if others:
        yield paint("Not finished", "bold")
        for view in others:
            status = paint(view.status, TONES.get(view.status, "bad"))
            yield f"  {view.workflow} {view.run}  {status}{_waits(view)}"
        yield ""
    if ended:
        yield paint("Last results", "bold")
        yield from (f"  {line}" for line in list_lines(ended[:LAST_RESULTS], now, paint))
        yield ""
    yield from hint_lines(_next(questions, others, ended, workflows), paint, indent="", width=width)


def _question_lines(
    view: RunView, pending: Pending, now: Millis, paint: Paint, width: int | None
) -> Iterator[str]:
    waited = duration(max(0, now - pending.since))
    path = label_address(pending.path, labels_in(view))
    yield f"  {view.workflow} {view.run}, {paint(path, 'bold')}: {waits_for(pending)}, waiting {waited}"
    yield from question_lines(view, pending, width)


def _waits(view: RunView) -> str:
    return "" if not view.pending else f", {waits_for(view.pending[0])}"


def _next(
    questions: Sequence[tuple[RunView, Pending]],
    others: Sequence[RunView],
    ended: Sequence[RunView],
    workflows: Sequence[str],
) -> tuple[Hint, ...]:
    if questions:
        view, pending = questions[0]
        pending = labelled_question(pending, labels_in(view))
        return (
            Hint("podium inbox", "every question with what it is about"),
            *tuple(answers_to(view.run, pending))[:2],
        )
    newest = next(iter((*others, *ended)), None)
    hints = [] if newest is None else [Hint(f"podium show {newest.run}", "its steps and what they cost")]
    hints += [] if newest is None else tuple(next_steps(labelled(newest)))[:1]
    if newest is None or newest.status == "passed":
        hints += [Hint(f"podium run {path}", "to start it") for path in workflows[:MOST_FILES]]
    if not workflows:
        hints.append(Hint("podium init", "to write a first workflow for this project"))
    if newest is None:
        hints.append(Hint("podium demo", "to watch a scripted team repair a small project"))
    return (*hints, Hint("podium --help", "for all commands"))
