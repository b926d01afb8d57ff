"""`podium reject`: say no to a question of a run, and why."""

from __future__ import annotations

import click

from podium.app.run.answer import rejection, speaker
from podium.frontends.cli.completion import complete_open_run, complete_question
from podium.frontends.cli.foreground import open_current_project, send_command
from podium.frontends.cli.sender import by_option, detach_option, json_option, run_named


@click.command("reject", short_help="Reject what a run is waiting for, with a reason.")
@click.argument("run", required=False, shell_complete=complete_open_run)
@click.argument("step", required=False, shell_complete=complete_question)
@click.option(
    "--feedback", default="", metavar="WORDS", help="Reason, passed to the agent that does the work again."
)
@click.option("--abort", is_flag=True, help="Stop the run instead of sending the work back.")
@by_option
@detach_option
@json_option
def command(
    run: str | None, step: str | None, feedback: str, abort: bool, by: str | None, detach: bool, as_json: bool
) -> int:
    """Reject what RUN (default: the newest) asks at STEP (default: its only question).

    Where the workflow routes a rejection, the work is done again with your feedback; otherwise the run ends
    with exit code 4. A STEP at level `notify` that has already passed is vetoed: an unfinished run goes back to
    it.
    """
    office = open_current_project()
    name = run_named(office, run)
    answer = rejection(office, name, step, by=speaker(by), feedback=feedback, abort=abort)
    return send_command(office, name, answer.message, done=str(answer), as_json=as_json, detach=detach)
