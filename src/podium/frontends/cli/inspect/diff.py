"""`podium diff`: what a run, or one of its steps, has changed."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from podium.app.decide.opened import note_opened
from podium.app.query.diff import Span, asked_in, change_of
from podium.app.run.answer import speaker
from podium.frontends.cli.open_run import in_project, painter
from podium.frontends.cli.output import say, tell_data
from podium.frontends.cli.shell_completion import complete_step
from podium.views.format import plural
from podium.views.run.view import RunView
from podium.views.text.terminal import Paint

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("diff", short_help="Show the changes of a run or a step.")
@in_project(run="optional", then="step", then_optional=True)
@click.argument("step", required=False, metavar="[STEP]", shell_complete=complete_step)
@click.option("--stat", is_flag=True, help="Only file names and line counts.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of diff."
)
def command(project: Project, run: RunId, step: str | None, stat: bool, as_json: bool) -> int:
    """Show the changes of a run since its base; with STEP, the changes of that step.

    While the run asks about a tree, that tree is shown instead of the head. The address of a question, such as
    implement#1/owner, selects exactly what it asks about.

    RUN is an id, a prefix of one, or @2 for the second newest run; default: the newest. STEP is a name (its
    last visit) or an address such as implement~2; implement~1 is the first visit. `podium diff STEP` is about
    the newest run.
    """
    view = project.queries.show(run)
    change = change_of(view, step)
    paint = painter()
    if as_json:
        tell_data(_data(project, view, step, change, stat=stat))
        return 0
    if step is None:
        _tell_asked(view, change)
    if stat:
        rows = project.queries.changes(change)
        for row in rows:
            lines = "binary" if row.binary else f"+{row.added} -{row.removed}"
            click.echo(f"{row.status:<9} {lines:>12}  {row.path}")
        added, removed = sum(row.added for row in rows), sum(row.removed for row in rows)
        say(f"{plural(len(rows), 'file')}, +{added} -{removed} lines", err=True)
        return 0
    text, cut = project.queries.diff(change)
    note_opened(speaker(), change.tree)
    # Split at the line ends of a diff only: other characters that Python counts as line ends belong to the content.
    body = text.removesuffix("\n").split("\n") if text else []
    # Also in a pipe nothing is removed, since the diff may be applied.
    click.echo("".join(f"{_coloured(line, paint)}\n" for line in body), nl=False, color=True)
    if cut:
        say("the change is longer than this; --stat lists all files", err=True)
    elif not text:
        say("no file was changed", err=True)
    return 0


def _data(
    project: Project, view: RunView, step: str | None, change: Span, *, stat: bool
) -> dict[str, object]:
    text, cut = (None, False) if stat else project.queries.diff(change)
    files = [
        {
            "path": row.path,
            "status": row.status,
            "added": None if row.binary else row.added,
            "removed": None if row.binary else row.removed,
        }
        for row in project.queries.changes(change)
    ]
    return {
        "run": view.run,
        "step": step,
        "base": change.base,
        "tree": change.tree,
        "files": files,
        "patch": text,
        "truncated": cut,
    }


def _tell_asked(view: RunView, change: Span) -> None:
    """Print which question the tree belongs to, or that several questions are open and none of their trees is shown."""
    questions = asked_in(view)
    if any(pending.tree == change.tree for pending in questions) or not questions:
        for pending in questions:
            say(f"up to what {pending.path} asks about", err=True)
        return
    say("several questions are open, each about a tree of its own:", err=True)
    for pending in questions:
        say(f"  podium diff {view.run} {shlex.quote(pending.path)}", err=True)


def _coloured(line: str, paint: Paint) -> str:
    if line.startswith(("+++", "---", "diff ")):
        return paint(line, "bold")
    if line.startswith("@@"):
        return paint(line, "dim")
    return (
        paint(line, "good") if line.startswith("+") else paint(line, "bad") if line.startswith("-") else line
    )
