"""Shared by the commands that continue a run in a new one: preview, confirmation, and the new run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

import anyio
import click

from podium.app.run.answer import speaker
from podium.errors import EXIT_LIMITED, ConfigurationError
from podium.frontends.cli.background import detach as run_detached
from podium.frontends.cli.foreground import Foreground, is_terminal
from podium.frontends.cli.output import complain, say, tell_data
from podium.views.format import dollars, first_of
from podium.views.run.labels import label_address
from podium.views.run.why import limit_of_message

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.app.run.rerun import Part, RerunPreview
    from podium.core.payloads import Rebase
    from podium.core.state import State

SHOWN = 12

yes_option = click.option("--yes", is_flag=True, help="Start without asking for confirmation.")
dry_option = click.option(
    "--dry-run", is_flag=True, help="Only print what would be reused and what would run again."
)


def confirm_rerun(  # the options of the commands
    project: Project,
    preview: RerunPreview,
    *,
    yes: bool,
    dry: bool,
    detach: bool,
    as_json: bool,
    by: str | None = None,
) -> int:
    """Print what is reused and what that saves, ask for confirmation, and drive the new run.

    With `by`, the earlier run is closed in that name if it is not over.
    """
    if dry:
        tell_data(as_data(preview)) if as_json else click.echo(as_text(preview))
        return 0
    say(as_text(preview), err=True)
    if not yes:
        if as_json or not is_terminal():
            raise ConfigurationError(
                f"cannot ask for confirmation {'with --json' if as_json else 'without a terminal'}",
                hint="pass --yes, or --dry-run to preview",
                code="needs_confirmation",
            )
        if not click.confirm("Continue?", default=True, err=True):
            return 0
    started = project.commands.rerun(preview, closed_by=by)
    say(f"run {started.run}, which continues {preview.earlier}", err=True)
    if detach:
        return run_detached(project, started.run, as_json=as_json)
    with Foreground(project, started.run, as_json=as_json) as display:
        driving = partial(project.commands.drive, started.run, park=display.parks, observer=display.observer)
        return finish(project, display, anyio.run(driving))


def finish(project: Project, display: Foreground, state: State) -> int:
    """Print how the run ended. At a terminal, ask whether to raise a limit that ended it, and continue."""
    code = display.finish(state)
    reached = limit_of_message(state.ended.message) if state.ended is not None else None
    if code != EXIT_LIMITED or display.parks or reached is None or reached.step:
        return code
    while value := _ask(f"New limit on {reached.unit} to continue with (Enter: stop here)"):
        try:
            why = _ask("Reason (optional, stored with the run)")
            preview = project.commands.preview_raise(
                display.run, (f"{reached.unit}={value}",), by=speaker(), why=why
            )
        except ConfigurationError as error:
            complain(error)
            continue
        return confirm_rerun(
            project, preview, yes=not preview.is_changed, dry=False, detach=False, as_json=False
        )
    return code


def _ask(question: str) -> str:
    try:
        return str(click.prompt(question, default="", show_default=False, err=True)).strip()
    except click.Abort:
        return ""


def as_text(preview: RerunPreview) -> str:
    labels = preview.definition.workflow.labels.steps
    lines = [
        _line("reused", preview.reused, "not paid again", labels),
        _line("repeated", preview.repeated, "last time", labels),
    ]
    if preview.send_back is not None:
        lines.append(f"onto         {preview.send_back.summary()}")
    if preview.next:
        first = (label_address(path, labels) for path in preview.next[:SHOWN])
        lines.append(f"begins with  {', '.join(first)}")
    else:
        lines.append("nothing left to do")
    return "\n".join(lines)


def as_data(preview: RerunPreview) -> dict[str, object]:
    return {
        "earlier": preview.earlier,
        "reused": [_data(part) for part in preview.reused],
        "repeated": [_data(part) for part in preview.repeated],
        "next": list(preview.next),
        **({} if preview.send_back is None else {"onto": _onto(preview.send_back.rebase)}),
    }


def _onto(rebase: Rebase) -> dict[str, object]:
    return {
        "branch": rebase.branch,
        "commit": rebase.commit,
        "step": rebase.step,
        "conflicts": list(rebase.paths),
    }


def _line(label: str, parts: tuple[Part, ...], about: str, labels: Mapping[str, str]) -> str:
    if not parts:
        return f"{label:<11}  nothing"
    cost = sum(part.cost for part in parts)
    paths = first_of([label_address(part.path, labels) for part in parts], SHOWN)
    return f"{label:<11}  {len(parts)} ({dollars(cost)} {about}): {paths}"


def _data(part: Part) -> dict[str, object]:
    return {
        "path": part.path,
        "attempts": part.attempts,
        "cost_usd": part.cost / 1_000_000,
        "tokens": part.tokens,
    }
