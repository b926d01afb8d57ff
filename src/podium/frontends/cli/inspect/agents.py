"""`podium agents`: which agents can work here."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.paths import user_dir
from podium.frontends.cli.output import complain, table
from podium.frontends.cli.shell_completion import complete_workflow

if TYPE_CHECKING:
    from podium.app.agents import AgentListing
    from podium.core.model import Workflow
    from podium.ports.agent import InstalledAgent


PLAIN_WORKFLOW = 'podium: 1\nname: plain\nsteps: {look: {run: ["true"]}}\n'
"""Used without FILE: a workflow that names no agent."""


@click.command("agents", short_help="List agents: what is installed, and how each logs in.")
@click.argument("file", required=False, type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option("--matrix", "as_matrix", is_flag=True, help="Print what each agent type supports.")
@click.option(
    "--gpu", "as_gpu", is_flag=True, help="Print the GPUs and the local models that fit this machine."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of agents."
)
def command(file: Path | None, as_matrix: bool, as_gpu: bool, as_json: bool) -> int:
    """List the agents that need no configuration, and those that the workflow FILE can use.

    Programs are only asked for their version; no model is called. Of a key, only the variable's name and
    whether it is set are shown.
    """
    import anyio

    from podium.adapters.agents.registry import local_models
    from podium.app.agents import data_of, list_agents, matrix
    from podium.wiring import agents_to_list

    workflow = open_or_plain(file)
    installed = agents_to_list(workflow, dict(os.environ))
    for fault in installed.look_up_all():
        complain(fault)
    configured = workflow.config.agents
    listing = anyio.run(list_agents, configured, installed, dict(os.environ))
    supported = matrix(installed)
    gpu = anyio.run(local_models, configured, dict(os.environ)) if as_gpu or as_json else None
    if as_json:
        data = {"agents": data_of(listing), "matrix": data_of(supported), "gpu": gpu}
        click.echo(json.dumps(data, indent=2))
        return 0
    if gpu is not None:
        cards = [f"{card['name']}, {card['gb']} GB" for card in gpu["cards"]]
        click.echo("; ".join(cards) or "no graphics card was found")
        click.echo(f"tier {gpu['tier']}, context {gpu['context']} tokens, fallback {gpu['fallback']}\n")
        table(("role", "model"), list(gpu["models"].items()))
        return 0
    if as_matrix:
        lines = data_of(supported)
        table(tuple(lines[0]), [tuple(map(_word, line.values())) for line in lines])
        return 0
    rows = [(a.name, a.type, _state(a, installed.get(a.type)), a.version or "-", a.auth) for a in listing]
    table(("agent", "type", "program", "version", "auth"), rows)
    return 0


def open_or_plain(file: Path | None) -> Workflow:
    """The workflow, or one that names no agent, with the agents of the user's configuration."""
    from podium.app.author.load import open_workflow

    if file is not None:
        return open_workflow(file, user_dir=user_dir())
    with tempfile.TemporaryDirectory(prefix="podium-agents-") as folder:
        place = Path(folder) / "plain.yaml"
        place.write_text(PLAIN_WORKFLOW, "utf-8")
        return open_workflow(place, user_dir=user_dir())


def _state(listing: AgentListing, agent: InstalledAgent | None) -> str:
    if agent is None:
        return "not known"
    if not agent.type.program:
        return "built in"
    return "installed" if listing.program else "not installed"


def _word(value: bool | str) -> str:
    if isinstance(value, str):
        return value or "-"
    return "yes" if value else "no"
