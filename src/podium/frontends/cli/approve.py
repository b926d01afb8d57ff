"""`podium approve`: say yes to a question of a run."""

from __future__ import annotations

import click

from podium.app.answering import approval, speaker
from podium.frontends.cli.driving import office_here, say
from podium.frontends.cli.speaking import by_option, detach_option, json_option, run_named


@click.command("approve", short_help="Say yes to what a run asks.")
@click.argument("run", required=False)
@click.argument("step", required=False)
@click.option(
    "--action", metavar="WORD", help="Another of the actions the question offers, as `podium inbox` lists."
)
@click.option("--feedback", default="", metavar="WORDS", help="Words to hand on with the answer.")
@by_option
@detach_option
@json_option
def command(
    run: str | None,
    step: str | None,
    action: str | None,
    feedback: str,
    by: str | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Approve what RUN (default: the newest) asks at STEP (default: its only question).

    For work that a person does by hand this says that it is done. The answer is recorded; then, unless another process
    owns the run or --detach is given, the run is carried on here and the exit code is its own.
    """
    office = office_here()
    name = run_named(office, run)
    answer = approval(office, name, step, by=speaker(by), action=action, feedback=feedback)
    return say(office, name, answer.message, done=str(answer), as_json=as_json, detach=detach)
