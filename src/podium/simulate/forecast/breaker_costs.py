"""The maximum cost from each step of a part of a sequence, with entries beyond the breaker's free visits charged.

Such an entry costs one more transition, for the question that allows it. Which entries these are depends on the whole
path, which a table does not know. So every entry of some steps is charged a share of that transition, and the share of
their free visits is refunded at the start: a path with more visits than are free then pays no more than it really
costs, one with fewer pays less. Each choice of steps and share is thus an upper bound. A whole transition is exact for
paths that use up the free visits, none at all for those that do not, and a half is in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from podium.core.types import CONTINUING_OUTCOMES, Outcome
from podium.fast_dataclass import dataclass
from podium.simulate.forecast.cost_tables import NEVER, Table, combine, constant, delay, max_at, maximum

PASSED: Final = -1
FAILED: Final = -2
LAST: Final = (PASSED, FAILED)
"""The two ends of a sequence, in the order of the two tables of `Ends`."""

Ends = tuple[Table, Table]
"""The maximum a step uses if it ends well, and if it does not."""


class Exit(NamedTuple):
    """One way to leave a step: its outcome, and the step or the end of the block that this leads to."""

    outcome: Outcome
    to: int
    asks: int = 0
    """One if only an advisor's answer leads there, because its question is a transition."""

    @property
    def good(self) -> bool:
        return self.outcome in CONTINUING_OUTCOMES


@dataclass(frozen=True, slots=True)
class Part:
    """Steps of a sequence that control never returns to after leaving them, and what follows them."""

    steps: range
    exits: tuple[tuple[Exit, ...], ...]
    ends: tuple[Ends, ...]
    price: int
    """The cost of entering a later step; a step back always costs one."""
    later: Mapping[tuple[int, int], Table]
    """The maximum from the entry of a later step on, to either end."""

    @property
    def size(self) -> int:
        return len(self.ends[0][0])

    @property
    def loops(self) -> bool:
        return any(0 <= exit_.to <= index for index in self.steps for exit_ in self.exits[index])


class SingleStepCosts:
    """The maximum from a step that never leads back to itself, so that no visit is beyond the free ones."""

    __slots__ = ("_most",)

    def __init__(self, part: Part) -> None:
        index = part.steps[0]
        self._most = tuple(_most_of_step(part, index, end) for end in (0, 1))

    def most(self, _index: int, end: int, t: int, _visits: Mapping[int, int]) -> Sequence[int]:
        """The maximum from the entry of the step on, for 0 to t transitions."""
        return self._most[end][: t + 1]


def _most_of_step(part: Part, index: int, end: int) -> Table:
    tables = []
    for own in (0, 1):
        exits = [exit_ for exit_ in part.exits[index] if exit_.good == (own == 0)]
        if exits:
            after = maximum(_table_after(part, exit_, end) for exit_ in exits)
            tables.append(combine(part.ends[index][own], after))
    return maximum(tables)


def _table_after(part: Part, exit_: Exit, end: int) -> Table:
    if exit_.to < 0:
        return constant(0 if exit_.to == LAST[end] else NEVER, part.size)
    # The limit on transitions may end the block here.
    return delay(part.later[exit_.to, end], part.price + exit_.asks, NEVER if end == 0 else 0)


class BreakerCosts:
    """`charged` has the free visits of the charged steps: an entry costs one unit, a transition costs `scale` units."""

    __slots__ = ("_after", "_most", "_part", "charged", "scale")

    def __init__(self, part: Part, charged: Mapping[int, int], scale: int) -> None:
        self._part, self.charged, self.scale = part, charged, scale
        self._most: dict[tuple[int, int], list[int]] = {(i, end): [] for i in part.steps for end in (0, 1)}
        self._after: dict[tuple[int, int, int], list[int]] = {
            (i, end, own): [] for i in part.steps for end in (0, 1) for own in (0, 1)
        }
        for units in range(scale * (part.size - 1) + sum(charged.values()) + 1):
            for index in reversed(part.steps):
                for end in (0, 1):
                    self._fill(index, end, units)

    def most(self, index: int, end: int, t: int, visits: Mapping[int, int]) -> list[int]:
        """The maximum from the entry of a step on, for 0 to t transitions, after the given visits including this one."""
        free = sum(max(0, free - visits[step]) for step, free in self.charged.items())
        return self._most[index, end][free : free + self.scale * t + 1 : self.scale]

    def _fill(self, index: int, end: int, units: int) -> None:
        highest = NEVER
        for own in (0, 1):
            after = self._after[index, end, own]
            exits = (exit_ for exit_ in self._part.exits[index] if exit_.good == (own == 0))
            after.append(max((self._leave(exit_, index, end, units) for exit_ in exits), default=NEVER))
            table = self._part.ends[index][own]
            if table[0] == table[-1]:
                highest = max(highest, table[0] + after[units])
            else:
                highest = max(highest, max_at(table, after[:: -self.scale]))
        self._most[index, end].append(highest if highest >= 0 else NEVER)

    def _leave(self, exit_: Exit, index: int, end: int, units: int) -> int:
        if exit_.to < 0:
            return 0 if exit_.to == LAST[end] else NEVER
        remaining = units - self._cost(exit_, index)
        if remaining < 0:
            # The limit on transitions ends the block here.
            return NEVER if end == 0 else 0
        if exit_.to in self._part.steps:
            return self._most[exit_.to, end][remaining]
        return self._part.later[exit_.to, end][min(remaining // self.scale, self._part.size - 1)]

    def _cost(self, exit_: Exit, index: int) -> int:
        entry = self._part.price if exit_.to > index else 1
        return self.scale * (entry + exit_.asks) + (exit_.to in self.charged)

    def entries(self, index: int) -> Counter[int]:
        """How often the most expensive path enters each step before it leaves the part."""
        units = len(self._most[index, 0]) - 1
        end = int(self._most[index, 1][-1] > self._most[index, 0][-1])
        units -= index in self.charged
        entries: Counter[int] = Counter()
        while index in self._part.steps and units >= 0:
            entries[index] += 1
            index, units = self._next(index, end, units)
        return entries

    def _next(self, index: int, end: int, units: int) -> tuple[int, int]:
        target = self._most[index, end][units]
        for exit_ in self._part.exits[index]:
            table = self._part.ends[index][0 if exit_.good else 1]
            for inside in range(units // self.scale + 1 if table[0] != table[-1] else 1):
                remaining = units - self.scale * inside
                if table[min(inside, len(table) - 1)] + self._leave(exit_, index, end, remaining) == target:
                    return exit_.to, remaining - self._cost(exit_, index)
        return FAILED, 0
