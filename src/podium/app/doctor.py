"""Whether agents can work on this machine, in which sandbox, and why a workflow could not run, with what to do."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import yaml

from podium import __version__
from podium.app.agents import AgentListing, list_agents, version_of
from podium.app.author.load import resolved
from podium.app.run import preflight
from podium.app.run.drive import Observer
from podium.app.run.preflight import agents_not_ready, unsupported
from podium.app.run.start import RunRequest
from podium.core.fast_dataclass import dataclass
from podium.core.model import Workflow
from podium.errors import ConfigurationError
from podium.ports.agent import Agents
from podium.ports.runtime import DrivenRun
from podium.ports.sandbox import Sandbox
from podium.views.files.run_json import cost_of
from podium.views.run.builder import RunViewBuilder
from podium.views.run.view import duration_of

if TYPE_CHECKING:
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
class Checkup:
    machine: MachineReport
    agents: tuple[AgentListing, ...]
    probes: tuple[Probe, ...]
    problems: tuple[str, ...]
    """Why the workflow could not run; empty if it could, or if none was named."""

    @property
    def ok(self) -> bool:
        return not self.problems and all(probe.ok for probe in self.probes)

    def data(self) -> dict[str, Any]:
        return {"ok": self.ok, **asdict(self), "problems": list(self.problems)}


async def machine(sandbox: Sandbox, env: Mapping[str, str]) -> MachineReport:
    git = shutil.which("git", path=env.get("PATH", ""))
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
        *(() if shutil.which("git", path=env.get("PATH", "")) else ("git is not installed",)),
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
