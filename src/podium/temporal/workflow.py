"""A run as a Temporal workflow: messages in, turns recorded, effects performed by workers, their reports the next messages.

Nothing here depends on the machine: a worker that takes the workflow over repeats these lines with the recorded results.
Decisions are results of local activities. The state is folded from their events, and `effects` are what the state asks for.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from datetime import timedelta
from typing import Any, NamedTuple

from temporalio import activity, workflow
from temporalio.common import RetryPolicy, SearchAttributeKey, WorkflowIDReusePolicy
from temporalio.exceptions import ApplicationError

from podium.core.codec import decode, encode
from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
    effect_key,
)
from podium.core.events import Event, RunEnded, StepEnded
from podium.core.evolve.evolve import advance, initial
from podium.core.handle import handle
from podium.core.hash_chain import FIRST_HASH, RunId, links
from podium.core.json_text import compact_json
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Fired, Message, Refusal, Signal
from podium.core.model import Wait
from podium.core.state import State, draft, freeze
from podium.core.turn import new_effects, turn
from podium.core.types import Address, Millis
from podium.ports.runtime import ManualWorkDone, RunCommand
from podium.ports.store import QueuedCommand
from podium.runtime.answers import validate_answer
from podium.runtime.commands import DONE, decode_command
from podium.runtime.manual_work import collect_task, manual_work_ended_by, not_by_hand
from podium.runtime.records import published_by
from podium.runtime.status import status_of
from podium.runtime.timers import dues_of
from podium.tasks.build import WATCHED
from podium.tasks.task_json import decode_workflow
from podium.temporal.deliveries import COLLECT, Deliveries, Delivery
from podium.temporal.next_run import hand_on, next_input
from podium.temporal.protocol import (
    ANYBODY,
    EVENTS,
    PAGE_BYTES,
    RUN,
    SEND,
    STARTED_WITH,
    STATUS_ATTRIBUTE,
    TURN,
    WAITS_FOR_ATTRIBUTE,
    Page,
    RunInput,
)

TURN_TIME = timedelta(seconds=20)
FULL_HISTORY = 20_000
"""Length of a history at which the run waits for its attempts in order to continue as a new one; 51,200 is the limit."""
ARTIFACTS = "artifacts"


WAITING: dict[str, tuple[State, Message]] = {}
"""What a workflow of this process wants to be decided, by the key of the activity. A state is too large to be sent."""


@activity.defn(name=TURN)
async def take_turn(key: str, now: int) -> dict[str, Any]:
    """The events of a turn as they are stored, or the refusal."""
    state, message = WAITING[key]
    valid = validate_answer(state, message)
    result = valid if isinstance(valid, Refusal) else turn(state, valid, Millis(now))
    if isinstance(result, Refusal):
        return {"refusal": [result.code, result.message]}
    return {"events": [[type(event).__name__, stored_text(encode(event))] for event in result.events]}


def stored_text(value: Any) -> str:
    """As the log stores it: half a surrogate pair, which no file can hold, is escaped."""
    return compact_json(value).encode("utf-8", "backslashreplace").decode()


class _Incoming(NamedTuple):
    message: Message | ManualWorkDone
    cause: str
    key: str = ""
    """Of the command, if it is one."""


@workflow.defn(name=RUN, sandboxed=False)
class RunWorkflow:
    @workflow.init
    def __init__(self, parameters: RunInput) -> None:
        self._parameters = parameters
        self._run = RunId(parameters["run"])
        self._state = initial(decode_workflow(parameters["definition"]))
        self._decoded: list[Event] = []
        self._events: list[list[str]] = []
        self._last_hash = FIRST_HASH
        self._turns: list[Any] = []
        self._published: list[Any] = []
        self._replies = dict(parameters["replies"])
        self._incoming: deque[_Incoming] = deque()
        self._timers: dict[tuple[Address, Millis], asyncio.Task[None]] = {}
        self._deliveries = Deliveries(parameters, self._post)
        self._clock = Millis(0)
        """The latest time at which a timer was due."""
        self._count = 0
        self._searched: tuple[str, list[str]] = ("", [])
        self._shown: tuple[int, str] | None = None
        """How far followers see the log, while the next run of the series is being started."""
        for cause, encoded in parameters["turns"]:
            self._fold(cause, encoded)

    @workflow.run
    async def run(self, parameters: RunInput) -> dict[str, Any]:
        if self._turns:
            self._perform(tuple(self._state.pending.values()))
        else:
            self._incoming.append(_Incoming(_start_of(self._run, parameters), "letter start"))
        while self._state.ended is None:
            await workflow.wait_condition(lambda: bool(self._incoming) or self._may_continue())
            if self._incoming:
                await self._handle(self._incoming.popleft())
            else:
                await workflow.wait_condition(workflow.all_handlers_finished)
                if not self._incoming:
                    workflow.continue_as_new(self._next_input())
        if self._shown is not None:
            await self._start_next()
        for left in self._incoming:
            if left.key:
                self._replies[left.key] = f"run {self._run} has ended: {self._state.ended.status}"
        await workflow.wait_condition(workflow.all_handlers_finished)
        return {"status": self._state.ended.status, "last_hash": self._last_hash, "events": len(self._events)}

    @workflow.update(name=SEND)
    async def send(self, key: str, body: dict[str, Any]) -> str:
        """Follow a command, and answer with DONE or the reason why not; the same key twice is one command."""
        if key not in self._replies and all(waiting.key != key for waiting in self._incoming):
            command = _command_of(self._run, key, body)
            if isinstance(command, str):
                return command
            self._incoming.append(_Incoming(command, f"letter {key}", key))
        await workflow.wait_condition(lambda: key in self._replies)
        return self._replies[key]

    @send.validator
    def _validate_command(self, key: str, body: dict[str, Any]) -> None:
        """What is refused here leaves no trace in the history. The turn has the last word."""
        if key in self._replies:
            return
        command = _command_of(self._run, key, body)
        if isinstance(command, str):
            raise ApplicationError(command, type="unreadable")
        if isinstance(command, ManualWorkDone) or (
            isinstance(command, Signal) and manual_work_ended_by(self._state, command)
        ):
            return
        refused = handle(self._state, command, self._now()) if self._state.started is not None else ()
        if isinstance(refused, Refusal) and not self._incoming:
            raise ApplicationError(refused.message, type=refused.code)

    @workflow.query(name=EVENTS)
    def events_after(self, after: int) -> Page:
        count, last_hash = self._shown or (len(self._events), self._last_hash)
        size, end = 0, after
        while end < count and (size < PAGE_BYTES or end == after):
            size += sum(map(len, self._events[end]))
            end += 1
        return Page(
            events=self._events[after:end],
            count=count,
            last_hash=last_hash,
            files=self._deliveries.files,
            lacking=self._deliveries.lacking,
        )

    @workflow.query(name=STARTED_WITH)
    def started_with(self) -> dict[str, Any]:
        return {
            "definition": self._parameters["definition"],
            "context": self._parameters["context"],
            "start": self._parameters["start"],
            "source": self._parameters.get("source", ""),
            "started_at": int(workflow.info().start_time.timestamp() * 1000),
        }

    async def _handle(self, incoming: _Incoming) -> None:
        message, now = incoming.message, self._now()
        handed_in = manual_work_ended_by(self._state, message) if isinstance(message, Signal) else ()
        if isinstance(message, ManualWorkDone):
            handed_in = (message,)
        if isinstance(message, ManualWorkDone) or handed_in:
            self._replies[incoming.key] = DONE if self._collect(handed_in) else not_by_hand(handed_in[0])
            return
        self._count += 1
        key = f"{workflow.info().run_id}.{self._count}"
        WAITING[key] = (self._state, message)
        try:
            result: dict[str, Any] = await workflow.execute_local_activity(
                TURN,
                args=[key, now],
                start_to_close_timeout=TURN_TIME,
                retry_policy=RetryPolicy(maximum_attempts=3),
            )
        finally:
            WAITING.pop(key, None)
        if incoming.key:
            self._replies[incoming.key] = result["refusal"][1] if "refusal" in result else DONE
        if encoded := result.get("events"):
            events = self._fold(incoming.cause, encoded)
            self._perform(new_effects(self._state, events))
            self._deliveries.stop_unneeded(self._state.pending)
            self._tell_server()

    def _collect(self, handed_in: tuple[ManualWorkDone, ...]) -> bool:
        """Let the work of people be collected; False if a step does not wait for any."""
        for done in handed_in:
            effect = self._state.pending.get(("attempt", done.path))
            if not (isinstance(effect, RunAttempt) and effect.by_hand):
                return False
            task = collect_task(effect, done, self._state)
            self._deliveries.launch(
                Delivery((COLLECT, done.path), effect, self._state, self._published, task)
            )
        return True

    async def _start_next(self) -> None:
        """Start the run that continues this one. Until then followers do not see the end, so its objects stay."""
        parameters = next_input(self._parameters, self._state, self._decoded, self._last_hash)
        await hand_on(self._run, parameters)
        await workflow.start_child_workflow(
            RUN,
            parameters,
            id=parameters["run"],
            task_timeout=timedelta(seconds=5),
            parent_close_policy=workflow.ParentClosePolicy.ABANDON,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
        self._shown = None

    def _fold(self, cause: str, encoded: list[list[str]]) -> tuple[Event, ...]:
        events = tuple(decode(json.loads(body)) for _, body in encoded)
        state = draft(self._state)
        for event in events:
            state = advance(state, event)
        self._state = freeze(state)
        if isinstance(events[-1], RunEnded) and events[-1].continued_by:
            self._shown = (len(self._events), self._last_hash)
        records = links(
            self._run, len(self._events), self._last_hash, [(a, b) for a, b in encoded], cause=cause
        )
        self._last_hash = records[-1].hash
        self._turns.append([cause, encoded])
        self._events.extend([cause, kind, body] for kind, body in encoded)
        for event in events:
            self._decoded.append(event)
            if isinstance(event, StepEnded):
                self._publish(event)
        return events

    def _publish(self, event: StepEnded) -> None:
        for ended in published_by(self._state, self._decoded, event):
            artifacts = (ended.result or {}).get(ARTIFACTS)
            if artifacts:
                self._published.append([ended.path, artifacts])

    def _perform(self, effects: tuple[Effect, ...]) -> None:
        for effect in effects:
            for path, due in dues_of(effect):
                self._set_timer(path, due)
            match effect:
                case StartTimer() | AskPerson():
                    pass
                case CancelAttempt(started=started):
                    if not self._deliveries.cancel(("attempt", started.path)):
                        self._post(cancelled_attempt(started, self._now()), "engine")
                case _ if not is_work(effect, self._state):
                    pass
                case _ if self._is_full():
                    pass  # It stays pending, and the next part of the run performs it.
                case _:
                    self._deliveries.launch(
                        Delivery(effect_key(effect), effect, self._state, self._published)
                    )

    def _post(self, message: Message, cause: str) -> None:
        self._incoming.append(_Incoming(message, cause))

    def _set_timer(self, path: Address, due: Millis) -> None:
        if (path, due) not in self._timers:
            self._timers[path, due] = asyncio.create_task(self._fire(path, due))

    async def _fire(self, path: Address, due: Millis) -> None:
        await asyncio.sleep(max(0, due - self._now()) / 1000)
        kinds: tuple[Any, ...] = ("timer", "retry", "wait", "person")
        if any((kind, path) in self._state.pending for kind in kinds):
            # The time of a workflow is that of its last task, rounded: never before the timer is due.
            self._clock = Millis(max(self._clock, due))
            self._post(Fired(path, due), "timer")

    def _now(self) -> Millis:
        return Millis(max(self._clock, int(workflow.time() * 1000)))

    def _is_full(self) -> bool:
        """Whether nothing new is started, so that the run can continue with a new history."""
        length, limit = workflow.info().get_current_history_length(), self._parameters["continue_after"]
        is_due = length >= limit if limit else workflow.info().is_continue_as_new_suggested()
        return is_due and (length >= FULL_HISTORY or not self._deliveries.running)

    def _may_continue(self) -> bool:
        return bool(self._turns) and not self._deliveries.running and self._is_full() and self._has_more()

    def _has_more(self) -> bool:
        """Whether effects were held back; a run that only waits for a person has time."""
        return any(is_work(effect, self._state) for effect in self._state.pending.values())

    def _next_input(self) -> RunInput:
        parameters = dict(self._parameters)
        parameters.update(
            turns=self._turns,
            replies=self._replies,
            files=self._deliveries.files,
            deliveries=self._deliveries.count,
        )
        return parameters  # type: ignore[return-value]  # the same keys

    def _tell_server(self) -> None:
        if not self._parameters["searchable"]:
            return
        status, waits_for = status_of(self._state), self._people_asked()
        if (status, waits_for) != self._searched:
            self._searched = (status, waits_for)
            workflow.upsert_search_attributes(
                [
                    SearchAttributeKey.for_keyword(STATUS_ATTRIBUTE).value_set(status),
                    SearchAttributeKey.for_keyword_list(WAITS_FOR_ATTRIBUTE).value_set(waits_for),
                ]
            )

    def _people_asked(self) -> list[str]:
        """Who may answer the open questions."""
        verb: Any = self._state.root.verb
        groups = dict(verb.workflow.people)
        names: dict[str, None] = {}
        for effect in self._state.pending.values():
            if isinstance(effect, AskPerson):
                for name in effect.request.by or (ANYBODY,):
                    names.update(dict.fromkeys(groups.get(name, (name,))))
        return sorted(names)


def is_work(effect: Effect, state: State) -> bool:
    """Whether a worker has to do something for an effect; signals and times come by themselves."""
    match effect:
        case Watch(wait=waited):
            verb = state.instances[waited.path].place.step.verb
            return isinstance(verb, Wait) and verb.what in WATCHED
        case RunAttempt() | FindFact() | JoinTrees():
            return True
        case _:
            return False


def _command_of(run: RunId, key: str, body: dict[str, Any]) -> Any:
    command: RunCommand | str = decode_command(QueuedCommand(0, run, key, body))
    return command


def _start_of(run: RunId, parameters: RunInput) -> Message:
    start = _command_of(run, "start", parameters["start"])
    if isinstance(start, str):
        raise ApplicationError(start, non_retryable=True)
    message: Message = start
    return message
