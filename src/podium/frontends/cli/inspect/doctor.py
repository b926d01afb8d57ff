"""`podium doctor`: can the agents work here, and would this workflow run?"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from podium.app.paths import user_dir
from podium.app.values import parse_settings
from podium.frontends.cli.output import complain
from podium.frontends.cli.shell_completion import complete_sandbox, complete_workflow

if TYPE_CHECKING:
    from podium.app.agents import AgentListing
    from podium.app.doctor import Checkup, Probe

PLAIN_WORKFLOW = 'podium: 1\nname: doctor\nsteps: {look: {run: ["true"]}}\n'
"""Used without FILE: a workflow that names no agent."""


@click.command("doctor", short_help="Check that agents and workflows can run on this machine.")
@click.argument("file", required=False, type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--probe",
    "probing",
    is_flag=True,
    help="Send one short prompt to each agent's model; this may cost a little.",
)
@click.option("--agent", "only", multiple=True, metavar="NAME", help="Check only this agent; repeatable.")
@click.option(
    "--sandbox",
    metavar="LEVEL",
    help="Sandbox level to check for: auto (default), container, bubblewrap, limits or none.",
    shell_complete=complete_sandbox,
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of doctor."
)
def command(
    file: Path | None, probing: bool, only: tuple[str, ...], sandbox: str | None, as_json: bool
) -> int:
    """Show the agents available here, or used by the workflow FILE, and what is missing.

    For each agent: its program, its version and the tested version, how it logs in, and what is missing. For
    this machine: Python, SQLite, git, and the sandbox that would apply. Values of keys are never printed. Exit
    code 1 if FILE could not run or a probe failed.
    """
    import anyio

    from podium.adapters.sandboxes.select import bubblewrap_problem, sandbox_of_level
    from podium.app import doctor
    from podium.app.author.load import open_workflow
    from podium.wiring import agents_to_list, open_project

    env = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="podium-doctor-") as folder:
        place = Path(folder) / "doctor.yaml"
        place.write_text(PLAIN_WORKFLOW, "utf-8")
        workflow = open_workflow(
            file or place, user_dir=user_dir(), settings=parse_settings((), sandbox=sandbox)
        )
        agents = agents_to_list(workflow, env)
        for fault in agents.look_up_all():
            complain(fault)
        machine = anyio.run(doctor.machine, sandbox_of_level(sandbox), env)
        listings = [
            listing
            for listing in anyio.run(doctor.agents_of, workflow, agents, env)
            if not only or listing.name in only
        ]
        problems = (
            ()
            if file is None
            else doctor.problems_of(
                workflow, agents, env, sandbox=sandbox, sandbox_unavailable=bubblewrap_problem()
            )
        )
        probes: list[Probe] = []
        if probing:
            settings = doctor.settings_of(file or place, user_dir=user_dir())
            project = open_project(Path(folder), create=True)
            try:
                probes = [
                    doctor.probe(project, settings, listing.name, sandbox=sandbox)
                    for listing in listings
                    if only or not listing.wanting
                ]
            finally:
                project.close()
    checkup = doctor.Checkup(machine, tuple(listings), tuple(probes), problems)
    if as_json:
        click.echo(json.dumps(checkup.data(), indent=2))
    else:
        for line in _lines(checkup, file):
            click.echo(line)
    return 0 if checkup.ok else 1


def _lines(checkup: Checkup, file: Path | None) -> Iterator[str]:
    machine = checkup.machine
    yield f"podium {machine.podium}, python {machine.python}, sqlite {machine.sqlite}, git {machine.git or 'not found'}"
    enforced = f"; enforced: {', '.join(machine.in_force)}" if machine.in_force else ""
    yield f"sandbox {machine.sandbox}{enforced}"
    if machine.unbounded:
        yield f"  not limited on this machine: {', '.join(machine.unbounded)}"
    probes = {probe.agent: probe for probe in checkup.probes}
    for agent in checkup.agents:
        yield ""
        yield from _agent(agent, probes.get(agent.name))
    if checkup.problems:
        yield f"\n{file} could not run:"
        yield from (f"  {line}" for line in checkup.problems)
    elif file is not None:
        yield f"\n{file} could run"


def _agent(agent: AgentListing, probe: Probe | None) -> Iterator[str]:
    kind = "" if agent.type == agent.name else f" ({agent.type})"
    yield f"{agent.name}{kind}: {agent.wanting or 'ready'}"
    if agent.program:
        tested = "" if agent.version == agent.tested or not agent.tested else f" (tried: {agent.tested})"
        yield f"  program  {agent.program}, {agent.version or 'version unknown'}{tested}"
    yield f"  auth     {agent.auth}"
    if probe is not None:
        cost = "cost unknown" if probe.cost_usd is None else f"${probe.cost_usd:.4f}"
        result = f"answered, {probe.tokens} tokens, {cost}" if probe.ok else f"failed: {probe.message}"
        yield f"  probe    {result} ({probe.duration_s} s)"
