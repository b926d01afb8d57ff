"""Drives a run in a process of its own."""

from __future__ import annotations

import click

from podium.app.decide.sender import wake
from podium.app.project import Project
from podium.core.hash_chain import RunId
from podium.frontends.cli.output import tell_run


def detach(project: Project, run: RunId, *, as_json: bool) -> int:
    """Drive the run in a process of its own and print its id, or with --json the run as it is now."""
    wake(project, run)
    tell_run(project, run) if as_json else click.echo(run)
    return 0
