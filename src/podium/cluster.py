"""Makes the client of a server and the parts of a worker, for runs on several machines."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from podium.errors import ConfigurationError, PodiumError

if TYPE_CHECKING:
    from podium.app.cluster_check import ClusterCheck
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
    from podium.app.run.start import RunSource, prepare_run
    from podium.temporal.connection import parse_address
    from podium.temporal.runtime import TemporalRuntime

    def prepared(run: RunId) -> PreparedRun:
        if run in project.prepared:
            return project.prepared[run]
        head = project.runtime.head(run)
        assert head is not None
        try:
            loaded = project.prepare(head)
        except ConfigurationError:
            loaded = None
        if loaded is None or loaded.workflow.fingerprint != head.fingerprint:
            # Nothing is performed here, so the files of this checkout may differ from those of the run.
            loaded = project.driven[run] = prepare_run(
                project, run, runtime.definition_of(run), RunSource.of(head)
            )
        return loaded

    def exchange_of(source: str) -> str:
        return str(json.loads(source)["exchange"])

    runtime = TemporalRuntime(
        parse_address(address),
        mirrors,
        prepared,
        exchange_of,
        heartbeat_s=_number("PODIUM_HEARTBEAT", 60, least=1),
        continue_after=int(_number("PODIUM_HISTORY", 0, least=0)),
    )
    return runtime


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


def take_up_runs(address: str, project: Project, waiting_for: str | None) -> tuple[list[RunId], int]:
    """The runs of a server that belong to this project, copied, and how many belong to others."""
    from podium.git.repository import find, has_commit
    from podium.runtime.routed import RoutedRuntime

    repository = find(project.root, project.paths.trees)
    if repository is None:
        raise ConfigurationError(f"{project.root} is not in a git repository, so no run of a server is of it")
    runtime = project.runtime
    assert isinstance(runtime, RoutedRuntime)
    return runtime.take_up(address, waiting_for, lambda commit: has_commit(repository, commit))


def check_cluster(address: str, folder: Path) -> ClusterCheck:
    """Whether a run that is started in this folder would be performed."""
    import asyncio

    from podium.app.cluster_check import ClusterCheck, exchange_fault

    require_temporal()
    from podium.temporal.connection import parse_address
    from podium.temporal.looking import CHECK_S, check_server

    exchange, fault = exchange_fault(folder)
    problems = [fault] if fault else []
    try:
        report = asyncio.run(asyncio.wait_for(check_server(parse_address(address), folder), CHECK_S))
    except TimeoutError:
        return ClusterCheck(address, exchange, problems=(f"{address} does not answer", *problems))
    except PodiumError as error:
        return ClusterCheck(address, exchange, problems=(error.message, *problems))
    if not report["workers"]:
        problems.insert(0, f"no worker takes work from it; start one: podium worker --on {address}")
    return ClusterCheck(
        address,
        exchange,
        server=report["server"],
        encrypted=report["encrypted"],
        searchable=report["searchable"],
        workers=tuple(report["workers"]),
        home=tuple(report["home"]),
        problems=tuple(problems),
    )


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
