"""The dearest way through a sequence whose steps may send control back.

Each entry is a transition. An entry that the breaker objects to costs one more, for the question that allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from podium.core.decide.breaker import is_cycle
from podium.core.evolve.scopes import TRAIL_KEPT
from podium.core.model import Agent, Block, Step, Target
from podium.core.policy import Breaker
from podium.core.types import CONTINUING_OUTCOMES
from podium.simulate.forecast.breaker_costs import FAILED, LAST, PASSED, BreakerCosts, Ends, Exit, Part
from podium.simulate.forecast.cost_tables import NEVER, Table

NEXT: Final = Target("next")
TOO_MUCH: Final = 10**9


class Move(NamedTuple):
    """One entry on a way: which step, how many transitions are spent inside it, how it ends."""

    step: int
    inside: int
    leaves: Exit


@dataclass(frozen=True, slots=True)
class Walk:
    """`bounds` has for each step the tables of its part, of which the least counts."""

    good: Table
    bad: Table
    block: Block
    ends: tuple[Ends, ...]
    price: int
    breaker: Breaker
    exits: tuple[tuple[Exit, ...], ...]
    bounds: tuple[tuple[BreakerCosts, ...], ...]

    def way(self, t: int, *, good: bool) -> Iterator[Move]:
        """A way to this end that a run can go: each entry pays what it costs there, and goes where most can follow."""
        at = _Here(self, 0 if good else 1)
        index, left = 0, t - self.price
        while index >= 0 and left >= 0:
            at.enter(index)
            move = at.dearest(index, left)
            yield move
            left -= move.inside + (at.cost(move.leaves.to) if move.leaves.to >= 0 else 0)
            index = move.leaves.to


class _Here:
    """Where a way has come to."""

    __slots__ = ("_end", "_trail", "_visits", "_walk")

    def __init__(self, walk: Walk, end: int) -> None:
        self._walk, self._end = walk, end
        self._visits: Counter[int] = Counter()
        self._trail: tuple[int, ...] = ()

    def enter(self, index: int) -> None:
        self._visits[index] += 1
        self._trail = (*self._trail[1 - TRAIL_KEPT :], index)

    def cost(self, to: int) -> int:
        """What the next entry of a step costs, or more than anybody has."""
        if not self._visits[to]:
            return self._walk.price
        step = self._walk.block.steps[to]
        used_up = _is_used_up(step, self._walk.breaker, self._visits[to])
        if used_up and _decides_itself(step):
            return TOO_MUCH
        return 1 + (used_up or self._is_cycle(to))

    def _is_cycle(self, to: int) -> bool:
        times = self._walk.breaker.cycle
        return times is not None and is_cycle(self._trail, to, times)

    def dearest(self, index: int, t: int) -> Move:
        """The best of all ends of this step and all numbers of transitions that are spent inside it."""
        found, best = Move(index, 0, Exit("failed", FAILED)), NEVER
        for way in self._walk.exits[index]:
            if way.asks:
                continue  # Who plays a way lets every question be answered with "go on".
            table = self._walk.ends[index][0 if way.good else 1]
            after = self._after(way.to, t)
            width = 1 if table[0] == table[-1] else t + 1
            for inside, value in enumerate(map(sum, zip(table[:width], reversed(after), strict=False))):
                if value > best:
                    found, best = Move(index, inside, way), value
        return found

    def _after(self, to: int, t: int) -> Sequence[int]:
        """What can follow at most, for 0 to t transitions that are left."""
        if to < 0:
            return (0 if to == LAST[self._end] else NEVER,) * (t + 1)
        cost = min(t + 1, self.cost(to))
        ended = [NEVER if self._end == 0 else 0] * cost
        self._visits[to] += 1
        least = [bound.most(to, self._end, t - cost, self._visits) for bound in self._walk.bounds[to]]
        self._visits[to] -= 1
        return ended if cost > t else [*ended, *map(min, *least, least[0])]


def walked(
    block: Block,
    ends: tuple[Ends, ...],
    price: int,
    breaker: Breaker,
    *,
    advised: bool = False,
    shielded: bool = False,
) -> Walk:
    """`price` is what an entry into the next step costs; a step back always costs one.

    `advised`: an advisor may answer a question by sending control to another step. `shielded`: inside `finally`.
    """
    exits = tuple(tuple(exits_of(block.steps, index, shielded=shielded)) for index in range(len(block.steps)))
    if advised:
        exits = tuple((*ways, *_sent_elsewhere(ways, len(exits))) for ways in exits)
    most: dict[tuple[int, int], Table] = {}
    bounds: list[tuple[BreakerCosts, ...]] = [()] * len(block.steps)
    for steps in reversed(_parts(exits)):
        part = Part(steps, exits, ends, price, most)
        found = tuple(_bounds(part, block, breaker))
        for index in steps:
            bounds[index] = found
            entered = Counter((index,))
            for end in (0, 1):
                tables = [bound.most(index, end, part.size - 1, entered) for bound in found]
                most[index, end] = tuple(map(min, *tables, tables[0]))
    good, bad = (
        (none,) * price + most[0, end][: len(most[0, end]) - price] for end, none in ((0, NEVER), (1, 0))
    )
    return Walk(good, bad, block, ends, price, breaker, exits, tuple(bounds))


def _bounds(part: Part, block: Block, breaker: Breaker) -> Iterator[BreakerCosts]:
    """Charged are the steps that the dearest way so far enters more often than is free."""
    asked: dict[int, int] = {}
    while True:
        bound = BreakerCosts(part, asked, 1)
        yield bound
        if not part.loops:
            return
        entries = bound.entries(part.steps[0])
        free = {index: _charged_after(block.steps[index], breaker) for index in entries}
        hot = {index: most for index, most in free.items() if most is not None and entries[index] > most}
        if hot.keys() <= asked.keys():
            break
        asked = {**asked, **hot}
    if asked:
        yield BreakerCosts(part, asked, 2)


def _charged_after(step: Step, breaker: Breaker) -> int | None:
    """The free visits of a step whose further ones cost more; None where they cost nothing but their entry."""
    taken = _decides_itself(step) and step.retry.on_exhausted == "accept_best"
    return None if taken else _free_visits(step, breaker)


def _free_visits(step: Step, breaker: Breaker) -> int | None:
    """How often a step may be entered before the breaker has a say."""
    return breaker.visits if step.retry.visits is None else step.retry.visits


def _is_used_up(step: Step, breaker: Breaker, visits: int) -> bool:
    free = _free_visits(step, breaker)
    return free is not None and visits >= free


def _decides_itself(step: Step) -> bool:
    """Whether the file says what follows on used-up visits, so that nobody is asked and no work is done."""
    return step.retry.stated and step.retry.on_exhausted != "human"


def _parts(exits: tuple[tuple[Exit, ...], ...]) -> list[range]:
    """The sequence cut into parts that control never comes back to once it has left them."""
    found: list[range] = []
    for index, ways in enumerate(exits):
        first = min((way.to for way in ways if 0 <= way.to <= index), default=index)
        while found and found[-1][-1] >= first:
            first = min(first, found.pop()[0])
        found.append(range(first, index + 1))
    return found


def exits_of(steps: tuple[Step, ...], index: int, *, shielded: bool = False) -> Iterator[Exit]:
    """Every way to leave a step of a sequence; in `finally`, what cannot be paid is skipped."""
    step = steps[index]
    yield Exit("passed", _lands(step.on.get("passed", NEXT), index, len(steps)))
    if _may_leave(step):
        yield Exit("passed", PASSED)
    if step.when is not None or (shielded and isinstance(step.verb, Agent)):
        yield Exit("skipped", _lands(step.on.get("skipped", NEXT), index, len(steps)))
    for outcome, target in step.on.items():
        if outcome not in CONTINUING_OUTCOMES:
            # A loop that is left because something went wrong has gone wrong.
            to = FAILED if target.kind == "break" else _lands(target, index, len(steps))
            yield Exit(outcome, to)
    yield Exit("failed", FAILED)


def _may_leave(step: Step) -> bool:
    """Whether something in it leaves a loop around it, and with it this sequence."""
    inner = step.verb.steps if isinstance(step.verb, Block) else ()
    return any(t.kind == "break" for child in inner for t in child.on.values()) or any(map(_may_leave, inner))


def _sent_elsewhere(ways: tuple[Exit, ...], size: int) -> Iterator[Exit]:
    for good in (True, False):
        first = next((way for way in ways if way.good == good and way.to >= 0), None)
        if first is not None:
            yield from (Exit(first.outcome, to, asks=1) for to in range(size))


def _lands(target: Target, index: int, size: int) -> int:
    match target.kind:
        case "step":
            return target.step
        case "next":
            return index + 1 if index + 1 < size else PASSED
        case "fail":
            return FAILED
        case _:
            return PASSED
