"""`podium reject`: say no to a question of a run, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option, tree_option
from podium.frontends.cli.shell_completion import complete_question

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("reject", short_help="Reject what a run is waiting for, with a reason.")
@in_project(
    run="optional",
    open_only=True,
    waiting="answer",
    then="step",
    then_optional=True,
)
@click.argument("step", required=False, shell_complete=complete_question)
@click.option(
    "--feedback", default="", metavar="WORDS", help="Reason, passed to the agent that does the work again."
)
@click.option("--abort", is_flag=True, help="Stop the run instead of sending the work back.")
@tree_option
@by_option
@detach_option
@json_option
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    run: RunId,
    step: str | None,
    feedback: str,
    abort: bool,
    tree: str | None,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Reject what RUN (default: the one that waits) asks at STEP (default: its only question).

    Where the workflow routes a rejection, the work is done again with your feedback; otherwise the run ends
    with exit code 4. A STEP at level `notify` that has already passed is vetoed: an unfinished run goes back to
    it. Where attempts are used up, feedback grants one more; without it, the step fails.
    """
    answer = project.commands.rejection(run, step, by=speaker(by), feedback=feedback, abort=abort, tree=tree)
    return send_command(project, run, answer.message, done=str(answer), as_json=as_json, detach=detach)
