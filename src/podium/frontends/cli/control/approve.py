"""`podium approve`: say yes to a question of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from podium.app.run.answer import speaker
from podium.frontends.cli.foreground import send_command
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, detach_option, json_option, tree_option
from podium.frontends.cli.shell_completion import complete_question, complete_step

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.core.hash_chain import RunId


@click.command("approve", short_help="Approve what a run is waiting for.")
@in_project(
    run="optional",
    open_only=True,
    waiting="answer",
    then="step",
    then_optional=True,
)
@click.argument("step", required=False, shell_complete=complete_question)
@click.option("--action", metavar="WORD", help="Another action that the question offers; see `podium inbox`.")
@click.option("--feedback", default="", metavar="WORDS", help="Text to pass on with the answer.")
@click.option(
    "--from",
    "retry_from",
    metavar="STEP",
    help="With retry_different: the step to return to.",
    shell_complete=complete_step,
)
@click.option(
    "--use", "use_output", metavar="VISIT", help="With force_complete: the visit to accept, such as write~2."
)
@tree_option
@by_option
@detach_option
@json_option
def command(  # noqa: PLR0913  # one argument per option
    project: Project,
    run: RunId,
    step: str | None,
    action: str | None,
    feedback: str,
    retry_from: str | None,
    use_output: str | None,
    tree: str | None,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Approve what RUN (default: the one that waits) asks at STEP (default: its only question).

    For work done by hand this reports it as done. The answer is recorded. Then the run is resumed here with its
    own exit code, unless another process owns it or --detach is given.
    """
    options = {"retry_from": retry_from, "use_output": use_output}
    details = {key: value for key, value in options.items() if value}
    answer = project.commands.approval(
        run, step, by=speaker(by), action=action, feedback=feedback, details=details, tree=tree
    )
    return send_command(project, run, answer.message, done=str(answer), as_json=as_json, detach=detach)
