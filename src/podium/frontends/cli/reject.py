"""`podium reject`: say no to a question of a run, and why."""

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

NO = ("reject", "fail", "halt", "abort")


@click.command("reject", short_help="Say no to what a run asks, with the reason.")
@click.argument("run", required=False)
@click.argument("step", required=False)
@click.option("--feedback", default="", metavar="WORDS", help="Why; handed to whoever has to do it again.")
@click.option("--abort", is_flag=True, help="Stop here: no rework.")
@by_option
@detach_option
@json_option
def command(
    run: str | None, step: str | None, feedback: str, abort: bool, by: str | None, detach: bool, as_json: bool
) -> int:
    """Reject what RUN (default: the newest) asks at STEP (default: its only question).

    Where the workflow routes a rejection, the work is done again with your words; else the run ends with exit code 4.
    """
    office = office_here()
    name = run_named(office, run)
    asked = open_question(
        view_of(office, name).pending, step, lambda each: bool(each.actions) or each.kind == "by_hand", name
    )
    who = speaker(by)
    if asked.kind == "by_hand":
        message: Approve | Done = Done(asked.path, who, feedback, failed=True)
    else:
        wanted = ("abort", *NO) if abort else NO
        action = next((word for word in wanted if word in asked.actions), None)
        if action is None:
            raise ConfigurationError(
                f"{asked.path} is a question with the answers {', '.join(asked.actions)}",
                hint=f"podium approve {name} {asked.path} --action WORD",
            )
        message = Approve(asked.path, action, who, feedback, None, asked.tree)
    return say(office, name, message, done=f"{asked.path}: rejected by {who}", as_json=as_json, detach=detach)
