"""The most from each step of a part of a sequence on, with entries beyond the breaker's free visits charged for.

Such an entry costs one transition more, for the question that allows it. Which entries these are depends on the whole
way, which a table does not know. So every entry of some steps is charged a share of that transition, and what their
free visits are charged is given back at the start: a way with more visits than are free then pays no more than it
really does, one with fewer pays less. Each choice of steps and share is thus a bound. A whole transition is exact for
ways that use up the free visits, none at all for those that do not, and a half lies between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from podium.core.types import CONTINUING_OUTCOMES, Outcome
from podium.simulate.forecast.cost_tables import NEVER, Table, most_at

PASSED: Final = -1
FAILED: Final = -2
LAST: Final = (PASSED, FAILED)
"""How a sequence ends, in the order of the two tables of whatever ends well or badly."""

Ends = tuple[Table, Table]
"""What a step uses at most if it ends well, and if it does not."""


class Exit(NamedTuple):
    """One way to leave a step: its own end, and the step or the end of the block that this leads to."""

    outcome: Outcome
    to: int
    asks: int = 0
    """One if only an advisor's answer leads there: its question is a transition."""

    @property
    def good(self) -> bool:
        return self.outcome in CONTINUING_OUTCOMES


@dataclass(frozen=True, slots=True)
class Part:
    """Steps of a sequence that control never comes back to once it has left them, and what follows them."""

    steps: range
    exits: tuple[tuple[Exit, ...], ...]
    ends: tuple[Ends, ...]
    price: int
    """What an entry into a later step costs; a step back always costs one."""
    later: Mapping[tuple[int, int], Table]
    """The most from the entry of a later step on, to either end."""

    @property
    def size(self) -> int:
        return len(self.ends[0][0])

    @property
    def loops(self) -> bool:
        return any(0 <= way.to <= index for index in self.steps for way in self.exits[index])


class BreakerCosts:
    """`asked` has the free visits of the steps that are charged: one unit for each entry, `scale` for a transition."""

    __slots__ = ("_after", "_most", "_part", "asked", "scale")

    def __init__(self, part: Part, asked: Mapping[int, int], scale: int) -> None:
        self._part, self.asked, self.scale = part, asked, scale
        self._most: dict[tuple[int, int], list[int]] = {(i, end): [] for i in part.steps for end in (0, 1)}
        self._after: dict[tuple[int, int, int], list[int]] = {
            (i, end, own): [] for i in part.steps for end in (0, 1) for own in (0, 1)
        }
        for units in range(scale * (part.size - 1) + sum(asked.values()) + 1):
            for index in reversed(part.steps):
                for end in (0, 1):
                    self._fill(index, end, units)

    def most(self, index: int, end: int, t: int, visits: Mapping[int, int]) -> list[int]:
        """From the entry of a step on, for 0 to t transitions, after so many visits of each step, this one included."""
        free = sum(max(0, free - visits[step]) for step, free in self.asked.items())
        return self._most[index, end][free : free + self.scale * t + 1 : self.scale]

    def _fill(self, index: int, end: int, units: int) -> None:
        found = NEVER
        for own in (0, 1):
            after = self._after[index, end, own]
            ways = (way for way in self._part.exits[index] if way.good == (own == 0))
            after.append(max((self._leave(way, index, end, units) for way in ways), default=NEVER))
            table = self._part.ends[index][own]
            if table[0] == table[-1]:
                found = max(found, table[0] + after[units])
            else:
                found = max(found, most_at(table, after[:: -self.scale]))
        self._most[index, end].append(found if found >= 0 else NEVER)

    def _leave(self, way: Exit, index: int, end: int, units: int) -> int:
        if way.to < 0:
            return 0 if way.to == LAST[end] else NEVER
        left = units - self._cost(way, index)
        if left < 0:
            # The limit of transitions ends the block here.
            return NEVER if end == 0 else 0
        if way.to in self._part.steps:
            return self._most[way.to, end][left]
        return self._part.later[way.to, end][min(left // self.scale, self._part.size - 1)]

    def _cost(self, way: Exit, index: int) -> int:
        entry = self._part.price if way.to > index else 1
        return self.scale * (entry + way.asks) + (way.to in self.asked)

    def entries(self, index: int) -> Counter[int]:
        """How often the dearest way enters each step before it leaves the part."""
        units = len(self._most[index, 0]) - 1
        end = int(self._most[index, 1][-1] > self._most[index, 0][-1])
        units -= index in self.asked
        found: Counter[int] = Counter()
        while index in self._part.steps and units >= 0:
            found[index] += 1
            index, units = self._next(index, end, units)
        return found

    def _next(self, index: int, end: int, units: int) -> tuple[int, int]:
        wanted = self._most[index, end][units]
        for way in self._part.exits[index]:
            table = self._part.ends[index][0 if way.good else 1]
            for inside in range(units // self.scale + 1 if table[0] != table[-1] else 1):
                left = units - self.scale * inside
                if table[min(inside, len(table) - 1)] + self._leave(way, index, end, left) == wanted:
                    return way.to, left - self._cost(way, index)
        return FAILED, 0
