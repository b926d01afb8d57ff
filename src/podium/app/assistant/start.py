"""Starts and steers runs for an assistant or an editor: the run is driven by a process of its own, never by theirs."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from podium.app.assistant.trust import check_trusted
from podium.app.decide.sender import Speaker, wake
from podium.app.query.runs import ENDED
from podium.app.run.start import RunRequest
from podium.errors import ConfigurationError
from podium.files.inside import inside
from podium.views.format import dollars, duration, plural

if TYPE_CHECKING:
    from podium.app.author.load import LoadedWorkflow
    from podium.app.project import Project
    from podium.app.run.start import StartedRun
    from podium.core.model import Workflow
    from podium.ports.runtime import RunCommand


def load_inside(project: Project, path: str) -> LoadedWorkflow:
    """The workflow in a file of the project; raises with all its mistakes."""
    return project.load(inside(project.root, path))


def start_for_assistant(
    project: Project, path: str, inputs: Mapping[str, Any], speaker: Speaker, *, note: str = ""
) -> tuple[StartedRun, str]:
    """Start a run in the background; returns it and its forecast. Raises with the reason if it may not be started."""
    definition = load_inside(project, path)
    check_trusted(project, definition)
    forecast = forecast_line(definition.workflow, inputs)
    started = project.commands.start(
        RunRequest(definition=definition, inputs=inputs, note=note, channel=speaker.channel)
    )
    wake(project, started.run)
    return started, forecast


def forecast_line(workflow: Workflow, inputs: Mapping[str, Any]) -> str:
    """The worst case in a line; raises if the limits would end the run before it can pass."""
    from podium.app.forecast.check import check_plan

    calls, limits = check_plan(workflow, inputs), workflow.limits
    stops = [] if limits.usd is None else [dollars(limits.usd)]
    stops += [] if limits.time is None else [duration(limits.time)]
    stops += [] if limits.tokens is None else [f"{limits.tokens} tokens"]
    most = "as many agent calls as the run will allow" if calls is None else plural(calls, "agent call")
    return f"at most {most}" + (f"; stops at {' or '.join(stops)}" if stops else "; no limit of cost or time")


def send_for_assistant(
    project: Project, run: str, command: RunCommand, speaker: Speaker, *, continues: bool
) -> str:
    """Send a command to a run, and with `continues` have a process drive it if none does; returns the run's id."""
    head = project.run(run)
    anyio.run(partial(project.commands.send, head.run, command, drives=False, channel=speaker.channel))
    if continues:
        wake(project, head.run)
    return head.run


def resume_for_assistant(project: Project, run: str, speaker: Speaker) -> str:
    """Continue a paused, interrupted or parked run; one that has ended is left to a person."""
    from podium.core.messages import Resume

    head = project.run(run)
    status = project.queries.show(head.run).status
    if status in ENDED:
        raise ConfigurationError(
            f"run {head.run} has ended: {status}",
            hint=f"a person can continue it in a new run: podium resume {head.run}",
            code="run_ended",
        )
    if status == "paused":
        return send_for_assistant(project, head.run, Resume(speaker.name), speaker, continues=True)
    wake(project, head.run)
    return head.run
