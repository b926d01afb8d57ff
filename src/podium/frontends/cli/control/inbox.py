"""`podium inbox`: everything that runs wait for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from podium.app.paths import has_runs, project_root
from podium.app.query.inbox import Question, question_data
from podium.app.user_projects import user_projects
from podium.frontends.cli.open_run import opened_project, painter, terminal_width
from podium.frontends.cli.output import say
from podium.ports.clock import wall_clock
from podium.views.evidence.members import member_lines
from podium.views.format import duration
from podium.views.plain import cut_to_cells, harmless, one_line, short_id
from podium.views.run.labels import label_address, labelled, labelled_question, labelled_step, labels_in
from podium.views.run.why import review_text
from podium.views.text.costs import run_cost
from podium.views.text.next_steps import answers_to, look_at, waits_for
from podium.views.text.terminal import Paint, fit, hint_lines, question_lines

if TYPE_CHECKING:
    from podium.app.query.exhibits import Exhibit
    from podium.views.evidence.evidence import Evidence

SHOWN_LINES: Final = 20


@click.command("inbox", short_help="List open questions with the command that answers each.")
@click.option("--all", "all_projects", is_flag=True, help="Of every project in which you have started runs.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list; its schema: podium schema --of inbox."
)
def command(all_projects: bool, as_json: bool) -> int:
    """List what the runs of this project are waiting for, oldest first: questions, signals, quotas, timers.

    Each entry shows what it is about (the artifact, the change, verdicts and cost, and what `show` names), the choices,
    and the commands that answer it.
    """
    questions = _questions(all_projects)
    if as_json:
        click.echo(json.dumps([question_data(each) for each in questions], indent=2, ensure_ascii=False))
        return 0
    paint = painter()
    for number, question in enumerate(questions):
        for line in (*([""] if number else []), *_lines(question, paint)):
            say(line)
    if not questions:
        say("no run is waiting for you", err=True)
    return 0


def _questions(all_projects: bool) -> tuple[Question, ...]:
    here = project_root(Path.cwd())
    roots = dict.fromkeys((here, *user_projects())) if all_projects else (here,)
    questions: list[Question] = []
    for root in roots:
        if has_runs(root):
            with opened_project(root) as project:
                questions += project.queries.inbox()
    return tuple(sorted(questions, key=lambda question: question.pending.since))


def _proof_lines(evidence: Evidence) -> Iterator[str]:
    """Which gates judged exactly the tree of the question, which only others, and what was decided about those."""
    labels, width = labels_in(evidence.view), terminal_width()
    for proof in evidence.gates:
        words = f": {proof.text}" if proof.text and not proof.passed else ""
        yield f"    {fit(f'{label_address(proof.path, labels)} {proof.outcome} on this tree{words}', width, 4)}"
    for proof in evidence.gates_before:
        line = f"{label_address(proof.path, labels)} {proof.outcome} on tree {short_id(proof.tree)}, not on this one"
        yield f"    {fit(line, width, 4)}"
    if evidence.members:
        words = "approving one stops the others" if evidence.picks_one else "each is asked about"
        yield f"    beside each other, {words}:"
        yield from (f"      {fit(line, width, 6)}" for line in member_lines(evidence))
    last = evidence.last_decision
    if last is not None:
        words = f': "{one_line(last.text, 200)}"' if last.text else ""
        yield f"    {fit(f'{last.who}: {last.action} on tree {short_id(last.tree)}{words}', width, 4)}"


def _exhibit(exhibit: Exhibit, whole: str) -> Iterator[str]:
    """The beginning of what the question is about; `whole` is the command that prints all of it."""
    lines = exhibit.text.splitlines()
    if len(lines) == 1:
        yield f"    {exhibit.name}: {fit(lines[0], terminal_width(), len(exhibit.name) + 6)}"
        return
    yield f"    {exhibit.name}:"
    yield from (f"      {_cut(line)}".rstrip() for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES or exhibit.truncated:
        yield f"      ... {len(lines) - SHOWN_LINES} more lines: {whole}"


def _cut(line: str) -> str:
    """A line with its indentation, cut to the terminal."""
    text, width = harmless(line.expandtabs(4)), terminal_width()
    return text if width is None else cut_to_cells(text, max(20, width - 6))


def _lines(question: Question, paint: Paint) -> Iterator[str]:
    view, labels = labelled(question.view), labels_in(question.view)
    pending = labelled_question(question.pending, labels)
    waited = duration(max(0, wall_clock() - pending.since))
    yield f"{paint(pending.path, 'bold')} of {view.workflow} {view.run}: {waits_for(pending)}, waiting {waited}"
    yield from question_lines(view, pending, terminal_width())
    if question.root != project_root(Path.cwd()):
        yield f"    in {question.root}"
    if pending.choices:
        yield f"    choices: {', '.join(pending.choices)}"
    look = look_at(view, pending)
    if question.evidence is not None:
        yield from _proof_lines(question.evidence)
    # Where `show` names the verdicts, they are among what is shown.
    has_verdicts = any(exhibit.name == "verdicts" for exhibit in question.exhibits)
    for step in () if has_verdicts else (labelled_step(each, labels) for each in question.verdicts):
        verdict = step.verdict
        assert verdict is not None
        text = step.why or review_text(verdict.decision, verdict.score, verdict.findings)
        yield f"    {fit(f'{step.path}: {text}', terminal_width(), 4)}"
    for exhibit in question.exhibits:
        if exhibit.name != "cost":
            is_diff = exhibit.name == "diff" and look is not None
            yield from _exhibit(
                exhibit, look.command if look is not None and is_diff else "podium inbox --json"
            )
    yield f"    cost so far {run_cost(view)}"
    if look is not None:
        yield f"    tree {short_id(pending.tree)}; {look.command} shows the change"
    yield from hint_lines(answers_to(view.run, pending, question.leads_to), paint, width=terminal_width())
