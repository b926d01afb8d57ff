"""How fast the core is: turns of simulated runs, their growth with size, and whole runs per second.

Figures are processor time: the machine may be busy with other things. Ratios say more than times.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType
from typing import Any, Final

from podium.core.evolve.evolve import fold
from podium.core.expressions.nodes import Arith, Compare, Const, Field, Name, Node
from podium.core.model import (
    Agent,
    Block,
    Command,
    ForEach,
    Gates,
    Human,
    Repeat,
    Review,
    Set,
    Step,
    Target,
    Wait,
    Workflow,
)
from podium.core.policy import Breaker, Limits, Retry
from podium.core.step_settings import Prompt
from podium.core.types import Millis
from podium.simulate.random_world import NO_FAILURES, Odds, RandomWorld
from podium.simulate.run import SimulatedRun, simulate

QUIET: Final = Breaker(visits=None, cycle=None, repeat=None, plateau=None, reversals=None)
FREE: Final = Limits()
DOUBLE_BOUND: Final = 2.3
RUNS_BOUND: Final = 500


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: a size, its time, and how much longer double the size takes."""

    name: str
    size: int
    events: int
    seconds: float
    ratio: float | None = None
    bound: float | None = None

    @property
    def holds(self) -> bool:
        return self.bound is None or self.ratio is None or self.ratio <= self.bound


def workflow(body: Block, *, slots: int = 8) -> Workflow:
    return Workflow("bench", body, limits=FREE, breaker=QUIET, max_parallel=slots)


def block(kind: Any, steps: tuple[Step, ...], **rest: Any) -> Block:
    index = MappingProxyType({step.name: place for place, step in enumerate(steps)})
    dependents: list[list[int]] = [[] for _ in steps]
    for place, step in enumerate(steps):
        for need in step.needs:
            dependents[need].append(place)
    return Block(
        kind, steps, index=index, dependents=tuple(map(tuple, dependents)) if kind == "dag" else (), **rest
    )


def command(name: str, **rest: Any) -> Step:
    return Step(name, Command(("true",)), touches=(), **rest)


def agent(name: str, **rest: Any) -> Step:
    return Step(
        name, Agent(role="worker", prompt=Prompt("do it")), touches=("src/**",), has_worker=True, **rest
    )


def sequence(size: int) -> Workflow:
    return workflow(block("seq", tuple(command(f"s{n}") for n in range(size))))


def fan_out(size: int) -> Workflow:
    return workflow(
        block("par", tuple(command(f"s{n}") for n in range(size)), parallel=size, join="discard"), slots=size
    )


def for_each(size: int) -> Workflow:
    body = Step("each", block("seq", (command("one"), command("two"))))
    loop = Step("each", ForEach(tuple(range(size)), body, parallel=8, join="discard"))
    return workflow(block("seq", (loop,)))


def graph(size: int) -> Workflow:
    """As wide as it is long, then one step that needs them all."""
    wide = tuple(command(f"s{n}", needs=(0,)) for n in range(1, size + 1))
    last = command("join", needs=tuple(range(1, size + 1)))
    return workflow(block("dag", (command("s0"), *wide, last), parallel=size))


def back_edges(size: int) -> Workflow:
    """Rounds of ten steps; the last sends control back until a variable has counted them."""
    steps = [command(f"s{n}") for n in range(8)]
    count = Set((("n", _plus(Field(Name("vars"), "n"))),))
    steps.append(Step("count", count, touches=()))
    done = Compare(">=", Field(Name("vars"), "n"), Const(size))
    back: Mapping[Any, Target] = MappingProxyType({"skipped": Target("step", 0)})
    steps.append(Step("last", Wait("timer", timer=Millis(1)), when=done, on=back, touches=()))
    plain = workflow(block("seq", tuple(steps)))
    return Workflow(
        plain.name, plain.body, limits=FREE, breaker=QUIET, vars=MappingProxyType({"n": 0}), max_parallel=1
    )


def _plus(node: Node) -> Node:
    return Arith("+", node, Const(1))


def rounds(size: int) -> Workflow:
    body = Step("again", block("seq", (command("one"), command("two"))))
    test = Const(value=False)
    return workflow(block("seq", (Step("again", Repeat(body, test, "until", size, "accept_best")),)))


def everyday() -> Workflow:
    """Ten steps: a gate, a review that sends back, a loop over items, rounds, a set, and an approval among them."""
    gates = (command("tests"),)
    build = agent("build", gates=Step("gates", Gates((gates,), gates)), retry=Retry(attempts=3))
    judge = Step("judge", Agent(role="judge", judge=True, member="judge"), touches=())
    back: Mapping[Any, Target] = MappingProxyType({"rejected": Target("step", 2)})
    steps = (
        agent("plan"),
        Step("note", Set((("n", 1),)), touches=()),
        build,
        Step("parts", ForEach(("a", "b"), agent("parts"), parallel=2)),
        Step("review", Review((judge,), ("build",)), on=back, touches=()),
        Step("polish", Repeat(command("polish"), Const(value=True), "until", 3)),
        Step("approve", Human(Prompt("Land it?")), on=back, touches=()),
        command("land"),
    )
    return Workflow(
        "everyday", block("seq", steps), limits=Limits(transitions=200), vars=MappingProxyType({"n": 0})
    )


GROWING: Final[tuple[tuple[str, Callable[[int], Workflow], int], ...]] = (
    ("sequence of steps", sequence, 5_000),
    ("fan-out, all at once", fan_out, 500),
    ("for_each of two steps, 8 at a time", for_each, 500),
    ("graph, wide, and one that needs all", graph, 500),
    ("back edges, rounds of ten", back_edges, 100),
    ("repeat, rounds of two", rounds, 500),
)
"""Each is measured at this size and at double the size."""


def calm(made: Workflow) -> SimulatedRun:
    found = simulate(made, RandomWorld(1, NO_FAILURES))
    assert found.state.ended is not None
    return found


def growth(name: str, make: Callable[[int], Workflow], size: int, times: int = 7) -> tuple[Figure, Figure]:
    """The middle of several ratios, each of a run of double the size beside the two of the size before and after it.

    So a moment in which the machine is slow strikes both, and one in which it is fast does not count for one alone.
    """
    small, large = make(size), make(2 * size)
    singles = [_played(small)]
    doubles = []
    for _ in range(times):
        doubles.append(_played(large))
        singles.append(_played(small))
    around = zip(doubles, singles, singles[1:], strict=False)
    ratio = median(2 * double[0] / (before[0] + after[0]) for double, before, after in around)
    return (
        Figure(name, size, singles[0][1], median(seconds for seconds, _ in singles)),
        Figure(name, 2 * size, doubles[0][1], median(seconds for seconds, _ in doubles), ratio, DOUBLE_BOUND),
    )


def _played(made: Workflow) -> tuple[float, int]:
    """Its seconds and its events."""
    gc.collect()
    began = time.process_time()
    events = len(calm(made).events)
    return time.process_time() - began, events


def folding(size: int = 2_500, times: int = 3) -> Figure:
    """Reading a stored log back: four events per step."""
    made = sequence(size)
    log = calm(made).events
    best = float("inf")
    for _ in range(times):
        began = time.process_time()
        fold(made, log)
        best = min(best, time.process_time() - began)
    return Figure("fold of a log", len(log), len(log), best)


def runs_per_second(seconds: float = 2.0) -> tuple[float, float]:
    """Whole simulated runs of the everyday workflow, in a calm and in an ordinary world."""
    made = everyday()
    return _rate(made, NO_FAILURES, seconds), _rate(made, Odds(), seconds)


def _rate(made: Workflow, odds: Odds, seconds: float) -> float:
    """The best of five slices of the time."""
    best = 0.0
    seed = 0
    for _ in range(5):
        began, count = time.process_time(), 0
        while time.process_time() - began < seconds / 5:
            simulate(made, RandomWorld(seed, odds))
            seed += 1
            count += 1
        best = max(best, count / (time.process_time() - began))
    return best
