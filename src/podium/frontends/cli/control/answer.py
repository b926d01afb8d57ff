"""`podium answer`: give the value that a question asks for."""

from __future__ import annotations

import click

from podium.app.run.answer import speaker, value_given
from podium.app.values import parse_value
from podium.frontends.cli.completion import complete_open_run, complete_question
from podium.frontends.cli.foreground import open_current_project, send_command
from podium.frontends.cli.sender import by_option, detach_option, json_option, run_named


@click.command("answer", short_help="Answer a question with a value.")
@click.argument("value")
@click.argument("run", required=False, shell_complete=complete_open_run)
@click.argument("step", required=False, shell_complete=complete_question)
@by_option
@detach_option
@json_option
def command(
    value: str, run: str | None, step: str | None, by: str | None, detach: bool, as_json: bool
) -> int:
    """Answer the question of RUN (default: the newest) at STEP (default: its only question) with VALUE.

    VALUE is parsed as JSON if it is valid JSON, else taken as text. For work done by hand it is the result.
    """
    office = open_current_project()
    name = run_named(office, run)
    answer = value_given(office, name, step, by=speaker(by), value=parse_value(value, "the answer"))
    return send_command(office, name, answer.message, done=str(answer), as_json=as_json, detach=detach)
