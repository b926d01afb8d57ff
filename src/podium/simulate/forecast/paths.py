"""The most expensive path through a sequence whose steps may lead back.

Each entry is a transition. An entry that exceeds the breaker costs one more, for the question that allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple, assert_never

from podium.core.decide.breaker import is_cycle
from podium.core.evolve.scopes import TRAIL_KEPT
from podium.core.model import Agent, Block, Step, Target
from podium.core.policy import Breaker
from podium.core.queries.graph import targets_of
from podium.core.types import CONTINUING_OUTCOMES, Outcome
from podium.fast_dataclass import dataclass
from podium.simulate.forecast.breaker_costs import (
    FAILED,
    LAST,
    PASSED,
    BreakerCosts,
    Ends,
    Exit,
    Part,
    SingleStepCosts,
)
from podium.simulate.forecast.cost_tables import NEVER, Table, delay

NEXT: Final = Target("next")
TOO_MUCH: Final = 10**9


class PathEntry(NamedTuple):
    """One entry on a path: the step, the transitions spent inside it, and how it is left."""

    step: int
    inside: int
    leaves: Exit


@dataclass(frozen=True, slots=True)
class Walk:
    """`bounds` has the tables of each step's part; the lowest of them applies."""

    good: Table
    bad: Table
    block: Block
    ends: tuple[Ends, ...]
    price: int
    breaker: Breaker
    exits: tuple[tuple[Exit, ...], ...]
    bounds: tuple[tuple[BreakerCosts | SingleStepCosts, ...], ...]

    def path(self, t: int, *, good: bool) -> Iterator[PathEntry]:
        """A path to this end that a run can take: each entry pays its real cost and takes the most expensive continuation."""
        position = _PathState(self, 0 if good else 1)
        index, remaining = 0, t - self.price
        while index >= 0 and remaining >= 0:
            position.enter(index)
            move = position.most_expensive(index, remaining)
            yield move
            remaining -= move.inside + (position.cost(move.leaves.to) if move.leaves.to >= 0 else 0)
            index = move.leaves.to


class _PathState:
    """The current position on a path."""

    __slots__ = ("_end", "_trail", "_visits", "_walk")

    def __init__(self, walk: Walk, end: int) -> None:
        self._walk, self._end = walk, end
        self._visits: Counter[int] = Counter()
        self._trail: tuple[int, ...] = ()

    def enter(self, index: int) -> None:
        self._visits[index] += 1
        self._trail = (*self._trail[1 - TRAIL_KEPT :], index)

    def cost(self, to: int) -> int:
        """The cost of the next entry of a step; more than any limit if the step cannot be entered again."""
        if not self._visits[to]:
            return self._walk.price
        step = self._walk.block.steps[to]
        is_used_up = _is_used_up(step, self._walk.breaker, self._visits[to])
        if is_used_up and _decides_itself(step):
            return TOO_MUCH
        return 1 + (is_used_up or self._is_cycle(to))

    def _is_cycle(self, to: int) -> bool:
        times = self._walk.breaker.cycle
        return times is not None and is_cycle(self._trail, to, times)

    def most_expensive(self, index: int, t: int) -> PathEntry:
        """The most expensive exit of this step and number of transitions spent inside it."""
        move, highest = PathEntry(index, 0, Exit("failed", FAILED)), NEVER
        for exit_ in self._walk.exits[index]:
            if exit_.asks:
                continue  # On a path, every question is answered with "proceed".
            table = self._walk.ends[index][0 if exit_.good else 1]
            after = self._after(exit_.to, t)
            width = 1 if table[0] == table[-1] else t + 1
            for inside, value in enumerate(map(sum, zip(table[:width], reversed(after), strict=False))):
                if value > highest:
                    move, highest = PathEntry(index, inside, exit_), value
        return move

    def _after(self, to: int, t: int) -> Sequence[int]:
        """The maximum that can follow, for 0 to t remaining transitions."""
        if to < 0:
            return (0 if to == LAST[self._end] else NEVER,) * (t + 1)
        cost = min(t + 1, self.cost(to))
        ended = [NEVER if self._end == 0 else 0] * cost
        self._visits[to] += 1
        tables = [bound.most(to, self._end, t - cost, self._visits) for bound in self._walk.bounds[to]]
        self._visits[to] -= 1
        return ended if cost > t else [*ended, *(map(min, *tables) if len(tables) > 1 else tables[0])]


def walk_sequence(
    block: Block,
    ends: tuple[Ends, ...],
    price: int,
    breaker: Breaker,
    *,
    has_advisor: bool = False,
    shielded: bool = False,
) -> Walk:
    """`price` is the cost of entering the next step; a step back always costs one.

    `has_advisor`: an advisor may answer a question by sending control to another step. `shielded`: inside `finally`.
    """
    exits = exits_of_block(block, has_advisor=has_advisor, shielded=shielded)
    most: dict[tuple[int, int], Table] = {}
    bounds: list[tuple[BreakerCosts | SingleStepCosts, ...]] = [()] * len(block.steps)
    for steps in reversed(split_into_parts(exits)):
        part = Part(steps, exits, ends, price, most)
        part_bounds = tuple(_bounds(part, block, breaker)) if part.loops else (SingleStepCosts(part),)
        for index in steps:
            bounds[index] = part_bounds
            visits = Counter((index,))
            for end in (0, 1):
                tables = [bound.most(index, end, part.size - 1, visits) for bound in part_bounds]
                most[index, end] = tuple(map(min, *tables)) if len(tables) > 1 else tuple(tables[0])
    good, bad = delay(most[0, 0], price, NEVER), delay(most[0, 1], price, 0)
    return Walk(good, bad, block, ends, price, breaker, exits, tuple(bounds))


def _bounds(part: Part, block: Block, breaker: Breaker) -> Iterator[BreakerCosts]:
    """Bounds that charge the steps which the most expensive path so far enters more often than is free."""
    charged: dict[int, int] = {}
    while True:
        bound = BreakerCosts(part, charged, 1)
        yield bound
        entries = bound.entries(part.steps[0])
        free = {index: charged_after(block.steps[index], breaker) for index in entries}
        exceeded = {
            index: limit for index, limit in free.items() if limit is not None and entries[index] > limit
        }
        if exceeded.keys() <= charged.keys():
            break
        charged = {**charged, **exceeded}
    if charged:
        yield BreakerCosts(part, charged, 2)


def charged_after(step: Step, breaker: Breaker) -> int | None:
    """The free visits of a step whose further visits cost more; None if they cost only their entry."""
    is_accepted = _decides_itself(step) and step.retry.on_exhausted == "accept_best"
    return None if is_accepted else _free_visits(step, breaker)


def _free_visits(step: Step, breaker: Breaker) -> int | None:
    """How often a step may be entered before the breaker asks."""
    return breaker.visits if step.retry.visits is None else step.retry.visits


def _is_used_up(step: Step, breaker: Breaker, visits: int) -> bool:
    free = _free_visits(step, breaker)
    return free is not None and visits >= free


def _decides_itself(step: Step) -> bool:
    """Whether the file says what follows after the last visit, so that no question is asked and no work is done."""
    return step.retry.stated and step.retry.on_exhausted != "human"


def split_into_parts(exits: tuple[tuple[Exit, ...], ...]) -> list[range]:
    """The sequence split into parts that control never returns to after leaving them."""
    parts: list[range] = []
    for index, step_exits in enumerate(exits):
        first = min((exit_.to for exit_ in step_exits if 0 <= exit_.to <= index), default=index)
        while parts and parts[-1][-1] >= first:
            first = min(first, parts.pop()[0])
        parts.append(range(first, index + 1))
    return parts


def exits_of_block(
    block: Block, *, has_advisor: bool = False, shielded: bool = False
) -> tuple[tuple[Exit, ...], ...]:
    """The exits of each step of a sequence, with those that only an advisor's answer allows."""
    size = len(block.steps)
    exits = tuple(tuple(exits_of(block.steps, index, shielded=shielded)) for index in range(size))
    if not has_advisor:
        return exits
    return tuple((*step_exits, *_advisor_exits(step_exits, size)) for step_exits in exits)


def exits_of(steps: tuple[Step, ...], index: int, *, shielded: bool = False) -> Iterator[Exit]:
    """Every exit of a step of a sequence; in `finally`, an agent that cannot be paid is skipped."""
    step = steps[index]
    for target in _targets(step, "passed"):
        yield Exit("passed", _target_index(target, index, len(steps)))
    if _may_leave(step):
        yield Exit("passed", PASSED)
    if step.when is not None or (shielded and isinstance(step.verb, Agent)):
        for target in _targets(step, "skipped"):
            yield Exit("skipped", _target_index(target, index, len(steps)))
    for outcome, target in targets_of(step):
        if outcome not in CONTINUING_OUTCOMES:
            # A loop that is left after a failure has failed.
            to = FAILED if target.kind == "break" else _target_index(target, index, len(steps))
            yield Exit(outcome, to)
    yield Exit("failed", FAILED)


def _targets(step: Step, outcome: Outcome) -> tuple[Target, ...]:
    return tuple(target for word, target in targets_of(step) if word == outcome) or (NEXT,)


def _may_leave(step: Step) -> bool:
    """Whether a step inside leaves a loop around it, and thereby this sequence."""
    inner = step.verb.steps if isinstance(step.verb, Block) else ()
    leaves = any(target.kind == "break" for child in inner for _, target in targets_of(child))
    return leaves or any(map(_may_leave, inner))


def _advisor_exits(exits: tuple[Exit, ...], size: int) -> Iterator[Exit]:
    for good in (True, False):
        first = next((exit_ for exit_ in exits if exit_.good == good and exit_.to >= 0), None)
        if first is not None:
            yield from (Exit(first.outcome, to, asks=1) for to in range(size))


def _target_index(target: Target, index: int, size: int) -> int:
    assert target.kind != "choose"  # `targets_of` gives its choices.
    match target.kind:
        case "step":
            return target.step
        case "next":
            return index + 1 if index + 1 < size else PASSED
        case "fail":
            return FAILED
        case "end" | "break":
            return PASSED
        case _:
            assert_never(target.kind)
