"""Gives the effects of a run to workers, each as an activity, and turns what comes back into reports.

The server never repeats an attempt by itself: what became of a lost one is a decision of the core.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, NamedTuple

from temporalio import exceptions, workflow
from temporalio.common import RetryPolicy

from podium.core.addresses import ROOT
from podium.core.codec import decode
from podium.core.effects import Effect, EffectKey, FindFact, JoinTrees, RunAttempt, Watch, effect_key
from podium.core.events import AttemptEnded, AttemptLost, AttemptStarted, FactsFound, JoinEnded, WaitEnded
from podium.core.expressions.nodes import ExprError, NeedFact
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Message, Report
from podium.core.payloads import Amounts, RefusedMember
from podium.core.persistent_map import PersistentMap
from podium.core.state import State
from podium.core.types import Address, Millis
from podium.errors import PodiumError
from podium.tasks.at_home import HOME, is_at_home
from podium.tasks.build import task_of
from podium.tasks.task import CollectTask
from podium.tasks.task_json import encode
from podium.temporal.protocol import (
    EXCHANGE,
    HANDED_BACK,
    PERFORM,
    QUEUE,
    UNABLE,
    RunInput,
    fits,
    label_queue,
)

COLLECT: Final = "collect"
"""The kind of key of work by hand that is handed in; its preparation may still watch for the end of it."""
LONGEST: Final = timedelta(days=30)
"""An attempt has its own time limit; this one only keeps the server from waiting for ever."""
PATIENCE: Final = timedelta(seconds=30)
"""How long workers with a preferred label are waited for, if there is another one."""
PATIENCE_OVER: Final = "patience"
"""The end of a delivery to which no worker with the label came."""
MOST_LOSSES: Final = 5
"""How often one attempt may lose its worker: something in it probably ends the process."""
MOST_REFUSALS: Final = 12
"""How many workers may be unable to perform one attempt."""
LONGEST_PAUSE_S: Final = 30


class Delivery(NamedTuple):
    key: tuple[str, Address]
    """The kind and the path; the work of a person may be handed in while its preparation still watches."""
    effect: Effect
    state: State
    published: list[Any]
    collect: CollectTask | None = None
    """The work of a person that is handed in, if that is what has to be done about the effect."""


class _Outcome(NamedTuple):
    """How one delivery ended: with a report, or with the reason why there is none."""

    report: Report | None = None
    retry: str = ""
    """Why the same work has to be delivered again; nothing of it was done."""
    is_lost: bool = False


class Deliveries:
    def __init__(self, parameters: RunInput, post: Callable[[Message, str], None]) -> None:
        self._parameters = parameters
        self._post = post
        self.files: list[str] = list(parameters["files"])
        self.count = parameters["deliveries"]
        self.running: dict[tuple[str, Address], _Running] = {}
        self._losses: dict[tuple[Address, int], int] = {}
        self.lacking = ""
        """Why work waits for a worker."""

    def launch(self, delivery: Delivery) -> None:
        if delivery.key in self.running:
            return
        running = _Running(by_hand=isinstance(delivery.effect, RunAttempt) and delivery.effect.by_hand)
        self.running[delivery.key] = running
        running.task = asyncio.create_task(self._work(delivery, running))

    def cancel(self, key: tuple[str, Address]) -> bool:
        """Stop a delivery; False if there is none."""
        both = [self.running[each] for each in (key, (COLLECT, key[1])) if each in self.running]
        for running in both:
            running.cancel()
        return bool(both)

    def stop_unneeded(self, pending: PersistentMap[EffectKey, Effect]) -> None:
        """Stop what is no longer asked for, such as a watch whose wait was ended by its time."""
        keys: set[tuple[str, Address]] = {key for key, _ in pending.items()}
        for key, running in list(self.running.items()):
            effect = ("attempt", key[1]) if key[0] == COLLECT else key
            if effect not in keys and (key[0] != "attempt" or running.by_hand):
                running.cancel()

    async def _work(self, delivery: Delivery, running: _Running) -> None:
        message: Message | None
        try:
            message = await self._report(delivery, running)
        finally:
            del self.running[delivery.key]
        if message is not None:
            self._post(message, "world")

    async def _report(self, delivery: Delivery, running: _Running) -> Message | None:
        effect = delivery.effect
        task = _task_json(delivery)
        if isinstance(task, str):
            return failed_effect(effect, task)
        labels = _labels(effect, delivery.state)
        refusals, pauses, place = 0, 0, 0
        while True:
            label, is_last = (labels[place], place == len(labels) - 1) if labels else ("", True)
            outcome = await self._deliver(delivery, task, label, running, patient=is_last)
            if outcome.is_lost and isinstance(effect, RunAttempt) and not effect.by_hand:
                return self._lost(effect)
            if outcome.is_lost and not running.is_cancelled():
                continue  # Asking about files, joining, watching and the work of a person cost nothing.
            if not outcome.retry:
                return outcome.report
            if running.is_cancelled():
                return _cancelled(effect)
            if outcome.retry == UNABLE:
                refusals += 1
                if refusals >= MOST_REFUSALS:
                    return failed_effect(effect, f"no worker can do this: {self.lacking}")
            if outcome.retry == PATIENCE_OVER:
                place += 1
                continue
            pauses += 1
            await asyncio.sleep(min(2**pauses, LONGEST_PAUSE_S) if outcome.retry == EXCHANGE else 1)
            if running.is_cancelled():
                return _cancelled(effect)

    def _lost(self, effect: RunAttempt) -> Message | None:
        started = effect.started
        count = self._losses.get((started.path, started.attempt), 0) + 1
        self._losses[started.path, started.attempt] = count
        if count >= MOST_LOSSES:
            text = f"it has lost its worker {count} times, so it is not tried again"
            return failed_effect(effect, text, "lost")
        return AttemptLost(_now(), started.path, started.attempt)

    async def _deliver(
        self, delivery: Delivery, task: Any, label: str, running: _Running, *, patient: bool
    ) -> _Outcome:
        self.count += 1
        number = self.count
        handle = workflow.start_activity(
            PERFORM,
            {
                "run": self._parameters["run"],
                "context": self._parameters["context"],
                "exchange": self._parameters["exchange"],
                "task": task,
                "files": list(self.files),
                "published": list(delivery.published),
                "number": number,
            },
            task_queue=self._queue(label),
            # The address is text of the workflow, so with encrypted payloads it must not be in an id.
            activity_id=f"{delivery.key[0]}.{number}",
            heartbeat_timeout=timedelta(seconds=self._parameters["heartbeat_s"]),
            start_to_close_timeout=LONGEST,
            schedule_to_start_timeout=None if patient else PATIENCE,
            retry_policy=RetryPolicy(maximum_attempts=1),
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        running.handle = handle
        if running.is_cancelled():
            handle.cancel()
        try:
            result: dict[str, Any] = await handle
        except exceptions.ActivityError as error:
            return self._failure(error, delivery.effect, running)
        except asyncio.CancelledError:
            return _Outcome(_cancelled(delivery.effect))
        self.lacking = ""
        if result["files"]:
            self.files.append(result["files"])
        return _Outcome(None if result["report"] is None else _decoded(result["report"]))

    def _queue(self, label: str) -> str:
        if label == HOME:
            return self._parameters.get("home", QUEUE)
        return label_queue(label) if label else QUEUE

    def _failure(self, error: exceptions.ActivityError, effect: Effect, running: _Running) -> _Outcome:
        cause = error.cause
        if isinstance(cause, exceptions.CancelledError):
            return _Outcome(_cancelled(effect))
        if isinstance(cause, exceptions.TimeoutError):
            if cause.type == exceptions.TimeoutType.SCHEDULE_TO_START:
                return _Outcome(retry=PATIENCE_OVER)
            return _Outcome(is_lost=True)
        if isinstance(cause, exceptions.ApplicationError) and cause.type == HANDED_BACK:
            return _Outcome(_cancelled(effect)) if running.is_cancelled() else _Outcome(is_lost=True)
        if isinstance(cause, exceptions.ApplicationError) and cause.type in (EXCHANGE, UNABLE):
            self.lacking = cause.message
            return _Outcome(retry=cause.type)
        message = cause.message if isinstance(cause, exceptions.ApplicationError) else str(cause)
        return _Outcome(failed_effect(effect, message))


class _Running:
    """Work that a worker has or will get."""

    def __init__(self, *, by_hand: bool) -> None:
        self.by_hand = by_hand
        self.task: asyncio.Task[None] | None = None
        self.handle: workflow.ActivityHandle[Any] | None = None
        self._cancelled = False

    def is_cancelled(self) -> bool:
        return self._cancelled

    def cancel(self) -> None:
        self._cancelled = True
        if self.handle is not None:
            self.handle.cancel()


def _now() -> Millis:
    return Millis(int(workflow.time() * 1000))


def _decoded(value: Any) -> Report:
    report: Any = decode(value)
    return report  # type: ignore[no-any-return]  # workers report nothing else


def _task_json(delivery: Delivery) -> Any:
    """The task for a worker, or why there is none."""
    try:
        task = encode(delivery.collect or task_of(delivery.effect, delivery.state))
    except (PodiumError, ExprError, NeedFact) as error:
        return error.message if isinstance(error, PodiumError) else str(error)
    return task if fits(task) else "what this step reads is too large to be sent to a worker; give it less"


def _labels(effect: Effect, state: State) -> tuple[str, ...]:
    """Where a step may run; a gate and what else belongs to a step runs where that does."""
    if is_at_home(effect, state):
        return (HOME,)
    path = effect_key(effect)[1]
    while path in state.instances:
        place = state.instances[path].place
        if place.step.settings.runs_on:
            return place.step.settings.runs_on
        if path == ROOT:
            break
        path = place.parent
    return ()


def _cancelled(effect: Effect) -> Report | None:
    return cancelled_attempt(effect.started, _now()) if isinstance(effect, RunAttempt) else None


def failed_effect(effect: Effect, message: str, reason: str = "internal") -> Report | None:
    """The report about an effect that no worker could perform."""
    at = _now()
    match effect:
        case RunAttempt(started=started):
            return _failed_attempt(started, at, message, reason)
        case Watch(wait=waited):
            return WaitEnded(at, waited.path, "error", {"message": message}, reason)
        case FindFact(query=query):
            return FactsFound(at, query.path, query.function, query.argument, query.tree, None)
        case JoinTrees(join=join):
            members: Iterable[Address] = [path for path, _ in join.members] if join.gated else [join.path]
            refused = tuple(RefusedMember(path, "failed", message) for path in members)
            return JoinEnded(at, join.path, join.onto, refused)
        case _:
            return None


def _failed_attempt(started: AttemptStarted, at: Millis, message: str, reason: str) -> AttemptEnded:
    calls = started.reserve.calls if reason == "lost" else 0
    result = {"text": "", "message": message}
    end = AttemptEnded(at, started.path, started.attempt, "error", reason, result, started.start)
    return replace(end, used=Amounts(calls=calls), cost_known=not calls)
