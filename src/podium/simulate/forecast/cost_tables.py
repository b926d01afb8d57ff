"""Tables of the maximum cost by number of transitions, and how tables of parts are combined into one.

The t-th entry of a table is the maximum that a part can use if t further transitions are spent in it. Entries never
decrease. Most tables are concave (each transition adds no more than the one before); these are combined by merging
their increments, all others entry by entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from heapq import merge
from itertools import accumulate, islice, pairwise, zip_longest
from operator import add
from typing import Final, TypeAlias

Table: TypeAlias = tuple[int, ...]

NEVER: Final = -(10**15)
"""The value of something that cannot happen."""


def constant(value: int, size: int) -> Table:
    """The table of a part whose cost does not depend on transitions."""
    return (value,) * size


def maximum(tables: Iterable[Table]) -> Table:
    """The entry-wise maximum."""
    first, *others = {id(table): table for table in tables}.values()
    return tuple(map(max, first, *others)) if others else first


def combine(a: Table, b: Table) -> Table:
    """Both parts, with the transitions divided so that the cost is highest."""
    if b[0] == b[-1]:
        a, b = b, a
    if a[0] == a[-1]:
        if a[0] == 0:
            return b
        return tuple(max(NEVER, a[0] + value) if a[0] >= 0 <= value else NEVER for value in b)
    impossible_a, impossible_b = _impossible_entries(a), _impossible_entries(b)
    possible_a, possible_b = a[impossible_a:], b[impossible_b:]
    if possible_a and possible_b and _is_concave(possible_a) and _is_concave(possible_b):
        steps = merge(_increments(possible_a), _increments(possible_b), reverse=True)
        possible = accumulate(steps, initial=possible_a[0] + possible_b[0])
        return ((NEVER,) * (impossible_a + impossible_b) + tuple(islice(possible, len(a))))[: len(a)]
    return tuple(max_at(a, b[t::-1]) for t in range(len(a)))


def _impossible_entries(table: Table) -> int:
    """The number of transitions below which the part cannot happen."""
    return next((t for t, value in enumerate(table) if value >= 0), len(table))


def max_at(a: Table | list[int], reversed_b: Table | list[int]) -> int:
    """The maximum of two parts for one transition less than the length of `reversed_b`."""
    highest = max(map(add, a, reversed_b))
    return highest if highest >= 0 else NEVER


def delay(table: Table, price: int, before: int) -> Table:
    """The table of a part that costs `price` transitions to enter; `before` is the value without them."""
    return (before,) * min(price, len(table)) + table[: max(0, len(table) - price)] if price else table


def combine_all(tables: Iterable[Table], size: int) -> Table:
    return reduce(combine, tables, constant(0, size))


def multiply(table: Table, number: int) -> Table:
    """The same part `number` times."""
    if table[0] == table[-1]:
        return tuple(number * value for value in table)
    if number and _is_concave(table):
        return tuple(_multiplied_at(table, t, number) for t in range(len(table)))
    return combine_all([table] * number, len(table))


def _multiplied_at(table: Table, t: int, number: int) -> int:
    each, more = divmod(t, number)
    return number * table[each] + more * ((table[each + 1] - table[each]) if more else 0)


def repeat_table(table: Table, price: int = 1) -> Table:
    """A part that is repeated while there are transitions; each repetition costs `price` transitions."""
    if table[0] == table[-1] and table[0] >= 0:
        return tuple(table[0] * (t // price) for t in range(len(table)))
    repeated: list[int] = [0] * price
    for t in range(price, len(table)):
        repeated.append(max(repeated[t - 1], max_at(table[: t - price + 1], repeated[t - price :: -1])))
    return tuple(repeated[: len(table)])


def repeat_up_to(table: Table, number: int) -> Table:
    """A part that is repeated up to `number` times; each repetition costs a transition."""
    number = min(number, len(table) - 1)
    if number <= 0 or table[-1] < 0:
        return constant(0, len(table))
    if table[0] == table[-1]:
        return tuple(table[0] * min(t, number) for t in range(len(table)))
    # After each binary digit, `exactly` is the part repeated as often as the digits so far say, `up_to` less often.
    once = exactly = delay(table, 1, NEVER)
    up_to = constant(0, len(table))
    for digit in f"{number + 1:b}"[1:]:
        up_to = maximum((up_to, combine(exactly, up_to)))
        exactly = combine(exactly, exactly)
        if digit == "1":
            up_to, exactly = maximum((up_to, exactly)), combine(exactly, once)
    return up_to


def divide(parts: Sequence[Table], t: int) -> list[int]:
    """The division of t transitions among the parts that gives the highest cost."""
    if parts and len(set(map(id, parts))) == 1 and _is_concave(parts[0]):
        each, more = divmod(t, len(parts))
        return [each + (number < more) for number in range(len(parts))]
    remainders = list(accumulate(reversed(parts), combine))[::-1]
    shares = []
    for part, remainder in zip_longest(parts, remainders[1:]):
        spent = t if remainder is None else _share(part, remainder, t)
        shares.append(spent)
        t -= spent
    return shares


def _share(a: Table, b: Table, t: int) -> int:
    """How many of t transitions the first of two parts gets in the most expensive division."""
    return max(range(t + 1), key=lambda spent: a[spent] + b[t - spent])


def _increments(table: Table) -> list[int]:
    return [after - before for before, after in pairwise(table)]


def _is_concave(table: Table) -> bool:
    return table[0] >= 0 and all(after <= before for before, after in pairwise(_increments(table)))
