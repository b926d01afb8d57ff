"""`podium take`: do the next attempt of a step in the agent's own program."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from podium.app.run.answer import speaker
from podium.errors import ConfigurationError
from podium.frontends.cli.confirm_rerun import as_text, yes_option
from podium.frontends.cli.foreground import Foreground
from podium.frontends.cli.open_run import in_project
from podium.frontends.cli.options import by_option, json_option
from podium.frontends.cli.output import say
from podium.frontends.cli.shell_completion import complete_sandbox, complete_step

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.run.take import TakePlan
    from podium.core.hash_chain import RunId


@click.command("take", short_help="Do the next attempt of a step yourself, in the agent's own program.")
@in_project(run="optional", then="step")
@click.argument("step", required=False, metavar="STEP", shell_complete=complete_step)
@click.option(
    "--sandbox",
    metavar="LEVEL",
    shell_complete=complete_sandbox,
    help="Sandbox level: bubblewrap, limits or none.",
)
@by_option
@yes_option
@json_option
def command(
    project: Project,
    run: RunId,
    step: str,
    sandbox: str | None,
    by: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Open the program of the agent of STEP in RUN (default: the newest) at this terminal, in the step's workspace and sandbox.

    The workspace has the files of the step's last attempt, and the program continues its conversation if that was
    recorded. When you leave the program, the work is captured and judged like any attempt: by `touches`, gates, reviews
    and the landing. It is recorded as done by you with that agent. The run then continues by itself, and its exit
    code is the one of this command.

    STEP must be one that can run again: a step of a run that has failed, which continues in a new run; or one that was
    interrupted, is about to run, or about which the run asks. A run that another process drives must be paused
    first. Without a sandbox this is refused, unless you type --sandbox limits or --sandbox none.
    """
    name = speaker(by)
    plan = project.commands.plan_take(run, step, by=name, sandbox=sandbox)
    _check_terminal()
    if plan.preview is not None:
        say(as_text(plan.preview), err=True)
    if not _is_confirmed(plan, yes=yes):
        return 0
    return _drive(project, plan, name, as_json=as_json)


def _check_terminal() -> None:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ConfigurationError(
            "the agent's program needs a terminal, and this is none",
            hint="call podium take at a terminal, without a pipe",
            code="needs_terminal",
        )


def _is_confirmed(plan: TakePlan, *, yes: bool) -> bool:
    """Ask only if the definition is another one, as `podium resume` does."""
    if yes or plan.preview is None or not plan.preview.is_changed:
        return True
    return click.confirm("The definition has changed. Continue?", default=True, err=True)


def _drive(project: Project, plan: TakePlan, name: str, *, as_json: bool) -> int:
    from podium.attempt.taking import Taking
    from podium.process.terminal import Terminal

    with Foreground(project, plan.prepared.id, as_json=as_json, asks=False) as display:
        terminal = Terminal(sys.stdin.fileno(), sys.stdout.fileno())
        taking = Taking(plan.visit.path, name, terminal, display.hidden, plan.earlier)
        run = project.commands.take(plan, taking)
        if plan.preview is not None:
            say(f"run {run}, which continues {plan.preview.earlier}", err=True)
        driving = partial(
            project.commands.drive, run, *plan.commands, park=display.parks, observer=display.observer
        )
        code = display.finish(anyio.run(driving))
        if not taking.is_used:
            say(f"{plan.visit.path} was not reached, so its program was not opened", err=True)
        return code
