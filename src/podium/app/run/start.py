"""Start a run: find everything that can be wrong with it, then create it; and prepare a stored run."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from podium.adapters.agents.registry import agent_types
from podium.app.author.load import LoadedWorkflow
from podium.app.placement import check_placement, source_text, with_exchange
from podium.app.run.cost_history import History, history_for, usual_of
from podium.app.run.definition import keep_definition, stored_document
from podium.app.run.preflight import (
    HostCapabilities,
    agents_not_ready,
    agents_without_price,
    check_branch,
    check_recordings,
    check_repository,
    masked_env,
    needs_sandbox,
    reject_secret_values,
    unsupported,
    unusable_keys,
)
from podium.app.user_projects import remember_project
from podium.app.values import new_id, own_name, shortened, subject_of, with_defaults
from podium.attempt.host import Host
from podium.core.hash_chain import RunId
from podium.core.messages import Start
from podium.core.model import Workflow
from podium.core.payloads import Chosen, RunFacts, Trial
from podium.core.queries.child_runs import with_child_runs
from podium.core.queries.steps import all_steps, may_call_agents
from podium.core.types import Address, Tree
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.repository import Head, find_head, read_head, read_uncommitted, tree_with_uncommitted
from podium.ports.runtime import RunSpec
from podium.ports.store import RunHead, TriggerEvent
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.records import events_of
from podium.tasks.prior_results import prior_results_of
from podium.views.evidence.decisions import Channel

if TYPE_CHECKING:
    from podium.app.project import Project


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSource:
    """What a run was started with besides its inputs; stored with it, so that it is resumed in the same way."""

    file: str
    vars: Mapping[str, Any] = field(default_factory=dict)
    sequential: bool = False
    sandbox: str | None = None
    record: str | None = None
    replay: str | None = None
    past: str | None = None
    """The earlier run that it continues."""
    without: Sequence[str] = ()
    """Addresses of that run whose results are not reused."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the command line set over all files."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the texts it was started with, by name."""
    trigger: str = ""
    """The trigger that started it, and its event."""
    outside_inputs: Sequence[str] = ()
    """The inputs whose texts come from that event."""
    previous: str = ""
    """The run that it continues as a new one."""
    on: str = ""
    """The address of the server whose workers perform it; empty for this machine."""
    exchange: str = ""
    """The repository by which those workers get and return work."""

    @classmethod
    def of(cls, head: RunHead) -> RunSource:
        return cls(**json.loads(head.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a person asked for with `podium run`."""

    definition: LoadedWorkflow
    inputs: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    dirty: bool = False
    base: str | Head | None = None
    """What to start from, if it is not what is checked out: the name of a branch or commit, or what was looked up."""
    no_human: bool = False
    sequential: bool = False
    sandbox: str | None = None
    record: str | None = None
    replay: str | None = None
    accepts: tuple[str, ...] = ()
    """Agents that may work without a price; `*` is all."""
    event: TriggerEvent | None = None
    """What a trigger starts it for."""
    outside_inputs: tuple[str, ...] = ()
    """The inputs that read the event."""
    trial: Trial | None = None
    """Its place in an experiment."""
    note: str = ""
    """What the person writes about the run, for comparisons with others."""
    on: str = ""
    """The address of a server whose workers perform the run."""
    exchange: str = ""
    channel: Channel = "cli"
    """How the person has started it."""
    history: History | None = None
    """What calls of earlier runs used, if the caller has read it: their logs may be long."""


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that was created and can be driven."""

    prepared: PreparedRun
    uncommitted: tuple[str, ...] = ()
    """Files of the user that the run does not see."""
    chosen: tuple[Chosen, ...] = ()
    """The agents of steps with `agent: auto`."""

    @property
    def run(self) -> RunId:
        return self.prepared.id

    @property
    def host(self) -> Host:
        return self.prepared.host


def start_run(
    project: Project,
    request: RunRequest,
    *,
    narrow: Callable[[Workflow], Workflow] | None = None,
    on_trial: Callable[[str], None] = lambda _: None,
    run: RunId | None = None,
) -> StartedRun:
    """Finds everything that can be wrong before the run exists. `narrow` takes a part of the workflow; `on_trial` gets the gates
    that run on the base first, because a red one refuses the run. `run` is its name, if the caller has chosen it."""
    definition, source = request.definition, _source_of(project, request)
    check_recordings(project.root, source.record, source.replay)
    definition.check_inputs(request.inputs)
    workflow = apply_source(definition.workflow, source)
    if narrow is not None:
        workflow = narrow(workflow)
    check_placement(workflow, source)
    prepared = prepare_run(project, new_id() if run is None else run, workflow, source)
    if source.on:
        source = with_exchange(source, prepared.host.repository)
    else:
        check_preflight(prepared, source)
    host = prepared.host
    tree, facts, uncommitted = _base(host, workflow, request)
    if host.repository is not None:
        check_branch(workflow, facts.branch)
    check_repository(workflow, host.repository)
    history = history_for(project.runtime, workflow) if request.history is None else request.history
    facts = replace(
        facts,
        typical_use=usual_of(workflow, history),
        note=host.mask.text(shortened(request.note)),
        trial=request.trial,
        unpriced=agents_without_price(workflow, agent_types()) if workflow.unknown_cost == "ask" else (),
        # Simulated agents cost nothing now, whatever they cost when they were recorded.
        accepts=("*",) if host.context.agents_simulated else request.accepts,
    )
    start = start_message(prepared, facts, request.inputs, tree, no_human=request.no_human)
    if may_call_agents(workflow):
        from podium.app.choosing.choose import with_history

        start = with_history(project, prepared, start)
    if any(step.settings.baseline == "refuse" for _, step, _ in all_steps(workflow)):
        from podium.app.run.baseline import refuse_red_base

        refuse_red_base(host, workflow, start.inputs, tree, on_trial)
    create(project, prepared, definition, source, start, request.event, channel=request.channel)
    return StartedRun(prepared, uncommitted, start.run.chosen)


def _source_of(project: Project, request: RunRequest) -> RunSource:
    file = request.definition.file.resolve()
    return RunSource(
        file=str(file.relative_to(project.root) if file.is_relative_to(project.root) else file),
        vars=request.vars,
        sequential=request.sequential,
        sandbox=request.sandbox,
        record=request.record,
        replay=request.replay,
        settings=request.definition.settings,
        trigger="" if request.event is None else f"{request.event.trigger}: {request.event.id}",
        outside_inputs=request.outside_inputs,
        on=request.on,
        exchange=request.exchange,
    )


def start_message(
    prepared: PreparedRun, facts: RunFacts, inputs: Mapping[str, Any], tree: Tree | None, *, no_human: bool
) -> Start:
    workflow, host = prepared.workflow, prepared.host
    env = {name: host.host_env[name] for name in workflow.env if name in host.host_env}
    inputs = with_defaults(workflow, inputs)
    facts = replace(facts, subject=host.mask.text(subject_of(workflow, inputs)))
    return Start(facts, inputs, masked_env(host.mask, env), tree, no_human)


def create(
    project: Project,
    prepared: PreparedRun,
    definition: LoadedWorkflow,
    source: RunSource,
    start: Start,
    event: TriggerEvent | None = None,
    *,
    channel: Channel = "cli",
) -> None:
    """The run exists from here on; nothing of it has happened yet."""
    host = prepared.host
    reject_secret_values(host.mask, start, source.vars, source.settings)
    text = source_text(replace(source, kept=keep_definition(project, definition, host.mask)))
    project.prepared[host.run] = prepared
    project.runtime.start(
        RunSpec(
            run=host.run,
            workflow=prepared.workflow,
            created=host.now(),
            source=text,
            start=start,
            event=event,
            key="start" if channel == "cli" else f"{channel}-start",
        )
    )
    remember_project(project.paths)


def check_preflight(prepared: PreparedRun, source: RunSource) -> None:
    """Raises ConfigurationError for what cannot be done on this machine."""
    workflow, host = prepared.workflow, prepared.host
    typed = "limits" if host.context.agents_simulated else source.sandbox
    machine = HostCapabilities(host.agents, typed)
    if typed in (None, "auto") and needs_sandbox(workflow):
        problems = (host.sandboxes.bubblewrap_problem, host.sandboxes.container_problem)
        machine = HostCapabilities(host.agents, typed, *problems)
    unable = unsupported(workflow, machine)
    if unable:
        lines = "\n".join(f"  {line}" for line in unable)
        raise ConfigurationError(
            f"{source.file} needs features that this machine or version does not have:\n{lines}",
            hint="`podium simulate` rehearses it; docs/reference/not-yet.md lists what is missing",
        )
    if (
        workflow.unknown_cost == "refuse"
        and not host.context.agents_simulated
        and (names := agents_without_price(workflow, agent_types()))
    ):
        raise ConfigurationError(
            f'{source.file} uses "{names[0]}", whose price is unknown, and limits.unknown_cost is refuse',
            hint=f"write agents.{names[0]}.price, or unknown_cost: ask",
        )
    unable = (
        ()
        if host.context.agents_simulated
        else (*agents_not_ready(workflow, host.agents, host.host_env), *unusable_keys(workflow, host))
    )
    if unable:
        lines = "\n".join(f"  {line}" for line in unable)
        raise ConfigurationError(f"{source.file}: these agents are not ready:\n{lines}")


def load_source(project: Project, source: RunSource) -> LoadedWorkflow:
    """The definition of a stored run, as it is now."""
    return project.load(project.root / source.file, settings=source.settings, is_started=True)


def apply_source(workflow: Workflow, source: RunSource) -> Workflow:
    """The workflow with the variables and the width that the run was started with."""
    values = {own_name(name, workflow.vars): value for name, value in source.vars.items()}
    unknown = sorted(values.keys() - workflow.vars.keys())
    if unknown:
        names = ", ".join(workflow.vars) or "none"
        raise ConfigurationError(f'{workflow.name} has no variable "{unknown[0]}"', hint=f"its vars: {names}")
    width = 1 if source.sequential else workflow.max_parallel
    return with_child_runs(replace(workflow, vars={**workflow.vars, **values}, max_parallel=width))


def workflow_of(project: Project, head: RunHead) -> Workflow:
    """The workflow of a stored run: as it is now, or as it was stored if only Podium has changed since.

    A newer version may translate a file of another format differently, or refuse it.
    """
    source = RunSource.of(head)
    try:
        current = load_source(project, source).workflow
    except ConfigurationError:
        stored = _stored_workflow(project, head, source)
        if stored is None:
            raise
        return apply_source(stored, source)
    if current.fingerprint != head.fingerprint:
        current = _stored_workflow(project, head, source) or current
    return apply_source(current, source)


def _stored_workflow(project: Project, head: RunHead, source: RunSource) -> Workflow | None:
    """None if a file has changed since the run was started, or its definition was not stored."""
    document = stored_document(project, head)
    if document is None:
        return None
    file = project.root / source.file
    stored = project.load(file, settings=source.settings, is_started=True, document=document).workflow
    return stored if stored.fingerprint == head.fingerprint else None


def prepare_stored(project: Project, head: RunHead) -> PreparedRun:
    """A stored run, with its definition as it is now."""
    return prepare_run(project, head.run, workflow_of(project, head), RunSource.of(head))


def prepare_run(project: Project, run: RunId, workflow: Workflow, source: RunSource) -> PreparedRun:
    options: dict[str, Any] = {"sandbox": source.sandbox, "record": source.record, "replay": source.replay}
    options |= {"follows": True} if source.on else {}
    host: Host = project.host_for(run, workflow, project.root, **options)
    outside, trigger = tuple(source.outside_inputs), source.trigger.partition(":")[0]
    context = replace(host.context, outside_inputs=outside, trigger=trigger)
    others = project.child_runs(project, source.sandbox)
    host = replace(host, state_dir=project.paths.state_dir, context=context, child_runs=others)
    if host.record is not None and host.repository is None:
        raise ConfigurationError(
            "--record needs a git repository, which tells what agents have changed",
            hint="git init, and commit",
        )
    if source.past is None:
        return PreparedRun(workflow=workflow, host=host)
    events = events_of(project.runtime.events(RunId(source.past)))
    without = frozenset(Address(path) for path in source.without)
    past = prior_results_of(RunId(source.past), events, without=without)
    return PreparedRun(workflow=workflow, host=host, past=past)


def _base(
    host: Host, workflow: Workflow, request: RunRequest
) -> tuple[Tree | None, RunFacts, tuple[str, ...]]:
    now = datetime.now().astimezone()
    offset = now.utcoffset()
    facts = RunFacts(
        id=host.run,
        name=workflow.name,
        date=f"{now:%Y-%m-%d}",
        utc_offset=0 if offset is None else int(offset.total_seconds() // 60),
    )
    if request.base is not None:
        head = _chosen_base(host, workflow, request.base, dirty=request.dirty)
        return head.tree, replace(facts, branch=head.branch or "", base=head.commit or ""), ()
    if host.repository is None:
        return None, facts, ()
    head = read_head(host.repository)
    if head.commit is None:
        raise ConfigurationError(
            "the repository has no commits, so there is nothing to start from",
            hint='git add -A && git commit -m "First commit"',
        )
    facts = replace(facts, branch=head.branch or "", base=head.commit)
    changed = read_uncommitted(host.repository)
    if not changed:
        return head.tree, facts, ()
    if request.dirty:
        return tree_with_uncommitted(host.repository), facts, ()
    return head.tree, facts, changed


def _chosen_base(host: Host, workflow: Workflow, base: str | Head, *, dirty: bool) -> Head:
    """The branch or commit of `--base`, or that of a trigger; run.branch is that branch, or none for a commit."""
    name = base if isinstance(base, str) else base.branch or base.commit
    if host.repository is None:
        raise ConfigurationError(f'not a git repository, so a run cannot start from "{name}"')
    if dirty:
        raise ConfigurationError("--base and --dirty exclude each other", hint="commit your files first")
    head = find_head(host.repository, base) if isinstance(base, str) else base
    if head is None:
        raise ConfigurationError(
            f'branch, tag or commit "{name}" does not exist', hint="git branch --all lists the branches"
        )
    in_place = [step.name for _, step, _ in all_steps(workflow) if host.is_inplace(step)]
    if in_place and head.commit != read_head(host.repository).commit:
        raise ConfigurationError(
            f'"{in_place[0]}" works in the project itself, which has other files than "{name}"',
            hint=f"git switch {name}, or use a private workspace",
        )
    return head
