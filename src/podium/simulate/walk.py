"""The dearest way through a sequence whose steps may send control back.

Each entry is a transition. An entry beyond the breaker's `visits` costs one more, for the question that allows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from podium.core.model import Block, Step, Target
from podium.core.policy import Breaker
from podium.core.words import GOOD, Outcome
from podium.simulate.tables import NEVER, Table, most_at

PASSED: Final = -1
FAILED: Final = -2
NEXT: Final = Target("next")


class Exit(NamedTuple):
    """One way to leave a step: its own end, and the step or the end of the block that this leads to."""

    outcome: Outcome
    to: int

    @property
    def good(self) -> bool:
        return self.outcome in GOOD


class Move(NamedTuple):
    """One entry on the dearest way: which step, how many transitions are spent inside it, how it ends."""

    step: int
    inside: int
    leaves: Exit


Ends = tuple[Table, Table]
"""What a step uses at most if it ends well, and if it does not."""


@dataclass(frozen=True, slots=True)
class Walk:
    good: Table
    bad: Table
    tables: _Tables

    def way(self, t: int, *, good: bool) -> Iterator[Move]:
        """The entries of the dearest way to this end."""
        yield from self.tables.way(t, 0 if good else 1)


def walked(block: Block, ends: tuple[Ends, ...], price: int, breaker: Breaker) -> Walk:
    """`price` is what an entry into the next step costs; a step back always costs one.

    For any set of steps it is safe to charge two for all their entries, and to give back what their free visits
    would have saved. The set grows by the steps that the dearest way so far enters more often than is free.
    """
    exits = tuple(tuple(exits_of(block.steps, index)) for index in range(len(block.steps)))
    allowed = [breaker.visits if step.retry.visits is None else step.retry.visits for step in block.steps]
    asked: dict[int, int] = {}
    walk = _charged(exits, ends, price, asked)
    while True:
        entries = Counter(
            move.step for move in walk.way(len(walk.good) - 1, good=walk.good[-1] >= walk.bad[-1])
        )
        hot = {
            index: free for index, free in enumerate(allowed) if free is not None and entries[index] > free
        }
        if hot.keys() <= asked.keys():
            return walk
        asked.update(hot)
        tighter = _charged(exits, ends, price, asked)
        good, bad = (tuple(map(min, *pair)) for pair in ((walk.good, tighter.good), (walk.bad, tighter.bad)))
        walk = Walk(good, bad, tighter.tables)


def _charged(
    exits: tuple[tuple[Exit, ...], ...], ends: tuple[Ends, ...], price: int, asked: Mapping[int, int]
) -> Walk:
    size, free = len(ends[0][0]), sum(asked.values())
    wide: tuple[Ends, ...] = tuple((_wider(good, free), _wider(bad, free)) for good, bad in ends)
    tables = _Tables(exits, wide, price, asked)
    return Walk(tables.at(0, size), tables.at(1, size), tables)


def _wider(table: Table, by: int) -> Table:
    return table + (table[-1],) * by


def _segments(exits: tuple[tuple[Exit, ...], ...]) -> list[range]:
    """The sequence cut into parts that control never comes back to once it has left them."""
    found: list[range] = []
    for index, ways in enumerate(exits):
        first = min((way.to for way in ways if 0 <= way.to <= index), default=index)
        while found and found[-1][-1] >= first:
            first = min(first, found.pop()[0])
        found.append(range(first, index + 1))
    return found


def exits_of(steps: tuple[Step, ...], index: int) -> Iterator[Exit]:
    """Every way to leave a step of a sequence."""
    step = steps[index]
    yield Exit("passed", _lands(step.on.get("passed", NEXT), index, len(steps)))
    if step.when is not None:
        yield Exit("skipped", _lands(step.on.get("skipped", NEXT), index, len(steps)))
    for outcome, target in step.on.items():
        if outcome not in GOOD:
            yield Exit(outcome, _lands(target, index, len(steps)))
    yield Exit("failed", FAILED)


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


class _Tables:
    """Per step and end of the block: the most from its entry on, for every number of transitions that are left."""

    def __init__(
        self,
        exits: tuple[tuple[Exit, ...], ...],
        ends: tuple[Ends, ...],
        price: int,
        asked: Mapping[int, int],
    ) -> None:
        self._exits, self._ends, self._price, self._asked = exits, ends, price, asked
        self._size = len(ends[0][0])
        count = len(exits)
        self._from: tuple[list[list[int]], ...] = tuple([[] for _ in range(count)] for _ in range(2))
        self._after: tuple[list[list[list[int]]], ...] = tuple(
            [[[], []] for _ in range(count)] for _ in range(2)
        )
        segments = _segments(exits)
        self._segment = {index: number for number, segment in enumerate(segments) for index in segment}
        self._free = [sum(asked.get(index, 0) for index in segment) for segment in segments]
        for segment in reversed(segments):
            for t in range(self._size):
                for index in reversed(segment):
                    self._fill(index, 0, t)
                    self._fill(index, 1, t)

    def at(self, end: int, size: int) -> Table:
        return tuple(self._reach(0, end, t, -1) for t in range(size))

    def _fill(self, index: int, end: int, t: int) -> None:
        found = NEVER
        for own in (0, 1):
            ways = [way for way in self._exits[index] if way.good == (own == 0)]
            after = self._after[end][index][own]
            after.append(max((self._leave(way, index, end, t) for way in ways), default=NEVER))
            table = self._ends[index][own]
            if table[0] == table[-1]:
                found = max(found, table[0] + after[t])
            else:
                found = max(found, most_at(table, after[::-1]))
        self._from[end][index].append(found if found >= 0 else NEVER)

    def _leave(self, way: Exit, index: int, end: int, t: int) -> int:
        if way.to < 0:
            return 0 if way.to == (PASSED, FAILED)[end] else NEVER
        return self._reach(way.to, end, t, index)

    def _reach(self, index: int, end: int, t: int, came: int) -> int:
        left = t - self._cost(index, came)
        if left < 0:
            # The limit of transitions ends the block here.
            return 0 if end else NEVER
        return self._from[end][index][min(left, self._size - 1)]

    def _cost(self, index: int, came: int) -> int:
        """Less than nothing where a segment with free visits is entered: they can only be used in there."""
        segment = self._segment[index]
        free = 0 if self._segment.get(came) == segment else self._free[segment]
        return (self._price if index > came else 1) + (index in self._asked) - free

    def way(self, t: int, end: int) -> Iterator[Move]:
        index, came = 0, -1
        while index >= 0 and t >= self._cost(index, came):
            t = min(t - self._cost(index, came), self._size - 1)
            move = self._move(index, end, t)
            yield move
            t -= move.inside
            index, came = move.leaves.to, index

    def _move(self, index: int, end: int, t: int) -> Move:
        wanted = self._from[end][index][t]
        for way in self._exits[index]:
            table = self._ends[index][0 if way.good else 1]
            for inside in range(t + 1):
                if table[inside] + self._leave(way, index, end, t - inside) == wanted:
                    return Move(index, inside, way)
        return Move(index, 0, self._exits[index][-1])
