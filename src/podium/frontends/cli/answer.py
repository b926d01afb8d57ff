"""`podium answer`: give the value that a question asks for."""

from __future__ import annotations

import click

from podium.core.messages import Approve
from podium.engine.letters import Done
from podium.frontends.cli.driving import office_here, say
from podium.frontends.cli.speaking import (
    by_option,
    detach_option,
    json_option,
    open_question,
    parsed,
    run_named,
    speaker,
    view_of,
)


@click.command("answer", short_help="Answer a question that wants a value.")
@click.argument("value")
@click.argument("run", required=False)
@click.argument("step", required=False)
@by_option
@detach_option
@json_option
def command(
    value: str, run: str | None, step: str | None, by: str | None, detach: bool, as_json: bool
) -> int:
    """Answer with VALUE what RUN (default: the newest) asks at STEP (default: its only question).

    VALUE is read as JSON where it is JSON, else it is text. For work that a person does by hand it is the result.
    """
    office = office_here()
    name = run_named(office, run)
    asked = open_question(
        view_of(office, name).pending,
        step,
        lambda each: "answer" in each.actions or each.kind == "by_hand",
        name,
    )
    who = speaker(by)
    if asked.kind == "by_hand":
        given = parsed(value)
        text = given if isinstance(given, str) else value
        message: Approve | Done = Done(asked.path, who, text, given)
    else:
        message = Approve(asked.path, "answer", who, "", parsed(value), asked.tree)
    return say(office, name, message, done=f"{asked.path}: answered by {who}", as_json=as_json, detach=detach)
