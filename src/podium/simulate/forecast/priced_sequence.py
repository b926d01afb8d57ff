"""The highest surplus of the paths through a sequence at one price of a transition (see `priced_bound`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from podium.simulate.forecast.breaker_costs import LAST, Exit

IMPOSSIBLE: Final = -(10**40)
INFINITE: Final = 10**50


class Surplus(NamedTuple):
    """The highest surplus of a part that ends well, and of one that does not."""

    good: int
    bad: int

    @property
    def either(self) -> int:
        return max(self)


class StepGroup(NamedTuple):
    """Steps of a sequence that control never returns to after leaving them."""

    steps: range
    exits: Sequence[Sequence[Exit]]
    own: Sequence[Surplus]
    entry: int
    price: int
    later: Mapping[tuple[int, int], int]

    def lowest(self, free: Mapping[int, int], charges: Sequence[int]) -> dict[tuple[int, int], int]:
        """The lowest bound from the entry of each step on, of those that these charges give."""
        if not any(0 <= exit_.to <= i for i in self.steps for exit_ in self.exits[i]):
            values: dict[tuple[int, int], int] = {}
            for key in ((index, end) for index in self.steps for end in (0, 1)):
                values[key] = self._highest(*key, values, {}, 0)
            return values
        if not free:
            return self._solve({}, 0)
        bounds = [self._refunded(free, self.price * halves // 2) for halves in charges]
        return {key: min(each[key] for each in bounds) for key in bounds[0]}

    def _refunded(self, free: Mapping[int, int], share: int) -> dict[tuple[int, int], int]:
        """Every visit is charged the share, and that of the free visits is refunded at the start."""
        refund = share * sum(free.values())
        values = self._solve(free, share)
        return {(i, end): value + refund - share * (i in free) for (i, end), value in values.items()}

    def _solve(self, charged: Mapping[int, int], share: int) -> dict[tuple[int, int], int]:
        """The highest surplus from each step to each end; infinite if a loop adds to it."""
        values = dict.fromkeys(((i, end) for i in self.steps for end in (0, 1)), IMPOSSIBLE)
        for _ in range(len(self.steps) + 1):
            if not self._improve(values, charged, share):
                return values
        return dict.fromkeys(values, INFINITE)

    def _improve(self, values: dict[tuple[int, int], int], charged: Mapping[int, int], share: int) -> bool:
        changed = False
        for index in reversed(self.steps):
            for end in (0, 1):
                highest = self._highest(index, end, values, charged, share)
                if highest > values[index, end] and highest > IMPOSSIBLE // 2:
                    values[index, end], changed = highest, True
        return changed

    def _highest(
        self,
        index: int,
        end: int,
        values: Mapping[tuple[int, int], int],
        charged: Mapping[int, int],
        share: int,
    ) -> int:
        own = self.own[index]
        return max(
            own[not exit_.good] + self._after(exit_, index, end, values, charged, share)
            for exit_ in self.exits[index]
        )

    def _after(
        self,
        exit_: Exit,
        index: int,
        end: int,
        values: Mapping[tuple[int, int], int],
        charged: Mapping[int, int],
        share: int,
    ) -> int:
        if exit_.to < 0:
            return 0 if exit_.to == LAST[end] else IMPOSSIBLE
        entry = self.entry if exit_.to > index else 1
        cost = self.price * (entry + exit_.asks) + (share if exit_.to in charged else 0)
        following = values[exit_.to, end] if exit_.to in self.steps else self.later[exit_.to, end]
        # The limit on transitions may end the block here, which is a bad end.
        return max(following - cost, IMPOSSIBLE if end == 0 else 0)
