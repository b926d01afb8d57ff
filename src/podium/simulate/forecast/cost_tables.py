"""Tables of "at most so much for that many transitions": how the worst cases of parts become the worst case of a whole.

A table's t-th entry is the most that a part can use if t further transitions are spent in it. Entries never shrink.
Most tables are concave (the next transition never brings more than the last), and those are added by merging their
increments; the rest is added entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from heapq import merge
from itertools import accumulate, pairwise, zip_longest
from operator import add
from typing import Final, TypeAlias

Table: TypeAlias = tuple[int, ...]

NEVER: Final = -(10**15)
"""What cannot happen at all."""


def flat(value: int, size: int) -> Table:
    """A part that no transition makes dearer."""
    return (value,) * size


def best(tables: Iterable[Table]) -> Table:
    """Whichever of them is dearest."""
    return tuple(map(max, zip(*tables, strict=True)))


def plus(a: Table, b: Table) -> Table:
    """Both, with the transitions divided in the dearest way."""
    if b[0] == b[-1]:
        a, b = b, a
    if a[0] == a[-1]:
        return tuple(max(NEVER, a[0] + value) if a[0] >= 0 <= value else NEVER for value in b)
    if _is_concave(a) and _is_concave(b):
        steps = merge(_steps(a), _steps(b), reverse=True)
        return tuple(accumulate((next(steps) for _ in a[1:]), initial=a[0] + b[0]))
    return tuple(most_at(a, b[t::-1]) for t in range(len(a)))


def most_at(a: Table | list[int], reversed_b: Table | list[int]) -> int:
    """The most of two parts for as many transitions as `reversed_b` is long, less one."""
    found = max(map(add, a, reversed_b))
    return found if found >= 0 else NEVER


def total(tables: Iterable[Table], size: int) -> Table:
    return reduce(plus, tables, flat(0, size))


def times(table: Table, number: int) -> Table:
    """The same part that often."""
    if table[0] == table[-1]:
        return tuple(number * value for value in table)
    if number and _is_concave(table):
        return tuple(_shared(table, t, number) for t in range(len(table)))
    return total([table] * number, len(table))


def _shared(table: Table, t: int, number: int) -> int:
    each, more = divmod(t, number)
    return number * table[each] + more * ((table[each + 1] - table[each]) if more else 0)


def again(table: Table, price: int = 1) -> Table:
    """As often as there are transitions: each round is paid with so many."""
    found: list[int] = [0] * price
    for t in range(price, len(table)):
        found.append(max(found[t - 1], most_at(table[: t - price + 1], found[t - price :: -1])))
    return tuple(found[: len(table)])


def divided(parts: Sequence[Table], t: int) -> list[int]:
    """How the dearest division of t transitions gives each part its own."""
    if parts and len(set(map(id, parts))) == 1 and _is_concave(parts[0]):
        each, more = divmod(t, len(parts))
        return [each + (number < more) for number in range(len(parts))]
    rests = list(accumulate(reversed(parts), plus))[::-1]
    found = []
    for part, rest in zip_longest(parts, rests[1:]):
        spent = t if rest is None else _share(part, rest, t)
        found.append(spent)
        t -= spent
    return found


def _share(a: Table, b: Table, t: int) -> int:
    """How many of t transitions the first of two parts gets in the dearest division."""
    return max(range(t + 1), key=lambda spent: a[spent] + b[t - spent])


def _steps(table: Table) -> list[int]:
    return [after - before for before, after in pairwise(table)]


def _is_concave(table: Table) -> bool:
    return table[0] >= 0 and all(after <= before for before, after in pairwise(_steps(table)))
