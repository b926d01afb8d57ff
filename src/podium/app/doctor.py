"""Whether agents can work on this machine, in which sandbox, and why a workflow could not run, with what to do."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import yaml

from podium import __version__
from podium.app.agents import AgentListing, list_agents, version_of
from podium.app.author.load import resolved
from podium.app.gate_trials import GateReport
from podium.app.run import preflight
from podium.app.run.drive import Observer
from podium.app.run.preflight import agents_in_use, agents_not_ready, unsupported, unusable_keys
from podium.app.run.start import RunRequest
from podium.attempt.host import Host
from podium.core.model import Workflow
from podium.credentials import auth_of
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.repository import read_head
from podium.ports.agent import Agents
from podium.ports.runtime import DrivenRun
from podium.ports.sandbox import Sandbox
from podium.process.host_programs import host_path
from podium.views.files.run_json import cost_of
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import duration_of

if TYPE_CHECKING:
    from podium.app.cluster_check import ClusterCheck
    from podium.app.notify.project_messages import ChannelCheck
    from podium.app.project import Project

PROMPT: Final = (
    "This is a test of the connection. Change no file and use no tool. Answer with one word: ready"
)
TIMEOUT: Final = "2m"


@dataclass(frozen=True, slots=True)
class MachineReport:
    podium: str
    python: str
    sqlite: str
    git: str | None
    sandbox: str
    """The sandbox that would apply."""
    in_force: tuple[str, ...]
    """What it enforces."""
    unbounded: tuple[str, ...]
    """What this machine cannot limit there."""


@dataclass(frozen=True, slots=True)
class Probe:
    """One call of an agent's model."""

    agent: str
    ok: bool
    message: str
    """Why not."""
    duration_s: float
    tokens: int
    cost_usd: float | None
    """None: unknown."""


@dataclass(frozen=True, slots=True)
class FreeCheck:
    """What an agent's service answered to a question that costs nothing."""

    agent: str
    ok: bool | None
    """None: it could not be told."""
    message: str


@dataclass(frozen=True, slots=True)
class Checkup:
    machine: MachineReport
    agents: tuple[AgentListing, ...]
    checks: tuple[FreeCheck, ...]
    probes: tuple[Probe, ...]
    gates: tuple[GateReport, ...]
    problems: tuple[str, ...]
    """Why the workflow could not run; empty if it could, or if none was named."""
    used: tuple[str, ...] = ()
    """The agents that may work in the workflow; empty if none was named."""
    channels: tuple[ChannelCheck, ...] = ()
    cluster: ClusterCheck | None = None
    """The server that was named."""

    @property
    def ok(self) -> bool:
        is_ready = self.cluster is None or not self.cluster.problems
        return not self.problems and is_ready and all(probe.ok for probe in self.probes)

    def data(self) -> dict[str, Any]:
        fields = asdict(self)
        del fields["used"]
        channels = [each._asdict() for each in self.channels]
        cluster = None if self.cluster is None else self.cluster._asdict()
        return {
            "ok": self.ok,
            **fields,
            "problems": list(self.problems),
            "channels": channels,
            "cluster": cluster,
        }


async def machine(sandbox: Sandbox, env: Mapping[str, str]) -> MachineReport:
    git = shutil.which("git", path=host_path(env))
    return MachineReport(
        podium=__version__,
        python=platform.python_version(),
        # The library that brings its own SQLite has its version, and a number for itself.
        sqlite=version("apsw").rpartition(".")[0],
        git=None if git is None else await version_of(git, env),
        sandbox=sandbox.level,
        in_force=sandbox.in_force,
        unbounded=sandbox.unbounded,
    )


async def agents_of(workflow: Workflow, agents: Agents, env: Mapping[str, str]) -> tuple[AgentListing, ...]:
    return await list_agents(workflow.config.agents, agents, env)


async def check_agents(
    workflow: Workflow, agents: Agents, env: Mapping[str, str], listings: Iterable[AgentListing]
) -> tuple[FreeCheck, ...]:
    """Ask the services of the agents that lack nothing, all at once."""
    answers: dict[str, FreeCheck] = {}

    async def ask(listing: AgentListing) -> None:
        agent = agents.get(listing.type)
        config = workflow.config.agents.get(listing.name, {})
        if agent is None or listing.wanting or not agent.type.check or auth_of(agent, config, env) == "login":
            return
        module, _, name = agent.type.check.partition(":")
        answer = await getattr(import_module(module), name)(config, env)
        answers[listing.name] = FreeCheck(listing.name, answer.ok, answer.message)

    async with anyio.create_task_group() as group:
        for listing in listings:
            group.start_soon(ask, listing)
    return tuple(answers[name] for name in sorted(answers))


def problems_before_run(
    workflow: Workflow, host: Host, checks: Iterable[FreeCheck], gates: Iterable[GateReport]
) -> tuple[str, ...]:
    """What only a prepared host can tell: keys, gates, services, and the repository."""
    failed = {check.agent: check.message for check in checks if check.ok is False}
    used = agents_in_use(workflow, host.agents, host.host_env)
    is_empty = host.repository is not None and read_head(host.repository).commit is None
    return (
        *(("the repository has no commits; git add -A && git commit",) if is_empty else ()),
        *unusable_keys(workflow, host),
        *(f"agent {name}: {failed[name]}" for name in used if name in failed),
        *(f"{gate.label}: {gate.command}: {gate.message}" for gate in gates if gate.stops),
    )


def problems_of(
    workflow: Workflow,
    agents: Agents,
    env: Mapping[str, str],
    *,
    sandbox: str | None,
    sandbox_unavailable: str = "",
) -> tuple[str, ...]:
    """Each with the step and what to do.

    `sandbox` is the level that the user typed, `sandbox_unavailable` the reason why a stronger one does not work.
    """
    secrets = [name for name in workflow.config.secrets if not env.get(name)]
    return (
        *unsupported(workflow, preflight.HostCapabilities(agents, sandbox, sandbox_unavailable)),
        *agents_not_ready(workflow, agents, env),
        *(f"secret {name} has no value; export {name}=..." for name in secrets),
        *(() if shutil.which("git", path=host_path(env)) else ("git is not installed",)),
    )


def settings_of(file: Path, *, user_dir: Path | None) -> Mapping[str, Any]:
    """The agents of a workflow with the configuration of project, user and Podium merged in."""
    agents: Mapping[str, Any] = yaml.safe_load(resolved(file, user_dir=user_dir)).get("agents") or {}
    return agents


def probe(project: Project, settings: Mapping[str, Any], name: str, *, sandbox: str | None) -> Probe:
    """Ask an agent for one word in a run of its own, so that the call is launched and sandboxed like every attempt."""
    step = {"agent": name, "prompt": PROMPT, "no_change": "pass", "retry": "none", "timeout": TIMEOUT}
    file = project.root / "probe.yaml"
    file.write_text(
        json.dumps({"podium": 1, "name": "doctor", "agents": settings, "steps": {"probe": step}}), "utf-8"
    )
    try:
        definition = project.load(file)
        started = project.commands.start(
            RunRequest(definition=definition, no_human=True, sandbox=sandbox, accepts=("*",))
        )
    except ConfigurationError as error:
        return Probe(name, ok=False, message=error.message, duration_s=0, tokens=0, cost_usd=0)
    builder = RunViewBuilder()

    def on_turn(driven: DrivenRun) -> None:
        builder.feed(driven.events[builder.view().seq :])

    anyio.run(partial(project.commands.drive, started.run, park=False, observer=Observer(on_turn)))
    view = builder.view()
    (probe_step,) = (step for step in view.steps if step.path == "probe")
    return Probe(
        agent=name,
        ok=probe_step.outcome == "passed",
        message="" if probe_step.outcome == "passed" else (probe_step.words or probe_step.reason),
        duration_s=round(duration_of(probe_step, view.at) / 1000, 1),
        tokens=probe_step.tokens,
        cost_usd=cost_of(probe_step),
    )
