"""Start a run, and carry one on that stands."""

from __future__ import annotations

import json
import secrets
import signal
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio

from podium.adapters.agents.registry import agent_types
from podium.app.author.load import open_workflow
from podium.app.run.cost_history import read_history, usual_of
from podium.app.run.definition import keep_definition
from podium.app.run.preflight import (
    HostCapabilities,
    agents_not_ready,
    agents_without_price,
    check_branch,
    masked_env,
    reject_secret_values,
    unenforced_touches,
    unsupported,
)
from podium.app.values import own_name
from podium.attempt.site import Site
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Command, Start
from podium.core.model import Workflow
from podium.core.payloads import RunFacts
from podium.core.state import State
from podium.core.types import Path as CorePath
from podium.core.types import Tree
from podium.errors import EXIT_CANCELLED, ConfigurationError, PodiumError
from podium.git.repository import read_head, read_uncommitted, tree_with_uncommitted
from podium.ports.runtime import OnTurn, Park, RunSpec
from podium.ports.store import RunHead
from podium.runtime.records import events_of
from podium.tasks.prior_results import prior_results_of

if TYPE_CHECKING:
    from podium.app.project import Office

ASK_S: Final = 3.0
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
LETTERS: Final = "abcdefghjkmnpqrstuvwxyz23456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSource:
    """What a run was started with besides its inputs; kept with it, so that it goes on the same way."""

    file: str
    vars: Mapping[str, Any] = field(default_factory=dict)
    sequential: bool = False
    sandbox: str | None = None
    record: str | None = None
    replay: str | None = None
    past: str | None = None
    """The run that it goes on from."""
    without: Sequence[str] = ()
    """Paths of that run whose results are not taken over."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the command line set over all files."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """The hashes of the texts it was started with, by name."""

    @classmethod
    def of(cls, head: RunHead) -> RunSource:
        return cls(**json.loads(head.source))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a person asked for with `podium run`."""

    file: Path
    inputs: Mapping[str, Any] = field(default_factory=dict)
    vars: Mapping[str, Any] = field(default_factory=dict)
    dirty: bool = False
    no_human: bool = False
    sequential: bool = False
    sandbox: str | None = None
    record: str | None = None
    replay: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    accepts: tuple[str, ...] = ()
    """Agents that may work without a price; `*` is all."""


@dataclass(frozen=True, slots=True)
class StartedRun:
    """A run that exists and waits to be carried on."""

    run: RunId
    site: Site
    uncommitted: tuple[str, ...] = ()
    """Files of the user that the run does not see."""
    unheld: tuple[str, ...] = ()
    """Steps that nobody can hold to their `touches` here."""


def start_run(
    office: Office, order: RunRequest, *, narrow: Callable[[Workflow], Workflow] | None = None
) -> StartedRun:
    """Everything that can be wrong is found here, before the run exists. `narrow` takes a part of the workflow."""
    path = order.file.resolve()
    source = RunSource(
        file=str(path.relative_to(office.project) if path.is_relative_to(office.project) else path),
        vars=order.vars,
        sequential=order.sequential,
        sandbox=order.sandbox,
        record=order.record,
        replay=order.replay,
        settings=order.settings,
    )
    check_recordings(office.project, source)
    workflow = load_source(office, source, inputs=order.inputs)
    if narrow is not None:
        workflow = narrow(workflow)
    run = new_id()
    site = site_of(office, run, workflow, source)
    check_preflight(site, source)
    tree, facts, uncommitted = _base(site, workflow, dirty=order.dirty)
    if site.repository is not None:
        check_branch(workflow, facts.branch)
    facts = replace(
        facts,
        usual=usual_of(workflow, read_history(office.runtime, workflow.name)),
        unpriced=agents_without_price(workflow, agent_types()) if workflow.unknown_cost == "ask" else (),
        # What is only played costs nothing now, whatever it did then.
        accepts=("*",) if site.context.is_played else order.accepts,
    )
    create(office, site, source, start_message(site, facts, order.inputs, tree, no_human=order.no_human))
    return StartedRun(
        run, site, uncommitted, () if site.repository is not None else unenforced_touches(workflow)
    )


def start_message(
    site: Site, facts: RunFacts, inputs: Mapping[str, Any], tree: Tree | None, *, no_human: bool
) -> Start:
    workflow = site.workflow
    defaults = {known.name: known.default for known in workflow.inputs if not known.required}
    env = {name: site.host_env[name] for name in workflow.env if name in site.host_env}
    return Start(facts, {**defaults, **inputs}, masked_env(site.mask, env), tree, no_human)


def create(office: Office, site: Site, source: RunSource, start: Start) -> None:
    """The run exists from here on; nothing of it has happened yet."""
    reject_secret_values(site.mask, start, source.vars, source.settings)
    expected, mask = site.workflow.fingerprint, site.mask
    kept = keep_definition(office, source.file, settings=source.settings, expected=expected, mask=mask)
    text = _text(replace(source, kept=kept))
    office.runtime.start(
        RunSpec(run=site.run, workflow=site.workflow, created=site.now(), source=text, start=start)
    )
    office.sites[site.run] = site


def check_preflight(site: Site, source: RunSource) -> None:
    """Raises ConfigurationError for what this machine cannot carry out."""
    workflow = site.workflow
    # Of what is only played nobody has to be kept from anything.
    typed = "limits" if site.context.is_played else source.sandbox
    unable = unsupported(workflow, HostCapabilities(site.agents, typed, site.unwalled, site.uncontained))
    if unable:
        lines = "\n".join(f"  {line}" for line in unable)
        raise ConfigurationError(
            f"{source.file} needs features that this machine or version does not have:\n{lines}",
            hint="`podium simulate` rehearses it; docs/reference/not-yet.md lists what is missing",
        )
    if (
        workflow.unknown_cost == "refuse"
        and not site.context.is_played
        and (names := agents_without_price(workflow, agent_types()))
    ):
        raise ConfigurationError(
            f'{source.file} uses "{names[0]}", whose price is unknown, and limits.unknown_cost is refuse',
            hint=f"write agents.{names[0]}.price, or unknown_cost: ask",
        )
    unable = () if site.context.is_played else agents_not_ready(workflow, site.agents, site.host_env)
    if unable:
        lines = "\n".join(f"  {line}" for line in unable)
        raise ConfigurationError(f"{source.file}: these agents are not ready:\n{lines}")


def check_recordings(project: Path, source: RunSource) -> None:
    """A folder to record into has no recordings yet: an old one among new ones would be played one day."""
    if source.record is not None and any((project / source.record).glob("*.json")):
        raise ConfigurationError(
            f"{source.record} holds recordings already", hint="name another folder, or delete it first"
        )
    if source.replay is not None and not any((project / source.replay).glob("*.json")):
        raise ConfigurationError(
            f"{source.replay} holds no recordings", hint="make some: podium run FILE --record FOLDER"
        )


def load_source(office: Office, source: RunSource, inputs: Mapping[str, Any] | None = None) -> Workflow:
    path = office.project / source.file
    workflow = open_workflow(
        path, inputs=inputs, user_dir=office.user_dir, project=office.project, settings=source.settings
    )
    given = {own_name(name, workflow.vars): value for name, value in source.vars.items()}
    unknown = sorted(given.keys() - workflow.vars.keys())
    if unknown:
        known = ", ".join(workflow.vars) or "none"
        raise ConfigurationError(f'{workflow.name} has no variable "{unknown[0]}"', hint=f"its vars: {known}")
    width = 1 if source.sequential else workflow.max_parallel
    return replace(workflow, vars={**workflow.vars, **given}, max_parallel=width)


def open_run(office: Office, head: RunHead) -> Site:
    """The site of a stored run, with its definition as it is now."""
    source = RunSource.of(head)
    workflow = load_source(office, source)
    return site_of(office, head.run, workflow, source)


def site_of(office: Office, run: RunId, workflow: Workflow, source: RunSource) -> Site:
    options = {"sandbox": source.sandbox, "record": source.record, "replay": source.replay}
    site: Site = office.site_for(run, workflow, office.project, **options)
    site = replace(site, state_dir=office.state_dir)
    if site.record is not None and site.repository is None:
        raise ConfigurationError(
            "--record needs a git repository, which tells what agents have changed",
            hint="git init, and commit",
        )
    if source.past is None:
        return site
    events = events_of(office.runtime.events(RunId(source.past)))
    without = frozenset(CorePath(path) for path in source.without)
    return replace(site, past=prior_results_of(RunId(source.past), events, without=without))


class Interrupted(PodiumError):
    """The process was told to stop. The run is not over: what was in flight is done again when it is carried on."""

    exit_code = EXIT_CANCELLED


def drive(
    office: Office,
    run: RunId,
    *commands: Command,
    park: Park,
    on_turn: OnTurn | None = None,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ask: InterruptPrompt | None = None,
) -> State:
    """`drive_async` for callers that have no loop of their own."""
    return anyio.run(
        partial(drive_async, office, run, *commands, park=park, on_turn=on_turn, beside=beside, ask=ask)
    )


async def drive_async(
    office: Office,
    run: RunId,
    *commands: Command,
    park: Park,
    on_turn: OnTurn | None = None,
    beside: Callable[[], Coroutine[Any, Any, None]] | None = None,
    ask: InterruptPrompt | None = None,
    signals: bool = True,
) -> State:
    """Drive a run until it ends or can be released.

    `beside` runs meanwhile: a display, or a person at a terminal. With `signals` SIGINT, SIGTERM and SIGHUP are ours:
    Interrupted is raised when everything this process had started is gone. With `ask` a first SIGINT only asks; a second
    one cancels the run.
    """
    state: State | None = None
    # Ours until everything is gone: a second SIGTERM would else end this process in the middle of ending the others.
    listening = anyio.open_signal_receiver(*SIGNALS) if signals else nullcontext()
    try:
        with listening as received:
            async with anyio.create_task_group() as group:
                if received is not None:
                    asked = partial(_ask, office, run, ask)
                    group.start_soon(_stop_on_signal, received, group.cancel_scope, asked)
                if beside is not None:
                    group.start_soon(beside)
                state = await office.runtime.drive(run, *commands, park=park, on_turn=on_turn)
                group.cancel_scope.cancel()
    except BaseExceptionGroup as several:
        # That the work is done by several tasks is nobody's concern here.
        raise _first(several) from several
    if state is None:
        raise Interrupted(
            f"interrupted; run {run} is not over",
            hint=f"go on: podium resume {run}   end it: podium cancel {run}",
        )
    return state


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    first = group.exceptions[0]
    return _first(first) if isinstance(first, BaseExceptionGroup) else first


@dataclass(frozen=True, slots=True)
class InterruptPrompt:
    """Who sits at the terminal, and how to speak to them."""

    by: str
    tell: Callable[[str], None]


async def _stop_on_signal(
    received: AsyncIterator[signal.Signals], scope: anyio.CancelScope, ask: Callable[[int], bool]
) -> None:
    interrupts = 0
    while True:
        # Somebody who was asked and says nothing more wants what Ctrl-C did first: the run stays as it is.
        with anyio.move_on_after(ASK_S if interrupts == 1 else None):
            number = await anext(received)
            interrupts += number == signal.SIGINT
            if number == signal.SIGINT and ask(interrupts):
                continue
        scope.cancel()
        return


def _ask(office: Office, run: RunId, ask: InterruptPrompt | None, interrupts: int) -> bool:
    """Whether the process goes on after so many interrupts."""
    if ask is None or interrupts > 2:
        return False
    if interrupts == 1:
        ask.tell(
            f"Press Ctrl-C again within {ASK_S:.0f} s to cancel the run. Otherwise it stops now and can be resumed."
        )
    else:
        ask.tell(f"run {run}: cancelling; Ctrl-C once more leaves it to: podium resume {run}")
        office.runtime.post(run, Cancel(ask.by, "Ctrl-C"), key=f"interrupt-{uuid.uuid4().hex}")
    return True


def new_id() -> RunId:
    """By the time it began, so that a list of names is in order; with a tail that no other run has."""
    tail = "".join(secrets.choice(LETTERS) for _ in range(4))
    return RunId(f"{datetime.now().astimezone():%Y%m%d-%H%M%S}-{tail}")


def _base(site: Site, workflow: Workflow, *, dirty: bool) -> tuple[Tree | None, RunFacts, tuple[str, ...]]:
    now = datetime.now().astimezone()
    offset = now.utcoffset()
    facts = RunFacts(
        id=site.run,
        name=workflow.name,
        date=f"{now:%Y-%m-%d}",
        utc_offset=0 if offset is None else int(offset.total_seconds() // 60),
    )
    if site.repository is None:
        return None, facts, ()
    head = read_head(site.repository)
    facts = replace(facts, branch=head.branch or "", base=head.commit or "")
    changed = read_uncommitted(site.repository)
    if not changed:
        return head.tree, facts, ()
    if dirty:
        return tree_with_uncommitted(site.repository), facts, ()
    return head.tree, facts, changed


def _text(source: RunSource) -> str:
    return json.dumps(asdict(source))
