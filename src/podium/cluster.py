"""Makes the client of a server and the parts of a worker, for runs on several machines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.errors import ConfigurationError

if TYPE_CHECKING:
    from podium.app.project import Project
    from podium.attempt.host import Host
    from podium.core.hash_chain import RunId
    from podium.ports.runtime import Runtime
    from podium.runtime.prepared_run import PreparedRun
    from podium.runtime.routed import MirroredRuntime, Mirrors, RemoteRuntime
    from podium.tasks.task import AttemptTask
    from podium.temporal.run_hosts import HostFor
    from podium.temporal.worker import Tell


def routed_runtime(local: MirroredRuntime, project: Project) -> Runtime:
    """The runtime of a project: this machine, and the servers that its runs remember."""
    from podium.runtime.routed import RoutedRuntime

    return RoutedRuntime(local, lambda address: remote_runtime(address, project, local.mirrors()))


def remote_runtime(address: str, project: Project, mirrors: Mirrors) -> RemoteRuntime:
    """The client of the server at this address."""
    require_temporal()
    from podium.temporal.connection import parse_address
    from podium.temporal.runtime import TemporalRuntime

    def prepared(run: RunId) -> PreparedRun:
        if run in project.prepared:
            return project.prepared[run]
        head = project.runtime.head(run)
        assert head is not None
        return project.prepare(head)

    def exchange_of(source: str) -> str:
        return str(json.loads(source)["exchange"])

    return TemporalRuntime(
        parse_address(address),
        mirrors,
        prepared,
        exchange_of,
        heartbeat_s=_number("PODIUM_HEARTBEAT", 60, least=1),
        continue_after=int(_number("PODIUM_HISTORY", 0, least=0)),
    )


def _number(name: str, default: float, *, least: float) -> float:
    """A setting of the environment."""
    text = os.environ.get(name, str(default))
    try:
        value = float(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise ConfigurationError(f'{name} must be a number of at least {least:g}, not "{text}"')
    return value


def run_worker(  # noqa: PLR0913  # the options of a worker
    address: str,
    *,
    folder: Path,
    name: str,
    labels: Sequence[str],
    slots: int,
    host_for: HostFor,
    home: Path | None = None,
    home_host_for: HostFor | None = None,
    only: bool = False,
    tell: Tell,
) -> None:
    """Perform attempts of runs of a server until a signal comes."""
    import asyncio

    require_temporal()
    from podium.app.placement import LOCAL, own_labels
    from podium.tasks.at_home import HOME
    from podium.temporal.connection import parse_address
    from podium.temporal.worker import WorkerSettings, work

    own = () if only else own_labels()
    settings = WorkerSettings(
        address=parse_address(address),
        folder=folder,
        name=name,
        # All workers serve the queue of `local`, and home has one of its own.
        labels=tuple(dict.fromkeys(label for label in (*labels, *own) if label not in (LOCAL, HOME))),
        slots=slots,
        home=home,
        home_host_for=home_host_for,
        only=only,
    )
    asyncio.run(work(settings, host_for, lacking_for, tell))


def lacking_for(task: AttemptTask, host: Host) -> tuple[str, ...]:
    """What this machine lacks for a task: programs and logins of agents, and the sandbox that it needs."""
    from podium.app.run.preflight import HostCapabilities, agents_not_ready, lacking_sandbox, unsupported
    from podium.core.model import Block, Workflow
    from podium.tasks.task import AgentWork

    typed = host.context.sandbox
    machine = HostCapabilities(host.agents, typed)
    if typed in (None, "auto"):
        machine = HostCapabilities(
            host.agents, typed, host.sandboxes.bubblewrap_problem, host.sandboxes.container_problem
        )
    if not isinstance(task.work, AgentWork):
        return lacking_sandbox(task.step, machine, uses_models=host.context.uses_models)
    alone = Workflow(name="", body=Block("seq", (task.step,)), config=task.work.config)
    return (*unsupported(alone, machine), *agents_not_ready(alone, host.agents, host.host_env))


def require_temporal() -> None:
    from importlib.util import find_spec

    if find_spec("temporalio") is None:
        raise ConfigurationError(
            "runs on several machines need the package temporalio", hint="pip install 'podium[temporal]'"
        )
