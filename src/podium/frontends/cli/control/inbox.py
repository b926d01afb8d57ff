"""`podium inbox`: everything that runs wait for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click

from podium.app.paths import has_runs, project_root
from podium.app.query.inbox import Question, question_data
from podium.frontends.cli.open_run import opened_project, painter
from podium.ports.clock import wall_clock
from podium.views.format import duration
from podium.views.plain import one_line, short_id
from podium.views.text.costs import run_cost
from podium.views.text.next_steps import background, look_at, waits_for
from podium.views.text.terminal import Paint, hint_lines


@click.command("inbox", short_help="List open questions with the command that answers each.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON list; its schema: podium schema --of inbox."
)
def command(as_json: bool) -> int:
    """List what the runs of this project are waiting for, oldest first: questions, signals, quotas, timers.

    Each entry shows what there is to look at and the commands that answer it.
    """
    questions: tuple[Question, ...] = ()
    if has_runs(project_root(Path.cwd())):
        with opened_project() as project:
            questions = project.queries.inbox()
    if as_json:
        click.echo(json.dumps([question_data(each) for each in questions], indent=2, ensure_ascii=False))
        return 0
    paint = painter()
    for number, question in enumerate(questions):
        for line in (*([""] if number else []), *_lines(question, paint)):
            click.echo(line)
    if not questions:
        click.echo("no run is waiting for you", err=True)
    return 0


def _lines(question: Question, paint: Paint) -> Iterator[str]:
    view, pending = question.view, question.pending
    since = duration(max(0, wall_clock() - pending.since))
    yield f"{paint(pending.path, 'bold')} of {view.workflow} {view.run}: {waits_for(pending)}, since {since}"
    if pending.question:
        yield f"    {one_line(pending.question, 300)}"
    if pending.about:
        yield f"    about: {pending.about}"
    yield from (f"    {line}" for line in background(view, pending))
    for step in question.verdicts:
        verdict = step.verdict
        assert verdict is not None
        score = "" if verdict.score is None else f", score {verdict.score:g}"
        yield f"    {step.path}: {verdict.decision}{score}  {one_line(verdict.summary, 100)}".rstrip()
    yield f"    cost so far {run_cost(view)}"
    look = look_at(view, pending)
    if look is not None:
        yield f"    tree {short_id(pending.tree)}; {look.command} shows the change"
    yield from hint_lines(question.answers, paint)
