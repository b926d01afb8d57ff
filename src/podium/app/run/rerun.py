"""Continue an earlier run in a new one: after an edit, with a step run again, or from an earlier step.

A request that is identical to one of the earlier run reuses its result at no cost (tasks/prior_results.py); everything
else runs again. What the earlier run has spent counts against the limits of the new one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio

from podium.adapters.agents.registry import agent_types
from podium.app.author.load import LoadedWorkflow
from podium.app.run.carried_guidance import carried_guidance
from podium.app.run.cost_history import history_for, usual_of
from podium.app.run.entered_steps import entered_paths, failed_paths
from podium.app.run.preflight import agents_without_price
from podium.app.run.rehearsal import facts_of_rehearsal, rehearse, reusable_later
from podium.app.run.send_back import SendBack, find_send_back, keep_sent_back
from podium.app.run.start import (
    RunSource,
    StartedRun,
    apply_source,
    check_preflight,
    create,
    load_source,
    prepare_run,
    start_message,
)
from podium.app.values import new_id
from podium.core.events import AttemptEnded, Event, RunEnded, RunStarted
from podium.core.evolve.evolve import fold
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Start
from podium.core.payloads import Amounts, RaisedLimit, RunFacts, rebase_in
from podium.core.types import Address, MicroUsd
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass
from podium.git.repository import Repository, has_commit
from podium.ports.runtime import Runtime
from podium.ports.store import RunHead
from podium.runtime.carried_budget import carried
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.records import events_of
from podium.views.run.labels import native_address

if TYPE_CHECKING:
    from podium.app.project import Project


@dataclass(frozen=True, slots=True)
class Part:
    """The attempts at one address of the earlier run, with their cost in the run that paid for them."""

    path: Address
    attempts: int
    cost: MicroUsd
    tokens: int


@dataclass(frozen=True, slots=True)
class RerunPreview:
    """Which results of a run would be reused by a new one that continues it, and which repeated."""

    earlier: RunId
    reused: tuple[Part, ...]
    repeated: tuple[Part, ...]
    next: tuple[Address, ...]
    """Where the new run would start to work."""
    is_changed: bool
    """Whether the definition differs from that of the earlier run."""
    send_back: SendBack | None
    """The step that continues the work on top of a branch that has moved."""
    prepared: PreparedRun = field(repr=False)
    definition: LoadedWorkflow = field(repr=False)
    source: RunSource = field(repr=False)
    start: Start = field(repr=False)


def preview_rerun(  # noqa: PLR0913  # what the new run may have that the earlier one had not
    project: Project,
    earlier: RunId,
    *,
    step: str | None = None,
    downstream: bool = False,
    inputs: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    raised: tuple[RaisedLimit, ...] = (),
    onto: str | None = None,
    redo: tuple[Address, ...] = (),
    sandbox: str | None = None,
) -> RerunPreview:
    """With the definition as it is now. `step` is run again, with `downstream` also everything after it.

    Work that did not land because its branch had moved goes back to its author; with `onto`, `step` continues the work
    on top of that branch. `settings` and `sandbox` replace those that the earlier run was started with; `raised` records
    who raised its limits. `redo` are further addresses whose results are not reused.
    """
    head = project.run(earlier)
    events = events_of(project.runtime.events(earlier))
    started = _started(events, earlier)
    source = _source_after(head, sandbox)
    definition = load_source(project, source)
    step = None if step is None else native_address(step, definition.workflow.labels.steps)
    source = replace(source, without=(*_not_reused(events, earlier, step, downstream=downstream), *redo))
    values = {**started.inputs, **(inputs or {})}
    is_changed = definition.workflow.fingerprint != started.fingerprint
    send_back = _send_back(project, head, events, step=step, onto=onto, is_changed=is_changed)
    if send_back is not None:
        more = _not_reused(events, earlier, send_back.rebase.step, downstream=True)
        source = replace(source, without=(*source.without, *more))
    if settings is not None:
        source = replace(source, settings=settings)
        definition = load_source(project, source)
    definition.check_inputs(values)
    prepared = prepare_run(project, new_id(), apply_source(definition.workflow, source), source)
    check_preflight(prepared, source)
    _check_base(prepared.host.repository, started)
    past = prepared.past
    assert past is not None
    facts = _facts(project, prepared, events, raised)
    facts = facts if send_back is None else send_back.added_to(facts)
    prepared = _based_on(prepared, facts.base)
    make = partial(start_message, prepared, inputs=values, tree=started.tree, no_human=started.no_human)
    reused, waiting = anyio.run(rehearse, prepared, make(facts_of_rehearsal(facts, past)))
    start = make(replace(facts, reused=tuple(reused.items()), reusable=reusable_later(past, reused, waiting)))
    parts = partial(_parts, costs=_Costs(project.runtime))
    return RerunPreview(
        earlier,
        parts(end for end in _ended(events) if end.path in reused),
        parts(end for end in _ended(events) if end.path not in reused),
        waiting,
        is_changed,
        send_back,
        prepared,
        definition,
        source,
        start,
    )


def _source_after(head: RunHead, sandbox: str | None) -> RunSource:
    before = RunSource.of(head)
    return replace(before, past=head.run, record=None, previous="", sandbox=sandbox or before.sandbox)


def _based_on(prepared: PreparedRun, commit: str) -> PreparedRun:
    context = replace(prepared.host.context, base_commit=commit or None)
    return replace(prepared, host=replace(prepared.host, context=context))


def _started(events: Sequence[Event], run: RunId) -> RunStarted:
    if not events:
        raise ConfigurationError(f"run {run} never began", hint="start a new one with: podium run")
    assert isinstance(events[0], RunStarted)
    return events[0]


def _not_reused(
    events: Sequence[Event], earlier: RunId, step: str | None, *, downstream: bool
) -> tuple[str, ...]:
    """A failed result is never reused, because its step is to be tried again; nor is that of `step`."""
    named = () if step is None else entered_paths(events, earlier, step, downstream=downstream)
    return (*failed_paths(events), *named)


def _send_back(
    project: Project,
    head: RunHead,
    events: Sequence[Event],
    *,
    step: str | None,
    onto: str | None,
    is_changed: bool,
) -> SendBack | None:
    if onto is None and not any(
        isinstance(event, AttemptEnded) and rebase_in(event.result) for event in events
    ):
        return None
    if is_changed:
        if onto is None:
            return None
        raise ConfigurationError(
            f"the definition of run {head.run} has changed, so its work cannot be moved onto a branch",
            hint="undo the change",
        )
    prepared = project.prepare(head)
    repository = prepared.host.repository
    if repository is None:
        raise ConfigurationError("not a git repository, so the work cannot be moved onto a branch")
    return find_send_back(fold(prepared.workflow, events), repository, onto=onto, step=step)


def _facts(
    project: Project, prepared: PreparedRun, events: Sequence[Event], raised: tuple[RaisedLimit, ...]
) -> RunFacts:
    """The facts of the new run: those of the earlier one, with what that has used and received."""
    started, workflow, past = events[0], prepared.workflow, prepared.past
    assert isinstance(started, RunStarted)
    assert past is not None
    return replace(
        started.run,
        id=prepared.host.run,
        name=workflow.name,
        continues=past.run,
        **carried(workflow, events),
        **carried_guidance(events, past),
        raised=(*started.run.raised, *raised),
        reused=(),
        reusable=(),
        unpriced=agents_without_price(workflow, agent_types()) if workflow.unknown_cost == "ask" else (),
        typical_use=usual_of(workflow, history_for(project.runtime, workflow)),
    )


def start_rerun(project: Project, preview: RerunPreview, *, closed_by: str | None = None) -> StartedRun:
    """Create the new run. With `closed_by` the earlier one is closed first, if it is not over."""
    if closed_by is not None and not _is_over(project, preview.earlier):
        project.runtime.abandon(preview.earlier, Cancel(closed_by, f"continued by {preview.prepared.id}"))
    create(project, preview.prepared, preview.definition, preview.source, preview.start)
    repository, back = preview.prepared.host.repository, preview.send_back
    if back is not None and repository is not None:
        keep_sent_back(repository, preview.prepared.id, back.rebase, preview.prepared.host.now() // 1000)
    return StartedRun(preview.prepared)


def _is_over(project: Project, run: RunId) -> bool:
    return any(record.type == RunEnded.__name__ for record in project.runtime.events(run))


def _check_base(repository: Repository | None, started: RunStarted) -> None:
    if repository is not None and started.run.base and not has_commit(repository, started.run.base):
        raise ConfigurationError(
            f"the commit {started.run.base[:12]}, from which the run began, is gone", hint="start a new run"
        )


def _ended(events: Sequence[Event]) -> list[AttemptEnded]:
    return [event for event in events if isinstance(event, AttemptEnded)]


def _parts(ends: Iterable[AttemptEnded], costs: _Costs) -> tuple[Part, ...]:
    parts: dict[Address, Part] = {}
    for end in ends:
        part = parts.get(end.path, Part(end.path, 0, MicroUsd(0), 0))
        used = costs.of(end)
        cost, tokens = MicroUsd(part.cost + used.usd), part.tokens + used.tokens
        parts[end.path] = Part(end.path, part.attempts + 1, cost, tokens)
    return tuple(parts.values())


class _Costs:
    """What results have cost: a reused one in the run that computed it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._runs: dict[str, dict[tuple[Address, str], Amounts]] = {}

    def of(self, end: AttemptEnded) -> Amounts:
        if not end.reused:
            return end.used
        if end.reused not in self._runs:
            ends = _ended(events_of(self._runtime.events(RunId(end.reused))))
            self._runs[end.reused] = {
                (attempt.path, attempt.key): attempt.used for attempt in ends if not attempt.reused
            }
        return self._runs[end.reused].get((end.path, end.key), Amounts())
