"""Runs a workflow in a simulated world, optionally with duplicate reports, other orders and crashes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from podium.core.decide.decide import decide
from podium.core.effects import CancelAttempt, Effect
from podium.core.events import Event
from podium.core.evolve.evolve import evolve, fold, initial
from podium.core.handle import handle
from podium.core.ledger import cancelled_attempt
from podium.core.messages import Message, Recover, Refusal, Signal, Start
from podium.core.model import Workflow
from podium.core.payloads import RunFacts, TypicalUse
from podium.core.state import State
from podium.core.turn import Turn, turn
from podium.core.types import Millis
from podium.simulate.run import CANCEL_DELAY, perform
from podium.simulate.world import World
from tests.core.run_log import RunLog

MAX_TURNS = 20_000
"""More than any run needs: 200 transitions of a loop over items that are blocks take about 6,000 turns."""
FACTS = RunFacts("r1", "w", "main", "base", "2026-01-01")


class TooManyTurns(AssertionError):
    """The run takes too many turns."""


@dataclass
class Run:
    """A run in progress: its state, its log, and the messages to come."""

    state: State
    log: list[Event] = field(default_factory=list)
    turns: list[tuple[Message, Millis, tuple[Event, ...]]] = field(default_factory=list)
    now: Millis = Millis(0)
    heap: list[tuple[Millis, int, Message]] = field(default_factory=list)
    count: int = 0
    refusals: list[Refusal] = field(default_factory=list)

    def at(self, when: Millis, message: Message) -> None:
        self.count += 1
        heapq.heappush(self.heap, (Millis(max(when, self.now)), self.count, message))

    def after(self, delay: Millis, message: Message) -> None:
        self.at(Millis(self.now + delay), message)

    def take(self, message: Message) -> Turn | None:
        """Make one turn; None if the message was refused."""
        result = turn(self.state, message, self.now)
        if isinstance(result, Refusal):
            self.refusals.append(result)
            return None
        self.state = result.state
        self.log.extend(result.events)
        self.turns.append((message, self.now, result.events))
        return result

    def perform(self, effects: Iterable[Effect], world: World) -> None:
        for effect in effects:
            if isinstance(effect, CancelAttempt):
                self.after(CANCEL_DELAY, cancelled_attempt(effect.started, self.now))
            else:
                perform(effect, self.state, world, self)  # type: ignore[arg-type]  # the same three methods


def start(
    workflow: Workflow, world: World, *, no_human: bool = False, usual: tuple[TypicalUse, ...] = ()
) -> Run:
    run = Run(initial(workflow))
    run.at(Millis(0), Start(replace(FACTS, typical_use=usual), {}, {}, world.base(), no_human))
    return run


def drive(
    workflow: Workflow,
    world: World,
    *,
    no_human: bool = False,
    usual: tuple[TypicalUse, ...] = (),
    messages: Sequence[tuple[Millis, Message]] = (),
    twice: bool = False,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None = None,
) -> Run:
    """Drive a run to its end. `messages` are sent at fixed times; `twice` sends every report twice."""
    run = start(workflow, world, no_human=no_human, usual=usual)
    for when, message in messages:
        run.at(when, message)
    return drive_to_end(run, world, twice=twice, on_turn=on_turn)


def drive_to_end(
    run: Run,
    world: World,
    *,
    twice: bool = False,
    on_turn: Callable[[State, tuple[Event, ...]], None] | None = None,
) -> Run:
    for _ in range(MAX_TURNS):
        if not run.heap or run.state.ended is not None:
            return run
        run.now, _, message = heapq.heappop(run.heap)
        first = run.take(message)
        if twice and not isinstance(message, Signal):
            # The second delivery of a signal may end the next wait for it.
            second = run.take(message)
            assert second is None or not second.events, f"{message} had an effect twice"
        if first is None:
            continue
        if on_turn is not None:
            on_turn(run.state, first.events)
        run.perform(first.effects, world)
    raise TooManyTurns(f"no end after {MAX_TURNS} turns")


def run_log_of(workflow: Workflow, world: World) -> RunLog:
    """The log of a whole run, which must have ended."""
    run = drive(workflow, world)
    assert run.state.ended is not None, f"the run is stuck; pending: {run.state.pending}"
    return RunLog(workflow, run.log)


def resume(workflow: Workflow, log: Sequence[Event], world: World) -> Run:
    """Resume a log that a crash cut off, like a new owner: fold, recover, decide, perform the pending effects."""
    run = Run(fold(workflow, log), list(log), now=log[-1].at)
    recovery = handle(run.state, Recover(1), run.now)
    assert not isinstance(recovery, Refusal)
    for event in recovery:
        run.state = evolve(run.state, event)
    run.state, decided = decide(run.state, run.now, None)
    run.log += [*recovery, *decided]
    run.perform((effect for _, effect in run.state.pending.items()), world)
    return run
