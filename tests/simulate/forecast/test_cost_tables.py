"""Tables of costs: every short cut gives what trying all divisions of the transitions gives."""

from __future__ import annotations

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from podium.simulate.forecast.cost_tables import (
    NEVER,
    Table,
    combine,
    constant,
    delay,
    maximum,
    repeat_table,
    repeat_up_to,
)

SIZE = 9


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """Tables that never decrease; some cannot happen at first, some are concave, some constant."""
    increments = draw(st.lists(st.integers(0, 5), min_size=SIZE - 1, max_size=SIZE - 1))
    if draw(st.booleans()):
        increments.sort(reverse=True)
    if draw(st.integers(0, 3)) == 0:
        increments = [0] * (SIZE - 1)
    table = tuple(accumulate(increments, initial=draw(st.integers(0, 3))))
    return delay(table, draw(st.integers(0, 3)), NEVER)


def all_divisions(a: Table, b: Table) -> Table:
    sums = [
        max((a[i] + b[t - i] for i in range(t + 1) if a[i] >= 0 and b[t - i] >= 0), default=NEVER)
        for t in range(SIZE)
    ]
    return tuple(sums)


@given(tables(), tables())
def test_combining_is_the_best_division(a: Table, b: Table) -> None:
    assert combine(a, b) == all_divisions(a, b)


@given(tables(), st.integers(0, 12))
def test_repeating_up_to_a_number_tries_every_number(table: Table, number: int) -> None:
    best = repeated = constant(0, SIZE)
    for _ in range(number):
        repeated = all_divisions(repeated, delay(table, 1, NEVER))
        best = maximum((best, repeated))
    assert repeat_up_to(table, number) == best


@given(tables(), st.integers(1, 2))
def test_repeating_without_a_number_is_bounded_by_the_transitions(table: Table, price: int) -> None:
    best = repeated = constant(0, SIZE)
    for _ in range(SIZE):
        repeated = all_divisions(repeated, delay(table, price, NEVER))
        best = maximum((best, repeated))
    assert repeat_table(table, price) == best
