"""The composition root: the one place that chooses the adapters of all ports."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from podium.errors import ConfigurationError
from podium.files.project_paths import ProjectPaths, cache_dir

if TYPE_CHECKING:
    from podium.adapters.agents.registry import InstalledAgents
    from podium.adapters.agents.scripted.agent import Scripted
    from podium.app.project import HostFor, Project
    from podium.app.workflow_tests.stage import TestProject
    from podium.attempt.host import Host
    from podium.context.cache import FactCache
    from podium.core.hash_chain import RunId
    from podium.core.model import Workflow
    from podium.credentials import Logins
    from podium.ports.agent import Agent, Agents
    from podium.ports.agent_type import AgentType
    from podium.ports.channel import Channel, ChannelSettings
    from podium.ports.child_runs import ChildRuns
    from podium.ports.exporter import RunExporter
    from podium.ports.history import HistoryStore, LocalHistory
    from podium.ports.outbox import Messaging, Outbox
    from podium.ports.store import Store
    from podium.redaction.mask import Mask
    from podium.tasks.run_context import AgentUse, RunContext


_NATIVE: Final = re.compile(r"^podium\s*:", re.MULTILINE)


def open_store(paths: ProjectPaths, *, create: bool = False) -> Store:
    """Open the store of a project; without `create` it must exist."""
    from podium.adapters.stores.sqlite import SqliteStore

    if not create and not paths.database.exists():
        if paths.runs_dir.is_dir() and any(paths.runs_dir.iterdir()):
            raise ConfigurationError(
                f"{paths.runs_dir} has folders of runs, but their log {paths.database.name} is missing",
                hint=f"restore {paths.database}, or move the folders away",
            )
        raise ConfigurationError(
            f"no runs in {paths.root}",
            hint="start one with: podium run FILE, or try: podium demo",
            code="no_runs",
        )
    return SqliteStore(paths.database)


def open_history(paths: ProjectPaths, *, read_only: bool = False) -> LocalHistory:
    """The history of a project, which is created if it is not there."""
    from podium.adapters.history.sqlite import SqliteHistory

    return SqliteHistory(paths.history, name=paths.root.name, read_only=read_only)


def open_shared_history(address: str) -> HistoryStore:
    """The history of several machines in a PostgreSQL database."""
    from podium.adapters.history.postgres import PostgresHistory

    return PostgresHistory(address)


def open_project(
    root: Path,
    *,
    user_dir: Path | None = None,
    create: bool = False,
    host_for: HostFor | None = None,
    state_dir: Path | None = None,
    sends_messages: bool = True,
) -> Project:
    """The project with this root and its adapters; `state_dir` stores its runs in another folder."""
    from podium.app.project import Project
    from podium.cluster import routed_runtime
    from podium.engine.local import LocalRuntime

    def child_runs(project: Project, sandbox: str | None) -> ChildRuns:
        from podium.app.other_projects import OtherProjectRuns

        with_same = partial(open_project, user_dir=user_dir, host_for=host_for, sends_messages=sends_messages)
        return OtherProjectRuns(project, sandbox, open_other=partial(with_same, create=True))

    paths = ProjectPaths(root, state_dir)
    store = open_store(paths, create=create)
    return Project(
        paths,
        user_dir=user_dir,
        host_for=host_for or make_host,
        exporters_for=exporters_for,
        make_runtime=lambda project: routed_runtime(LocalRuntime(store, paths, project), project),
        open_history=lambda: open_history(paths),
        messaging=messaging_of(paths) if sends_messages and state_dir is None else None,
        child_runs=child_runs,
    )


def messaging_of(paths: ProjectPaths) -> Messaging:
    from podium.ports.outbox import Messaging

    return Messaging(lambda: open_outbox(paths), open_channel)


def open_outbox(paths: ProjectPaths) -> Outbox:
    """The messages of a project to people; created if it does not exist."""
    from podium.adapters.stores.outbox import SqliteOutbox

    return SqliteOutbox(paths.outbox)


def open_channel(settings: ChannelSettings, env: Mapping[str, str]) -> Channel:
    from podium.adapters.channels import open as channels

    return channels.open_channel(settings, env)


def exporters_for(run_dir: Path, text: str, mask: Mask, project: Path) -> tuple[RunExporter, ...]:
    """The exporters for the format of a workflow file with this text."""
    if _NATIVE.search(text) is not None or not text:
        return ()
    from podium.adapters.exporters.gates.folder import GatesFolder
    from podium.adapters.exporters.gates.labels import file_name, read_labels
    from podium.adapters.exporters.gates.shared_folder import SharedFolder

    labels = read_labels(text)
    if labels is None:
        return ()
    return (GatesFolder(run_dir, labels, mask, SharedFolder(project, run_dir.name, file_name(labels.id))),)


def open_stage(root: Path, staged: TestProject) -> tuple[Project, Scripted | None]:
    """A project that runs a test with its cast or its recordings; a test without either uses the real agents."""
    from dataclasses import replace

    from podium.adapters.agents.recorded.agent import Recorded
    from podium.adapters.agents.scripted.agent import Scripted
    from podium.ports.clock import SkippingClock

    actor = None if staged.cast is None else Scripted(staged.cast, staged.source)
    stand_in = actor if staged.replay is None else Recorded(staged.replay)
    clock, make = SkippingClock(), partial(make_host, stand_in=stand_in, env={**os.environ, **staged.env})

    def host_for(*args: Any, **options: Any) -> Host:
        return replace(make(*args, **options), now=clock, skip_to=clock.skip_to)

    host = make if stand_in is None else host_for
    return open_project(root, create=True, host_for=host, sends_messages=False), actor


def make_host(  # noqa: PLR0913  # the options of a run
    run: RunId,
    workflow: Workflow,
    project: Path,
    *,
    sandbox: str | None = None,
    record: str | None = None,
    replay: str | None = None,
    stand_in: Agent | None = None,
    follows: bool = False,
    env: Mapping[str, str] = os.environ,
) -> Host:
    """The host of a run. `sandbox` is the level that the user typed; `stand_in` replaces all agents.

    `follows`: other machines perform the run, so this one needs neither its secrets nor its sandbox.
    """
    from dataclasses import replace

    is_simulated = stand_in is not None or replay is not None
    context = _context(run, workflow, sandbox, is_simulated=is_simulated)
    context = replace(context, record=record, replay=replay)
    return host_for_run(context, project, stand_in=stand_in, follows=follows, env=env)


def _context(run: RunId, workflow: Workflow, sandbox: str | None, *, is_simulated: bool) -> RunContext:
    from podium.adapters.agents.registry import InstalledAgents
    from podium.app.run.preflight import uses_model_agents
    from podium.tasks.run_context import RunContext

    return RunContext(
        id=run,
        works_in_project=workflow.config.works_in_project,
        secrets=workflow.config.secrets,
        agents=agent_uses(workflow),
        uses_models=uses_model_agents(workflow, {} if is_simulated else InstalledAgents()),
        sandbox=sandbox,
        agents_simulated=is_simulated,
    )


@contextmanager
def trial_host(
    workflow: Workflow, project: Path, *, sandbox: str | None, env: Mapping[str, str] = os.environ
) -> Iterator[Host]:
    """A host for commands that are tried before any run; nothing of it remains in the project."""
    import secrets
    import tempfile
    from dataclasses import replace

    from podium.attempt.workspace.folder_pool import discard_workspace
    from podium.core.hash_chain import RunId
    from podium.process.sweep import sweep

    # Without a value a gate cannot run; that it is missing is reported elsewhere.
    unset = {name: f"no-value-of-{name}" for name in workflow.config.secrets if not env.get(name)}
    with tempfile.TemporaryDirectory(prefix="podium-trial-") as folder:
        run = RunId(f"trial-{secrets.token_hex(4)}")
        context = _context(run, workflow, sandbox, is_simulated=False)
        made = host_for_run(context, project, env={**env, **unset}, store=Path(folder) / "git")
        # Outside of git commands run in the project itself, where Podium's folder must stay hidden.
        host = made if made.repository is None else replace(made, state_dir=Path(folder))
        try:
            yield host
        finally:
            sweep(host.marker)
            for place in (host.work_dir, host.run_dir):
                discard_workspace(place)


def host_for_run(
    context: RunContext,
    project: Path,
    *,
    stand_in: Agent | None = None,
    follows: bool = False,
    env: Mapping[str, str] = os.environ,
    store: Path | None = None,
) -> Host:
    """The host that carries out the tasks of a run on this machine. `store` replaces Podium's git folder in the project."""
    from podium.adapters.presence.passkeys import PasskeyCheck, PasskeyFile
    from podium.adapters.prices import public_price
    from podium.adapters.sandboxes.select import select_sandboxes
    from podium.attempt.host import Host
    from podium.attempt.workspace.toolchain import find_toolchain, path_outside
    from podium.credentials import read_keys, tokens_of
    from podium.git.repository import find
    from podium.redaction.mask import Mask

    paths = ProjectPaths(project)
    paths.make_work_root()
    marker = paths.marker(context.id)
    path = env.get("PATH", os.defpath)
    toolchain = find_toolchain(project, path)
    needed = [name for name in context.secrets if env.get(name)] if follows else context.secrets
    secrets = read_secrets(needed, env)
    if context.replay is not None:
        from podium.adapters.agents.recorded.agent import Recorded

        stand_in = Recorded(project / context.replay)
    agents, logins = agents_for(context.agents, env) if stand_in is None else played_by(stand_in, context)
    keys = read_keys(
        (*((agent.type, {}) for agent in agents.values()), *used_agents(context.agents, agents)), env
    )
    mask = Mask({**keys, **tokens_of(logins.contents), **secrets})

    def keep_login(kind: str, content: bytes) -> None:
        if logins.renew(kind, content):
            mask.learn(tokens_of({kind: content}))

    return Host(
        context=context,
        project=project,
        state_dir=paths.state_dir,
        work_dir=paths.work_dir(context.id),
        repository=find(project, store or paths.trees, marker),
        agents=agents,
        sandboxes=select_sandboxes(None if follows else context.sandbox, uses_models=context.uses_models),
        marker=marker,
        mask=mask,
        keep_login=keep_login,
        presence=PasskeyCheck(PasskeyFile(_user_dir(env))),
        secrets=secrets,
        price_of=public_price,
        host_env={**env, "PATH": path_outside(project, path, toolchain)},
        toolchain=toolchain,
        open_facts=partial(_open_facts, paths.code_facts),
    )


def make_preview_host(project: Path) -> Host:
    """A host for previews: it creates nothing, reads no secret, and uses the files in the folder."""
    from podium.adapters.agents.registry import InstalledAgents
    from podium.adapters.sandboxes.select import select_sandboxes
    from podium.attempt.host import Host
    from podium.core.hash_chain import RunId
    from podium.redaction.mask import Mask
    from podium.tasks.run_context import RunContext

    return Host(
        context=RunContext(RunId("rehearsal"), sandbox="none"),
        project=project,
        state_dir=ProjectPaths(project).state_dir,
        work_dir=cache_dir() / "work",
        repository=None,
        agents=InstalledAgents(),
        sandboxes=select_sandboxes("none", uses_models=False),
        marker="podium-looking",
        mask=Mask(),
        host_env=dict(os.environ),
    )


@contextmanager
def context_host(project: Path) -> Iterator[Host]:
    """A preview host that reads the commit a run would start from, with its history; nothing remains in the project."""
    import tempfile
    from dataclasses import replace

    from podium.git.repository import find, read_head

    host = make_preview_host(project)
    with tempfile.TemporaryDirectory(prefix="podium-context-") as folder:
        repository = find(project, Path(folder) / "git")
        commit = None if repository is None else read_head(repository).commit
        yield replace(
            host,
            repository=repository,
            context=replace(host.context, base_commit=commit),
            open_facts=partial(_open_facts, ProjectPaths(project).code_facts),
        )


def _user_dir(env: Mapping[str, str]) -> Path:
    base = env.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path.home() / ".config") / "podium"


def _open_facts(path: Path) -> AbstractContextManager[FactCache]:
    # Imported here: only an agent whose prompt has packed code needs it.
    from podium.adapters.stores.code_facts import open_code_facts

    return open_code_facts(path)


def read_secrets(declared: Sequence[str], env: Mapping[str, str]) -> dict[str, str]:
    """The values of the declared secrets; raises ConfigurationError if one is not set."""
    missing = [name for name in declared if not env.get(name)]
    if missing:
        raise ConfigurationError(
            f"secret {missing[0]} has no value", hint=f"set it in the environment: export {missing[0]}=..."
        )
    return {name: env[name] for name in declared}


def agents_for(uses: Sequence[AgentUse], env: Mapping[str, str]) -> tuple[InstalledAgents, Logins]:
    """The agents of this machine, and the logins that the agents of a run may use."""
    from podium.adapters.agents.registry import InstalledAgents
    from podium.credentials import read_logins

    logins = read_logins(used_agents(uses, InstalledAgents()), env, cache_dir())
    return InstalledAgents(logins.contents), logins


def agents_to_list(workflow: Workflow, env: Mapping[str, str]) -> InstalledAgents:
    """The agents of this machine with the logins of all that a list shows: those of the workflow, and those that need
    no configuration."""
    from podium.adapters.agents.registry import InstalledAgents
    from podium.tasks.run_context import AgentUse

    plain = (AgentUse(kind, {}) for kind, agent in InstalledAgents().items() if agent.type.listed)
    return agents_for((*plain, *agent_uses(workflow)), env)[0]


def agent_uses(workflow: Workflow) -> tuple[AgentUse, ...]:
    """The agents that a workflow and its sub-workflows configure."""
    from podium.app.run.preflight import agents_of
    from podium.tasks.run_context import AgentUse

    return tuple(AgentUse(kind, config) for kind, config in agents_of(workflow))


def used_agents(uses: Sequence[AgentUse], agents: Agents) -> Iterator[tuple[AgentType, Mapping[str, Any]]]:
    """The installed agents that a run configures, with the settings of each."""
    return ((agents[use.kind].type, use.config) for use in uses if use.kind in agents)


def played_by(adapter: Agent, context: RunContext) -> tuple[Agents, Logins]:
    """Agents of all types with the same adapter, which needs no program and no credentials."""
    from dataclasses import replace

    from podium.adapters.agents.registry import BUILT_IN, built_in
    from podium.credentials import Logins
    from podium.ports.agent import InstalledAgent
    from podium.ports.agent_type import AgentType, Capabilities

    def played(kind: str) -> InstalledAgent:
        capabilities = Capabilities(tools=True, continuity="ignored", price="reported", needs="limits")
        agent_type = built_in(kind) if kind in BUILT_IN else AgentType(kind, "", capabilities)
        return InstalledAgent(replace(agent_type, program="", model="", credentials=None), lambda: adapter)

    kinds = (*BUILT_IN, *(use.kind for use in context.agents))
    return {kind: played(kind) for kind in kinds}, Logins({}, {}, cache_dir())
