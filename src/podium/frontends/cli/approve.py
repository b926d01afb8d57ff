"""`podium approve`: say yes to a question of a run."""

from __future__ import annotations

import click

from podium.core.messages import Approve
from podium.engine.letters import Done
from podium.errors import ConfigurationError
from podium.frontends.cli.driving import office_here, say
from podium.frontends.cli.speaking import (
    by_option,
    detach_option,
    json_option,
    open_question,
    run_named,
    speaker,
    view_of,
)

PLAIN = ("approve",)
"""What a plain yes means; where the engine itself asks, a yes to one of several ways on would be a guess."""


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
    view = view_of(office, name)
    asked = open_question(view.pending, step, lambda each: bool(each.actions) or each.kind == "by_hand", name)
    who = speaker(by)
    if action is None and asked.actions and asked.actions[0] not in PLAIN:
        choices = ", ".join(asked.actions)
        raise ConfigurationError(
            f"{asked.path} asks what to do: {asked.question}",
            hint=f"podium approve {name} {asked.path} --action WORD, one of {choices}",
        )
    if asked.kind == "by_hand":
        message: Approve | Done = Done(asked.path, who, feedback)
    else:
        message = Approve(asked.path, action or asked.actions[0], who, feedback, None, asked.tree)
    word = action or ("done" if asked.kind == "by_hand" else asked.actions[0])
    return say(office, name, message, done=f"{asked.path}: {word} by {who}", as_json=as_json, detach=detach)
