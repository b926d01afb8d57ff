"""Runs a workflow in a simulated world, with every chance to disturb it: repeats, orders, crashes."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from podium.core.decide.decide import decide
from podium.core.effects import CancelAttempt, Effect
from podium.core.events import AttemptEnded, Event
from podium.core.evolve.evolve import evolve, fold, initial
from podium.core.handle import handle
from podium.core.messages import Message, Recover, Refusal, Signal, Start
from podium.core.model import Workflow
from podium.core.payloads import RunFacts, TypicalUse
from podium.core.state import State
from podium.core.turn import Turn, turn
from podium.core.types import Millis
from podium.simulate.run import DEATH, perform
from podium.simulate.world import World
from tests.core.story import Story

MAX_TURNS = 20_000
"""More than any run needs: two hundred transitions of a loop over items that work in blocks take about 6,000."""
FACTS = RunFacts("r1", "w", "main", "base", "2026-01-01")


class Endless(AssertionError):
    """A run that takes too many turns."""


@dataclass
class Run:
    """A run on its way: its state, its log, and the messages that are coming."""

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
        """One turn; None if the message was refused."""
        taken = turn(self.state, message, self.now)
        if isinstance(taken, Refusal):
            self.refusals.append(taken)
            return None
        self.state = taken.state
        self.log.extend(taken.events)
        self.turns.append((message, self.now, taken.events))
        return taken

    def perform(self, effects: Iterable[Effect], world: World) -> None:
        for effect in effects:
            if isinstance(effect, CancelAttempt):
                asked = effect.asked
                self.after(DEATH, AttemptEnded(self.now, asked.path, asked.attempt, "cancelled"))
            else:
                perform(effect, self.state, world, self)  # type: ignore[arg-type]  # the same three methods


def start(
    workflow: Workflow, world: World, *, no_human: bool = False, usual: tuple[TypicalUse, ...] = ()
) -> Run:
    run = Run(initial(workflow))
    run.at(Millis(0), Start(replace(FACTS, usual=usual), {}, {}, world.base(), no_human))
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
    """The whole run. `messages` are said at fixed times; `twice` says every report again."""
    run = start(workflow, world, no_human=no_human, usual=usual)
    for when, message in messages:
        run.at(when, message)
    return go_on(run, world, twice=twice, on_turn=on_turn)


def go_on(
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
        taken = run.take(message)
        if twice and not isinstance(message, Signal):
            # A signal said twice may well be heard by the next step that waits for it.
            again = run.take(message)
            assert again is None or not again.events, f"{message} was acted upon twice"
        if taken is None:
            continue
        if on_turn is not None:
            on_turn(run.state, taken.events)
        run.perform(taken.effects, world)
    raise Endless(f"no end after {MAX_TURNS} turns")


def told(workflow: Workflow, world: World) -> Story:
    """The story of a whole run, which must have come to its end."""
    run = drive(workflow, world)
    assert run.state.ended is not None, f"the run stands still; pending: {run.state.pending}"
    return Story(workflow, run.log)


def resume(workflow: Workflow, log: Sequence[Event], world: World) -> Run:
    """What a new owner does with the log a crash left behind: fold, recover, decide, perform what is pending."""
    run = Run(fold(workflow, log), list(log), now=log[-1].at)
    said = handle(run.state, Recover(1), run.now)
    assert not isinstance(said, Refusal)
    for event in said:
        run.state = evolve(run.state, event)
    run.state, decided = decide(run.state, run.now, None)
    run.log += [*said, *decided]
    run.perform((effect for _, effect in run.state.pending.items()), world)
    return run
