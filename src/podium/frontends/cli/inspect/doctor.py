"""`podium doctor`: can the agents work here, and would this workflow run?"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

import click

from podium.app.paths import project_root, user_dir
from podium.app.values import parse_settings
from podium.errors import PodiumError
from podium.fast_dataclass import replace
from podium.frontends.cli.output import complain, say
from podium.frontends.cli.shell_completion import complete_sandbox, complete_workflow
from podium.views.format import plural

if TYPE_CHECKING:
    from podium.app.agents import AgentListing
    from podium.app.doctor import Checkup, FreeCheck, Probe
    from podium.app.gate_trials import GateReport
    from podium.core.model import Workflow

PLAIN_WORKFLOW = 'podium: 1\nname: doctor\nsteps: {look: {run: ["true"]}}\n'
"""Used without FILE: a workflow that names no agent."""


@click.command("doctor", short_help="Check that agents and workflows can run on this machine.")
@click.argument("file", required=False, type=click.Path(path_type=Path), shell_complete=complete_workflow)
@click.option(
    "--gates", "trying", is_flag=True, help="Run every gate of FILE on the last commit, inside the sandbox."
)
@click.option(
    "--ping",
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
    "--on",
    metavar="ADDRESS",
    help="Also check a Temporal server, its workers and the exchange, for `podium run --on`.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print a JSON object; its schema: podium schema --of doctor."
)
def command(  # the options of the command
    file: Path | None,
    trying: bool,
    probing: bool,
    only: tuple[str, ...],
    sandbox: str | None,
    on: str | None,
    as_json: bool,
) -> int:
    """Show the agents available here, or used by the workflow FILE, and what is missing.

    For each agent: its program, its version and the tested version, how it logs in, and what is missing. Services
    are asked for their models, which is free. For this machine: Python, SQLite, git, and the sandbox that would
    apply. For each channel of messages: what is missing; nothing is sent. For FILE: what each gate starts is looked for inside the sandbox. Values of keys are never printed. Exit
    code 1 if FILE cannot run or a prompt was not answered.
    """
    if trying and file is None:
        raise click.UsageError("--gates needs a FILE")
    env = dict(os.environ)
    with tempfile.TemporaryDirectory(prefix="podium-doctor-") as folder:
        place = Path(folder) / "doctor.yaml"
        place.write_text(PLAIN_WORKFLOW, "utf-8")
        checkup = _check_up(file, place, env, only=only, sandbox=sandbox, trying=trying, probing=probing)
    if on is not None:
        from podium.cluster import check_cluster

        checkup = replace(checkup, cluster=check_cluster(on, project_root(Path.cwd())))
    if as_json:
        click.echo(json.dumps(checkup.data(), indent=2))
    else:
        for line in _lines(checkup, file):
            say(line)
    return 0 if checkup.ok else 1


def _check_up(
    file: Path | None,
    plain: Path,
    env: dict[str, str],
    *,
    only: tuple[str, ...],
    sandbox: str | None,
    trying: bool,
    probing: bool,
) -> Checkup:
    import anyio

    from podium.adapters.sandboxes.select import bubblewrap_problem, sandbox_of_level
    from podium.app import doctor
    from podium.app.author.load import open_workflow
    from podium.app.notify.project_messages import check_channels
    from podium.app.run.preflight import agents_named
    from podium.wiring import agents_to_list, open_channel

    settings = parse_settings((), sandbox=sandbox)
    workflow = open_workflow(file or plain, user_dir=user_dir(), settings=settings)
    agents = agents_to_list(workflow, env)
    for fault in agents.look_up_all():
        complain(fault)
    machine = anyio.run(doctor.machine, sandbox_of_level(sandbox), env)
    listings = [
        listing
        for listing in anyio.run(doctor.agents_of, workflow, agents, env)
        if not only or listing.name in only
    ]
    checks = anyio.run(doctor.check_agents, workflow, agents, env, listings)
    problems: tuple[str, ...] = ()
    gates: tuple[GateReport, ...] = ()
    used: tuple[str, ...] = ()
    if file is not None:
        used = agents_named(workflow, agents, env)
        problems = doctor.problems_of(
            workflow, agents, env, sandbox=sandbox, sandbox_unavailable=bubblewrap_problem()
        )
        gates, more = _try_before_run(workflow, file, checks, sandbox=sandbox, trying=trying)
        problems = (*problems, *(line for line in more if line not in problems))
    probes = _probe(file or plain, plain.parent, listings, only, sandbox) if probing else ()
    channels = check_channels(
        project_root((file or Path.cwd() / "x").absolute().parent), user_dir(), open_channel
    )
    return doctor.Checkup(machine, tuple(listings), checks, probes, gates, problems, used, channels)


def _try_before_run(
    workflow: Workflow, file: Path, checks: Sequence[FreeCheck], *, sandbox: str | None, trying: bool
) -> tuple[tuple[GateReport, ...], tuple[str, ...]]:
    """The gates of the workflow, and the problems that only a prepared run shows."""
    import anyio

    from podium.app.doctor import problems_before_run
    from podium.app.gate_trials import look_up_gates, try_gates
    from podium.wiring import trial_host

    inputs = {item.name: item.default for item in workflow.inputs if not item.required}
    try:
        with trial_host(workflow, project_root(file.absolute().parent), sandbox=sandbox) as host:
            if trying:
                gates = anyio.run(try_gates, host, workflow, inputs, _announce)
            else:
                gates = anyio.run(look_up_gates, host, workflow, inputs)
            return gates, problems_before_run(workflow, host, checks, gates)
    except PodiumError as error:
        return (), (error.message,)


def _announce(text: str) -> None:
    say(f"trying {text}", err=True)


def _probe(
    file: Path, folder: Path, listings: Sequence[AgentListing], only: tuple[str, ...], sandbox: str | None
) -> tuple[Probe, ...]:
    from podium.app import doctor
    from podium.wiring import open_project

    settings = doctor.settings_of(file, user_dir=user_dir())
    project = open_project(folder, create=True)
    try:
        return tuple(
            doctor.probe(project, settings, listing.name, sandbox=sandbox)
            for listing in listings
            if only or not listing.wanting
        )
    finally:
        project.close()


def _lines(checkup: Checkup, file: Path | None) -> Iterator[str]:
    machine = checkup.machine
    yield f"podium {machine.podium}, python {machine.python}, sqlite {machine.sqlite}, git {machine.git or 'not found'}"
    enforced = f"; enforced: {', '.join(machine.in_force)}" if machine.in_force else ""
    yield f"sandbox {machine.sandbox}{enforced}"
    if machine.unbounded:
        yield f"  not limited on this machine: {', '.join(machine.unbounded)}"
    probes = {probe.agent: probe for probe in checkup.probes}
    checks = {check.agent: check for check in checkup.checks}
    for agent in checkup.agents:
        if not checkup.used or agent.name in checkup.used or agent.name in probes:
            yield ""
            yield from _agent(agent, checks.get(agent.name), probes.get(agent.name))
    usable = [gate for gate in checkup.gates if not gate.stops]
    if usable:
        yield ""
        yield from (f"{gate.label}: {gate.command}: {_state(gate)}" for gate in usable)
    if checkup.channels:
        yield ""
    for channel in checkup.channels:
        yield f"channel {channel.name}: {channel.fault or 'ready'}"
    if checkup.cluster is not None:
        yield ""
        yield from checkup.cluster.lines()
    if checkup.problems:
        yield f"\n{file} cannot run:"
        yield from (f"  {line}" for line in checkup.problems)
    elif file is not None:
        yield f"\n{file} can run"


def _state(gate: GateReport) -> str:
    tests = "" if not gate.tests else f", {plural(gate.tests, 'test')}"
    match gate.status:
        case None:
            return "found"
        case "passed":
            return f"passes{tests} ({gate.duration_s} s)"
        case "red":
            return f"red on the base{tests}: {gate.message}"
        case "no_tests":
            return f"runs no tests on the base: {gate.message}"
        case "unknown":
            return f"not tried: {gate.message}"
        case "missing" | "timeout" | "error":
            return gate.message
        case status:
            assert_never(status)


def _agent(agent: AgentListing, check: FreeCheck | None, probe: Probe | None) -> Iterator[str]:
    kind = "" if agent.type == agent.name else f" ({agent.type})"
    fault = check.message if check is not None and check.ok is False else ""
    lacks = agent.wanting or fault
    yield (
        lacks
        if lacks.startswith(f"{agent.name} ") and not kind
        else f"{agent.name}{kind}: {lacks or 'ready'}"
    )
    if agent.program:
        tested = "" if agent.version == agent.tested or not agent.tested else f" (tried: {agent.tested})"
        yield f"  program  {agent.program}, {agent.version or 'version unknown'}{tested}"
    yield f"  auth     {agent.auth}"
    if check is not None and check.ok is None:
        yield f"  service  not checked: {check.message}"
    if probe is not None:
        cost = "cost unknown" if probe.cost_usd is None else f"${probe.cost_usd:.4f}"
        result = f"answered, {probe.tokens} tokens, {cost}" if probe.ok else f"failed: {probe.message}"
        yield f"  probe    {result} ({probe.duration_s} s)"
