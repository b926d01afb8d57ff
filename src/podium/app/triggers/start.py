"""Starts runs for waiting events, within the budget of their trigger and one after another in a group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from podium.app.run.series import newest_of
from podium.app.run.start import RunRequest, start_run, workflow_of
from podium.app.triggers.definitions import CommittedTriggers, DefinedTrigger
from podium.core.evolve.evolve import fold
from podium.core.expressions.nodes import ExprError, NeedFact, evaluate
from podium.core.expressions.templates import fill
from podium.core.expressions.values import MissingValue
from podium.core.hash_chain import RunId
from podium.core.messages import Cancel
from podium.core.types import Millis
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.git.repository import Head, Repository, tree_of
from podium.ports.store import TriggerEvent
from podium.runtime.records import events_of
from podium.workflow.compile.values import CompileContext
from podium.workflow.expressions.parser import parse_expression

if TYPE_CHECKING:
    from podium.app.project import Project

DAY_MS: Final = 86_400_000
MICRO: Final = 1_000_000
OPEN: Final = ("running", "waiting", "paused")
RETRY_MS: Final = 60_000
"""When a run that could not be started is tried again."""


class TriggerLine(NamedTuple):
    """What was done for an event, or why nothing was."""

    did: Literal["started", "dropped", "held", "refused"]
    text: str
    trigger: str
    event: str = ""
    run: RunId | None = None


class EventNames:
    """`event` is the only name that a trigger can read."""

    def __init__(self, event: TriggerEvent) -> None:
        self._body = event.body
        self.is_read = False

    def lookup(self, name: str) -> Any:
        if name != "event":
            raise MissingValue(name)
        self.is_read = True
        return self._body

    def fact(self, query: tuple[str, str]) -> Any:
        raise NeedFact(query)


@dataclass(slots=True)
class EventStarter:
    project: Project
    repository: Repository
    _spent: dict[RunId, tuple[int, float]] = field(default_factory=dict)
    """What ended runs have cost, by the length of their log."""
    _postponed: dict[tuple[str, str, str], tuple[Millis, str]] = field(default_factory=dict)
    """Until when an event is not tried again, and the reason that was reported."""

    def start(self, committed: CommittedTriggers, now: Millis) -> Iterator[TriggerLine]:
        """Starts what can start now; each event is settled by the transaction that creates its run."""
        by_key = {defined.key: defined for defined in committed.triggers}
        waiting = self.project.runtime.trigger_events()
        latest = {(event.file, event.trigger): event.id for event in waiting}
        for event in waiting:
            defined = by_key.get((event.file, event.trigger))
            if defined is None or self._postponed.get(_key(event), (0, ""))[0] > now:
                # Its file may be edited just now; the event waits until the trigger is there again.
                continue
            is_last = latest[event.file, event.trigger] == event.id
            if defined.trigger.cron is not None and _catch_up(defined) != "all" and not is_last:
                yield self._drop(event, "a later time has come")
                continue
            yield from self._start(committed, defined, event, now)

    def _start(
        self, committed: CommittedTriggers, defined: DefinedTrigger, event: TriggerEvent, now: Millis
    ) -> Iterator[TriggerLine]:
        try:
            if _is_skipped(defined, event):
                yield self._drop(event, "skip_if is true")
                return
            inputs, outside = _inputs(defined, event)
            defined.definition.check_inputs(inputs)
        except (ExprError, NeedFact, ConfigurationError) as error:
            message = error.message if isinstance(error, ConfigurationError) else str(error)
            yield self._drop(event, message)
            return
        busy = tuple(self._busy(committed, defined))
        if busy and defined.trigger.when_busy == "skip":
            yield self._drop(event, f"run {busy[0]} of group {defined.trigger.group} has not ended")
            return
        if busy and defined.trigger.when_busy == "cancel":
            self._cancel(busy, defined)
        reason = (
            f"run {busy[0]} of group {defined.trigger.group} has not ended"
            if busy
            else self._over(defined, now)
        )
        if reason:
            yield from self._hold(event, reason, until=now)
            return
        yield from self._create(committed, defined, event, (inputs, outside), now)

    def _create(
        self,
        committed: CommittedTriggers,
        defined: DefinedTrigger,
        event: TriggerEvent,
        values: tuple[dict[str, Any], tuple[str, ...]],
        now: Millis,
    ) -> Iterator[TriggerLine]:
        branch, commit = committed.branch, committed.commit
        if defined.trigger.ref is not None:
            branch, commit = str(event.body["branch"]), str(event.body["commit"])
        inputs, outside = values
        request = RunRequest(
            definition=defined.definition,
            inputs=inputs,
            event=event,
            outside_inputs=outside,
            base=Head(branch, commit, tree_of(self.repository, commit)),
        )
        try:
            started = start_run(self.project, request)
        except PodiumError as error:
            yield from self._hold(
                event, f"no run could be started: {error.message}", until=Millis(now + RETRY_MS)
            )
            return
        # The service gives every run a process of its own.
        self.project.prepared.pop(started.run, None)
        self._postponed.pop(_key(event), None)
        text = f"started for {defined.name}: {event.id}"
        yield TriggerLine("started", text, defined.label, event.id, started.run)

    def _drop(self, event: TriggerEvent, reason: str) -> TriggerLine:
        self.project.runtime.drop_event(event, reason)
        self._postponed.pop(_key(event), None)
        label = f"{event.file}: {event.trigger}"
        return TriggerLine(
            "dropped", f"{event.trigger}: {event.id} starts nothing: {reason}", label, event.id
        )

    def _hold(self, event: TriggerEvent, reason: str, *, until: Millis) -> Iterator[TriggerLine]:
        """Report once why an event waits."""
        _, reported = self._postponed.get(_key(event), (0, ""))
        self._postponed[_key(event)] = (until, reason)
        if reason != reported:
            label = f"{event.file}: {event.trigger}"
            yield TriggerLine("held", f"{event.trigger}: {event.id} waits: {reason}", label, event.id)

    def _busy(self, committed: CommittedTriggers, defined: DefinedTrigger) -> Iterator[RunId]:
        """The open runs that triggers of the same group started."""
        group = defined.trigger.group
        if group is None:
            return
        members = {each.key for each in committed.triggers if each.trigger.group == group}
        started = {
            event.run
            for event in self.project.runtime.trigger_events(since=0)
            if (event.file, event.trigger) in members
        }
        runtime = self.project.runtime
        newest = (newest_of(runtime, head) for head in runtime.heads() if head.run in started)
        yield from (head.run for head in newest if head.status in OPEN)

    def _cancel(self, runs: Iterable[RunId], defined: DefinedTrigger) -> None:
        for run in runs:
            reason = f"a newer event of trigger {defined.name} takes its place"
            self.project.runtime.post(run, Cancel("podium serve", reason), key=f"replaced-by-{defined.name}")

    def _over(self, defined: DefinedTrigger, now: Millis) -> str:
        """Why the budget of today allows no further run; empty if it does."""
        per_day = defined.trigger.per_day
        assert per_day is not None
        today = now - now % DAY_MS
        created = {head.run: head.created for head in self.project.runtime.heads()}
        runs = [
            event.run
            for event in self.project.runtime.trigger_events(since=0)
            if (event.file, event.trigger) == defined.key
            and event.run is not None
            # A run that was deleted since counts as one of today: nothing may get around the budget.
            and created.get(event.run, event.at) >= today
        ]
        if per_day.runs is not None and len(runs) >= per_day.runs:
            return f"{len(runs)} of {per_day.runs} runs of this day (UTC) have been started"
        if per_day.usd is None:
            return ""
        limits = defined.definition.context.file.limits
        most: float = (limits and limits.most("usd")) or 0.0
        spent = sum(self._cost(run, most) for run in runs)
        if spent + most <= per_day.usd + 1e-9:
            return ""
        return f"${spent:.2f} of ${per_day.usd:g} for this day (UTC) are spent or reserved, and a run may cost ${most:g}"

    def _cost(self, run: RunId, most: float) -> float:
        """What an ended run has cost, unknown calls at what was reserved for them; an open one may use all of its limit.

        A run that continues as a new one costs what its series costs, whose ledger the newest run has.
        """
        head = self.project.runtime.head(run)
        head = None if head is None else newest_of(self.project.runtime, head)
        if head is None or head.status in OPEN:
            return most
        if self._spent.get(run, (-1, 0.0))[0] != head.last_seq:
            try:
                events = events_of(self.project.runtime.events(head.run))
                state = fold(workflow_of(self.project, head), events)
            except PodiumError:
                return most
            ledger = next(ledger for ledger in state.ledgers.values() if ledger.parent is None)
            self._spent[run] = (head.last_seq, (ledger.spent.usd + ledger.unknown.usd) / MICRO)
        return self._spent[run][1]


def _key(event: TriggerEvent) -> tuple[str, str, str]:
    return (event.file, event.trigger, event.id)


def _catch_up(defined: DefinedTrigger) -> str:
    return defined.trigger.catch_up or "last"


def _is_skipped(defined: DefinedTrigger, event: TriggerEvent) -> bool:
    condition = defined.trigger.skip_if
    return condition is not None and evaluate(parse_expression(condition), EventNames(event)) is True


def _inputs(defined: DefinedTrigger, event: TriggerEvent) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The inputs of a run, and the names of those that come from outside of the project."""
    context = CompileContext(defined.definition.context)
    path = defined.trigger.at("inputs")
    pairs = context.pairs(defined.trigger.inputs, path)
    inputs, outside = dict[str, Any](), list[str]()
    for name, value in pairs:
        names = EventNames(event)
        inputs[name] = fill(value, names)
        # What a clock says is only a time.
        if names.is_read and defined.trigger.cron is None:
            outside.append(name)
    return inputs, tuple(outside)
