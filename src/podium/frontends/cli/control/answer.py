"""`podium answer`: give the value that a question asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.app.values import parse_value
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option, tree_option
from podium.frontends.cli.shell_completion import complete_question

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("answer", short_help="Answer a question with a value.")
@click.argument("value")
@in_project(run="optional", open_only=True, waiting="value")
@click.argument("step", required=False, shell_complete=complete_question)
@tree_option
@by_option
@detach_option
@json_option
def command(  # one argument per option
    project: Project,
    run: RunId,
    value: str,
    step: str | None,
    tree: str | None,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Answer the question of RUN (default: the one that waits) at STEP (default: its only question) with VALUE.

    VALUE is parsed as JSON if it is valid JSON, else taken as text. For work done by hand it is the result.
    """
    answer = project.commands.value(
        run, step, by=speaker(by), value=parse_value(value, "the answer"), tree=tree
    )
    return send_command(project, run, answer.message, done=str(answer), as_json=as_json, detach=detach)
