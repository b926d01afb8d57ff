"""`podium init`: a first workflow for this project."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from podium.app.places import project_root
from podium.app.starting import propose, write


@click.command("init", short_help="Write a first workflow for this project.")
@click.option("--yes", is_flag=True, help="Write without asking.")
def command(yes: bool) -> int:
    """Look at the project around the current folder, show a workflow that fits it, and write it after a yes.

    Files that are there already are never changed, except that `.podium/` is added to .gitignore.
    """
    project = project_root(Path.cwd())
    proposal = propose(project)
    for path in proposal.kept:
        click.echo(f"{path} is there already and stays as it is", err=True)
    if not proposal.files:
        click.echo("nothing to do", err=True)
        return 0
    found = " ".join(proposal.tests) if proposal.tests else "none was found; add a gate to the workflow"
    click.echo(f"tests: {found}", err=True)
    for path, text in proposal.files.items():
        click.echo(f"\n--- {path}\n{text}", err=True)
    if not yes and not (sys.stdin.isatty() and click.confirm("Write these files?", default=True, err=True)):
        click.echo("nothing was written; say --yes to write them", err=True)
        return 0
    write(project, proposal)
    for path in proposal.files:
        click.echo(str(path))
    click.echo("next: podium validate workflows/change.yaml", err=True)
    return 0
