"""`podium approve`: say yes to a question of a run."""

from __future__ import annotations

import click

from podium.app.run.answer import approval, speaker
from podium.frontends.cli.completion import complete_open_run, complete_question, complete_step
from podium.frontends.cli.foreground import open_current_project, send_command
from podium.frontends.cli.sender import by_option, detach_option, json_option, run_named


@click.command("approve", short_help="Approve what a run is waiting for.")
@click.argument("run", required=False, shell_complete=complete_open_run)
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
@by_option
@detach_option
@json_option
def command(  # noqa: PLR0913  # one argument per option
    run: str | None,
    step: str | None,
    action: str | None,
    feedback: str,
    retry_from: str | None,
    use_output: str | None,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Approve what RUN (default: the newest) asks at STEP (default: its only question).

    For work done by hand this reports it as done. The answer is recorded. Then the run is resumed here with its
    own exit code, unless another process owns it or --detach is given.
    """
    office = open_current_project()
    name = run_named(office, run)
    given = {"retry_from": retry_from, "use_output": use_output}
    details = {key: value for key, value in given.items() if value}
    answer = approval(office, name, step, by=speaker(by), action=action, feedback=feedback, details=details)
    return send_command(office, name, answer.message, done=str(answer), as_json=as_json, detach=detach)
