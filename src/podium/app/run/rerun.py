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
from podium.app.run.carried_budget import carried
from podium.app.run.carried_guidance import carried_guidance
from podium.app.run.cost_history import history_for, usual_of
from podium.app.run.entered_steps import entered_paths, failed_paths
from podium.app.run.preflight import agents_without_price
from podium.app.run.rehearsal import facts_of_rehearsal, rehearse, reusable_later
from podium.app.run.start import (
    RunSource,
    StartedRun,
    apply_source,
    check_preflight,
    create,
    load_source,
    new_id,
    prepare_run,
    start_message,
)
from podium.core.events import AttemptEnded, Event, RunEnded, RunStarted
from podium.core.fast_dataclass import dataclass
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Start
from podium.core.payloads import Amounts, RaisedLimit, RunFacts
from podium.core.types import Address, MicroUsd
from podium.errors import ConfigurationError
from podium.git.repository import Repository, has_commit
from podium.ports.runtime import Runtime
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.records import events_of

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
    prepared: PreparedRun = field(repr=False)
    definition: LoadedWorkflow = field(repr=False)
    source: RunSource = field(repr=False)
    start: Start = field(repr=False)


def preview_rerun(
    project: Project,
    earlier: RunId,
    *,
    step: str | None = None,
    downstream: bool = False,
    inputs: Mapping[str, Any] | None = None,
    settings: Mapping[str, Any] | None = None,
    raised: tuple[RaisedLimit, ...] = (),
) -> RerunPreview:
    """With the definition as it is now. `step` is run again, with `downstream` also everything after it.

    `settings` replace those that the earlier run was started with; `raised` records who raised its limits.
    """
    head = project.run(earlier)
    events = events_of(project.runtime.events(earlier))
    if not events:
        raise ConfigurationError(f"run {earlier} never began", hint="start a new one with: podium run")
    started = events[0]
    assert isinstance(started, RunStarted)
    # A failed result is never reused: the step is to be tried again.
    without: tuple[str, ...] = failed_paths(events)
    if step is not None:
        without = (*without, *entered_paths(events, earlier, step, downstream=downstream))
    source = replace(RunSource.of(head), past=earlier, without=without, record=None)
    values = {**started.inputs, **(inputs or {})}
    definition = load_source(project, source)
    is_changed = definition.workflow.fingerprint != started.fingerprint
    if settings is not None:
        source = replace(source, settings=settings)
        definition = load_source(project, source)
    definition.check_inputs(values)
    workflow = apply_source(definition.workflow, source)
    prepared = prepare_run(project, new_id(), workflow, source)
    check_preflight(prepared, source)
    host = prepared.host
    _check_base(host.repository, started)
    past = prepared.past
    assert past is not None
    facts = _facts(project, prepared, events, raised)
    prepared = replace(
        prepared, host=replace(host, context=replace(host.context, base_commit=facts.base or None))
    )
    make = partial(start_message, prepared, inputs=values, tree=started.tree, no_human=started.no_human)
    reused, waiting = anyio.run(rehearse, prepared, make(facts_of_rehearsal(facts, past)))
    start = make(replace(facts, reused=tuple(reused.items()), reusable=reusable_later(past, reused, waiting)))
    costs = _Costs(project.runtime)
    return RerunPreview(
        earlier,
        _parts((end for end in _ended(events) if end.path in reused), costs),
        _parts((end for end in _ended(events) if end.path not in reused), costs),
        waiting,
        is_changed,
        prepared,
        definition,
        source,
        start,
    )


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
