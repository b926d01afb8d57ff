"""Continue an earlier run in a new one: after an edit, with a step run again, or from an earlier step.

A request that is identical to one of the earlier run reuses its result at no cost (tasks/prior_results.py); everything
else runs again. What the earlier run has spent counts against the limits of the new one.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio

from podium.adapters.agents.registry import agent_types
from podium.app.author.load import LoadedWorkflow
from podium.app.run.carried_budget import carried
from podium.app.run.cost_history import read_history, usual_of
from podium.app.run.preflight import agents_without_price
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
from podium.core.addresses import without_visit
from podium.core.events import AttemptEnded, Event, RunEnded, RunStarted, StepEnded, StepEntered, StepExpanded
from podium.core.evolve.evolve import fold
from podium.core.fast_dataclass import dataclass
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel, Message, Refusal, Start
from podium.core.payloads import Amounts
from podium.core.state import Leaf, State
from podium.core.turn import turn
from podium.core.types import Address, MicroUsd, Millis
from podium.errors import ConfigurationError
from podium.git.repository import Repository, has_commit
from podium.ports.runtime import Runtime
from podium.runtime.effects import prior_answers
from podium.runtime.prepared_run import PreparedRun
from podium.runtime.records import events_of
from podium.tasks.prior_results import PriorResults

if TYPE_CHECKING:
    from podium.app.project import Project

ITERATION: Final = re.compile(r"([^\[\]]+)\[(\d+)\](.*)")
OF_FEATURES: Final = ("phases", "components")
"""Loops that no file contains: a feature has phases, and they have components."""


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
) -> RerunPreview:
    """With the definition as it is now. `step` is run again, with `downstream` also everything after it."""
    head = project.run(earlier)
    events = events_of(project.runtime.events(earlier))
    if not events:
        raise ConfigurationError(f"run {earlier} never began", hint="start a new one with: podium run")
    started = events[0]
    assert isinstance(started, RunStarted)
    without = () if step is None else _paths(events, earlier, step, downstream=downstream)
    source = replace(RunSource.of(head), past=earlier, without=without, record=None)
    values = {**started.inputs, **(inputs or {})}
    definition = load_source(project, source)
    definition.check_inputs(values)
    workflow = apply_source(definition.workflow, source)
    prepared = prepare_run(project, new_id(), workflow, source)
    check_preflight(prepared, source)
    host = prepared.host
    _check_base(host.repository, started)
    facts = replace(
        started.run,
        id=host.run,
        name=workflow.name,
        continues=earlier,
        **carried(workflow, events),
        reused=(),
        reusable=(),
        unpriced=agents_without_price(workflow, agent_types()) if workflow.unknown_cost == "ask" else (),
        typical_use=usual_of(workflow, read_history(project.runtime, workflow.name)),
    )
    prepared = replace(
        prepared, host=replace(host, context=replace(host.context, base_commit=facts.base or None))
    )
    make = partial(start_message, prepared, inputs=values, tree=started.tree, no_human=started.no_human)
    # Reused results need nothing of a limit, so they are found without limits.
    free = replace(
        facts, carried=Amounts(), carried_unknown=MicroUsd(0), carried_time=Millis(0), carried_steps=()
    )
    reused, waiting = anyio.run(_rehearsed, prepared, make(free))
    start = make(
        replace(facts, reused=tuple(reused.items()), reusable=_reusable_later(prepared.past, reused, waiting))
    )
    costs = _Costs(project.runtime)
    return RerunPreview(
        earlier,
        _parts((end for end in _ended(events) if end.path in reused), costs),
        _parts((end for end in _ended(events) if end.path not in reused), costs),
        waiting,
        prepared,
        definition,
        source,
        start,
    )


def start_rerun(project: Project, preview: RerunPreview, *, closed_by: str | None = None) -> StartedRun:
    """Create the new run. With `closed_by` the earlier one is closed first, if it is not over."""
    if closed_by is not None and not _is_over(project, preview.earlier):
        project.runtime.abandon(preview.earlier, Cancel(closed_by, f"continued by {preview.prepared.id}"))
    create(project, preview.prepared, preview.definition, preview.source, preview.start)
    return StartedRun(preview.prepared)


def _is_over(project: Project, run: RunId) -> bool:
    return any(record.type == RunEnded.__name__ for record in project.runtime.events(run))


def _paths(events: Sequence[Event], run: RunId, step: str, *, downstream: bool) -> tuple[str, ...]:
    """The addresses of a step, of all in it, and of all that was entered after it."""
    entered = [event.path for event in events if isinstance(event, StepEntered)]
    keys = {event.path: event.keys for event in events if isinstance(event, StepExpanded) and event.keys}
    own = [path for path in entered if _is_in(path, step) or step in _prefixes(_by_keys(path, keys))]
    if not own:
        places = sorted({path for path in entered if "#" not in path})
        raise ConfigurationError(
            f'run {run} has not entered a step "{step}"', hint=f"it has entered: {', '.join(places)}"
        )
    return tuple(entered[entered.index(own[0]) :] if downstream else own)


def _is_in(path: Address, step: str) -> bool:
    """Any visit, member or gate of the step counts."""
    return any(without_visit(Address(name)) == step or _name(name) == step for name in _prefixes(path))


def _prefixes(path: str) -> Iterator[str]:
    """The address of what it is in, from the outermost to itself, each without the attempt."""
    parts = path.split("/")
    yield from ("/".join(parts[: number + 1]).partition("#")[0] for number in range(len(parts)))


def _by_keys(path: str, keys: Mapping[Address, Sequence[str]]) -> str:
    """An address by keys: `each[red]/test` for `each[1]/test`, and `feature/backend` for a phase."""
    words: list[str] = []
    parts = path.split("/")
    for place, part in enumerate(parts):
        match = ITERATION.fullmatch(part)
        names = () if match is None else keys.get(Address("/".join((*parts[:place], match[1]))), ())
        if match is None or not names:
            words.append(part)
            continue
        key = names[int(match[2]) - 1]
        words.append(f"{key}{match[3]}" if match[1] in OF_FEATURES else f"{match[1]}[{key}]{match[3]}")
    return "/".join(words)


def _name(path: str) -> str:
    last = path.rpartition("/")[2]
    for sign in "~[#":
        last = last.partition(sign)[0]
    return last


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


async def _rehearsed(prepared: PreparedRun, start: Start) -> tuple[Counter[Address], tuple[Address, ...]]:
    """Simulate the run as far as earlier results reach: how many attempts are reused at each address, and where work starts."""
    assert prepared.past is not None
    host = replace(prepared.host, context=replace(prepared.host.context, is_rehearsal=True))
    rehearsal, workflow = replace(prepared, host=host), prepared.workflow
    limits = replace(workflow.limits, usd=None, tokens=None, calls=None, window=None, time=None)
    state = fold(replace(workflow, limits=limits), ())
    agenda: deque[Message] = deque([start])
    reused: Counter[Address] = Counter()
    refused: list[Address] = []
    while agenda:
        result = turn(state, agenda.popleft(), host.now())
        if isinstance(result, Refusal):
            continue
        state = result.state
        reused.update(end.path for end in _ended(result.events) if end.reused)
        refused.extend(_refused(result.events, state))
        for effect in result.effects:
            agenda.extend(await prior_answers(effect, state, rehearsal))
    open_ones = (path for (kind, path), _ in state.pending.items() if kind in ("attempt", "person"))
    return reused, (*refused, *open_ones)


def _reusable_later(
    past: PriorResults | None, reused: Mapping[Address, int], waiting: Sequence[Address]
) -> tuple[tuple[Address, int], ...]:
    """Where the earlier run has results that may be reused after a step before them has run again."""
    assert past is not None
    last = {path: max(end.attempt for end in ends) for path, ends in past.attempts.items()}
    more = ((path, attempt) for path, attempt in last.items() if attempt > reused.get(path, 0))
    return tuple((path, attempt) for path, attempt in more if path not in waiting)


def _refused(events: Sequence[Event], state: State) -> Iterator[Address]:
    """The steps that their own limit refuses."""
    ended = (event.path for event in events if isinstance(event, StepEnded) and event.reason == "limit")
    return (path for path in ended if isinstance(state.instances[path], Leaf))
