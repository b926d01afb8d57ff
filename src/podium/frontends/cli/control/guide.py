"""`podium guide`: send guidance to the agents of a run."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import anyio
import click

from podium.app.run.answer import speaker
from podium.core.messages import Guide, Tell
from podium.core.types import Address
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option
from podium.frontends.cli.output import say, tell_run
from podium.views.format import first_of

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.run.send import GuidanceReply
    from podium.core.hash_chain import RunId

SHOWN: Final = 3
"""Running steps that are named."""
NEXT: Final = "the next attempt that starts gets it"


@click.command("guide", short_help="Send guidance to the agents of a run.")
@in_project(run="optional", then="text", open_only=True)
@click.argument("text", required=False, metavar="TEXT")
@click.option(
    "--to",
    metavar="STEP",
    help="Leave the text as a note for this step, or for a member of its team (deliver/qa).",
)
@by_option
@click.option("--json", "as_json", is_flag=True, help="Print the run as JSON.")
def command(project: Project, run: RunId, text: str, to: str | None, by: str | None, as_json: bool) -> int:
    """Send TEXT to the agents of RUN (default: the newest).

    An agent that is working and can take messages (claude) gets it with its next call of its model. If no agent is
    working, or one of them cannot take it, the next attempt to start gets it with its prompt. An idle run is not resumed.
    """
    if to is not None:
        note = Tell(speaker(by), Address(to), text)
        anyio.run(partial(project.commands.send, run, note, drives=False))
        say(f"run {run}: {to} gets this note with its next attempt", err=True)
        if as_json:
            tell_run(project, run)
        return 0
    reply = anyio.run(partial(project.commands.guide, run, Guide(speaker(by), text)))
    for line in _lines(reply):
        say(f"run {run}: {line}", err=True)
    if as_json:
        tell_run(project, run)
    return 0


def _lines(reply: GuidanceReply) -> Iterator[str]:
    if reply.reached:
        yield f"{first_of(reply.reached, SHOWN)} has got this guidance"
    if reply.waiting:
        later = f"{first_of(reply.waiting, SHOWN)} gets this guidance with the next call of its model"
        yield f"{later}; if it ends before, {NEXT}"
    for path, reason in reply.refused:
        yield f"{path} does not get this guidance: {reason}; {NEXT}"
    if not (reply.reached or reply.waiting or reply.refused):
        yield f"no agent is working; {NEXT}"
