"""Drives one run through the core in simulated time, without processes, files or a clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, assert_never

from podium.core.effects import (
    AskPerson,
    CancelAttempt,
    Effect,
    FindFact,
    JoinTrees,
    RunAttempt,
    StartTimer,
    Watch,
)
from podium.core.events import Event, FactsFound
from podium.core.evolve.evolve import initial
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Fired, Message, Refusal, Start
from podium.core.model import Workflow
from podium.core.payloads import RunFacts
from podium.core.state import State
from podium.core.turn import turn
from podium.core.types import MEMORY_FACTS, Address, Millis
from podium.fast_dataclass import dataclass
from podium.simulate.world import World

MAX_TURNS = 1_000_000
SIMULATED: Final = RunFacts("simulated", "", branch="main", base="base", date="2026-01-01")
NO_MEMORY: Final = {"tip": "", "tree": ""}
"""Simulated steps find every memory empty, and leave nothing in it."""
CANCEL_DELAY = Millis(50)
"""How long a cancelled worker takes to confirm that it has ended."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A run that has ended, or that is idle because no answer will come."""

    state: State
    events: tuple[Event, ...]
    turns: int


class NoProgress(Exception):
    """The run neither ends nor waits for a message that will come: a bug of the core."""


def simulate(
    workflow: Workflow,
    world: World,
    *,
    inputs: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    facts: RunFacts = SIMULATED,
    no_human: bool = False,
    messages: Mapping[Millis, Message] | None = None,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None = None,
) -> SimulatedRun:
    """Runs until the end; `messages` are sent to the run at fixed times, whatever the world does."""
    clock = _Clock()
    start = Start(
        replace(facts, name=workflow.name), dict(inputs or {}), dict(env or {}), world.base(), no_human
    )
    clock.at(Millis(0), start)
    for at, message in (messages or {}).items():
        clock.at(at, message)
    return _loop(initial(workflow), world, clock, on_turn)


def _loop(
    state: State,
    world: World,
    clock: _Clock,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None,
) -> SimulatedRun:
    log: list[Event] = []
    for number in range(MAX_TURNS):
        message = clock.next()
        if message is None or state.ended is not None:
            return SimulatedRun(state, tuple(log), number)
        result = turn(state, message, clock.now)
        if isinstance(result, Refusal):
            continue
        state = result.state
        log.extend(result.events)
        if on_turn is not None:
            on_turn(state, result.events)
        for effect in result.effects:
            perform(effect, state, world, clock)
    raise NoProgress(f"the run has not ended after {MAX_TURNS} turns")


class _Clock:
    """Simulated time, and the pending messages in the order they arrive."""

    __slots__ = ("_count", "_heap", "now")

    def __init__(self) -> None:
        self.now = Millis(0)
        self._heap: list[tuple[Millis, int, Message]] = []
        self._count = 0

    def at(self, when: Millis, message: Message) -> None:
        self._count += 1
        heapq.heappush(self._heap, (Millis(max(when, self.now)), self._count, message))

    def after(self, delay: Millis, message: Message) -> None:
        self.at(Millis(self.now + delay), message)

    def next(self) -> Message | None:
        if not self._heap:
            return None
        self.now, _, message = heapq.heappop(self._heap)
        return message


def perform(effect: Effect, state: State, world: World, clock: _Clock) -> None:
    """Asks the world and schedules its answer."""
    match effect:
        case RunAttempt(started=started):
            report = world.attempt(started, state)
            clock.after(report.after, report.message)
        case CancelAttempt(started=started):
            clock.after(CANCEL_DELAY, cancelled_attempt(started, clock.now))
        case StartTimer(path=path, due=due):
            clock.at(due, Fired(path, due))
        case AskPerson(request=question):
            answers = [world.person(question, state, number) for number in range(question.approvals)]
            # If no answer will ever come, reminders would repeat forever; the run stays idle instead.
            is_idle = question.expires is None and not any(answers)
            _set_timers(
                clock,
                question.path,
                question.expires,
                None if is_idle else question.remind,
                question.escalate,
            )
            for answer in answers:
                if answer is not None:
                    clock.after(answer.after, answer.message)
        case Watch(wait=wait):
            _set_timers(clock, wait.path, wait.due)
            arrival = world.wait(wait, state)
            if arrival is not None:
                clock.after(arrival.after, arrival.message)
        case FindFact(query=query):
            value = NO_MEMORY if query.function in MEMORY_FACTS else world.fact(query, state)
            clock.at(
                clock.now,
                FactsFound(clock.now, query.path, query.function, query.argument, query.tree, value),
            )
        case JoinTrees(join=request):
            clock.at(clock.now, world.join(request, state))
        case _:
            assert_never(effect)


def _set_timers(clock: _Clock, path: Address, *dues: Millis | None) -> None:
    for due in dues:
        if due is not None:
            clock.at(due, Fired(path, due))
