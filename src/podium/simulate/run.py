"""Drives one run through the core in simulated time: no process, no file, no clock."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

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
from podium.core.events import AttemptEnded, Event, FactsFound
from podium.core.evolve.evolve import initial
from podium.core.messages import Fired, Message, Refusal, Start
from podium.core.model import Workflow
from podium.core.payloads import RunFacts
from podium.core.state import State
from podium.core.turn import turn
from podium.core.types import Millis, Path
from podium.simulate.world import World

MAX_TURNS = 1_000_000
DEATH = Millis(50)
"""How long a cancelled worker takes to confirm its death."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A run that has come to its end, or stands still because nobody answers."""

    state: State
    events: tuple[Event, ...]
    turns: int


class Stuck(Exception):
    """The run neither ends nor waits for anything that will come: a bug of the core."""


def simulate(
    workflow: Workflow,
    world: World,
    *,
    inputs: Mapping[str, Any] | None = None,
    env: Mapping[str, str] | None = None,
    run_id: str = "simulated",
    no_human: bool = False,
    messages: Mapping[Millis, Message] | None = None,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None = None,
) -> Simulated:
    """Run until the end. `messages` are said to the run at fixed times, whatever the world does."""
    clock = _Clock()
    facts = RunFacts(run_id, workflow.name, branch="main", base="base", date="2026-01-01")
    start = Start(facts, dict(inputs or {}), dict(env or {}), world.base(), no_human)
    clock.at(Millis(0), start)
    for at, message in (messages or {}).items():
        clock.at(at, message)
    return _loop(initial(workflow), world, clock, on_turn)


def _loop(
    state: State,
    world: World,
    clock: _Clock,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None,
) -> Simulated:
    log: list[Event] = []
    for number in range(MAX_TURNS):
        message = clock.next()
        if message is None or state.ended is not None:
            return Simulated(state, tuple(log), number)
        taken = turn(state, message, clock.now)
        if isinstance(taken, Refusal):
            continue
        state = taken.state
        log.extend(taken.events)
        if on_turn is not None:
            on_turn(state, taken.events)
        for effect in taken.effects:
            perform(effect, state, world, clock)
    raise Stuck(f"no end after {MAX_TURNS} turns")


class _Clock:
    """Simulated time and the messages on their way, in the order they arrive."""

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
    """Ask the world, and put its answer on the way."""
    match effect:
        case RunAttempt(asked=started):
            later = world.attempt(started, state)
            clock.after(later.after, later.message)
        case CancelAttempt(asked=started):
            dead = AttemptEnded(clock.now, started.path, started.attempt, "cancelled")
            clock.after(DEATH, dead)
        case StartTimer(path=path, due=due):
            clock.at(due, Fired(path, due))
        case AskPerson(asked=asked):
            answers = [world.person(asked, state, number) for number in range(asked.approvals)]
            # Where nobody will ever answer, reminders would go on for ever; the run stands still instead.
            still = asked.expires is None and not any(answers)
            _timers(clock, asked.path, asked.expires, None if still else asked.remind, asked.escalate)
            for answer in answers:
                if answer is not None:
                    clock.after(answer.after, answer.message)
        case Watch(asked=waited):
            _timers(clock, waited.path, waited.due)
            arrival = world.wait(waited, state)
            if arrival is not None:
                clock.after(arrival.after, arrival.message)
        case FindFact(asked=query):
            value = world.fact(query, state)
            clock.at(
                clock.now,
                FactsFound(clock.now, query.path, query.function, query.argument, query.tree, value),
            )
        case JoinTrees(asked=join):
            clock.at(clock.now, world.join(join, state))
        case _:
            assert_never(effect)


def _timers(clock: _Clock, path: Path, *dues: Millis | None) -> None:
    for due in dues:
        if due is not None:
            clock.at(due, Fired(path, due))
