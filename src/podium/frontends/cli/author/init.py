"""`podium init`: a first workflow for this project."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import click

from podium.app.author.init import Proposal, proposal_data, propose, template_names, write
from podium.app.paths import project_root


@click.command("init", short_help="Write a first workflow for this project.")
@click.option(
    "--template",
    type=click.Choice(template_names()),
    help="Template to start from (default: a plain workflow).",
)
@click.option("--yes", is_flag=True, help="Write without asking.")
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of init."
)
def command(template: str | None, yes: bool, as_json: bool) -> int:
    """Inspect the current project, propose gates, roles and a workflow, and write them after confirmation.

    Nothing in the project is executed. Existing files are not changed, except that .gitignore gets lines for
    Podium's own folder.
    """
    project = project_root(Path.cwd())
    proposal = propose(project, os.environ, template=template)
    if not as_json:
        _tell(proposal)
    written = bool(proposal.files) and (yes or (not as_json and _agreed()))
    if written:
        write(project, proposal)
    if as_json:
        click.echo(json.dumps(proposal_data(proposal, written=written), indent=2))
    elif written:
        for path in proposal.files:
            click.echo(str(path))
        click.echo(f"next: podium validate {proposal.workflow}", err=True)
    return 0


def _tell(proposal: Proposal) -> None:
    languages = (
        ", ".join(stack.language for stack in proposal.scan.stacks) or "no language that is known here"
    )
    click.echo(f"found: {languages}", err=True)
    for name, gate in proposal.scan.gates().items():
        state = "" if gate.installed else f"; {gate.argv[0]} is not installed here"
        click.echo(f"gate {name}: {' '.join(gate.argv)} ({gate.because}{state})", err=True)
    installed = [name for name, is_installed in proposal.agents.items() if is_installed]
    click.echo(f"agents: {', '.join(installed) or 'none is installed; see podium agents'}", err=True)
    if proposal.roles:
        click.echo(f"roles that fit: {', '.join(proposal.roles)}", err=True)
    for path in proposal.existing:
        click.echo(f"{path} is there already and stays as it is", err=True)
    for path, text in proposal.files.items():
        click.echo(f"\n--- {path}\n{text}", err=True)
    for line in proposal.open:
        click.echo(f"open: {line}", err=True)
    if not proposal.files:
        click.echo("nothing to do", err=True)


def _agreed() -> bool:
    agreed = sys.stdin.isatty() and click.confirm("Write these files?", default=True, err=True)
    if not agreed:
        click.echo("nothing was written; pass --yes to write them", err=True)
    return agreed
