"""Drives a run in a process of its own."""

from __future__ import annotations

import time
from typing import Final

import click

from podium.app.project import Project
from podium.core.hash_chain import RunId
from podium.frontends.cli.output import tell_run
from podium.process.detach import disown, start_detached

PATIENCE_S: Final = 30.0
LOOK_S: Final = 0.02


def detach(project: Project, run: RunId, *, as_json: bool) -> int:
    """Drive the run in a process of its own and print its id, or with --json the run as it is now."""
    drive_in_background(project, run)
    tell_run(project, run) if as_json else click.echo(run)
    return 0


def drive_in_background(project: Project, run: RunId) -> None:
    """Start a process that drives the run, unless one does already.

    Returns when that process owns the run; otherwise the next command could find a run without an owner.
    """
    folder = project.paths.run_dir(run)
    if project.runtime.is_owned(run):
        return
    child = start_detached("resume", run, cwd=project.root, output=folder / "engine.log")
    deadline = time.monotonic() + PATIENCE_S
    while child.poll() is None and not project.runtime.is_owned(run) and time.monotonic() < deadline:
        time.sleep(LOOK_S)
    disown(child)
