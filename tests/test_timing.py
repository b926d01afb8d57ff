"""What bounds a time in other tests can itself fail, and forgives a machine that stalls once."""

from __future__ import annotations

import pytest

from tests.timing import best_of, given_time, work_of, work_within


def spend(steps: int) -> int:
    return sum(range(steps))


def test_work_that_blows_up_is_noticed() -> None:
    with pytest.raises(AssertionError, match="of the processor"), work_within(0.000_001):
        spend(100_000)
    with work_within(60):
        spend(10)
    assert work_of(lambda: spend(1_000_000)) > work_of(lambda: spend(1))


def test_a_child_that_was_not_ready_in_time_is_given_more_and_at_last_judged_as_it_is() -> None:
    given: list[float] = []

    def attempt(seconds: float) -> float:
        given.append(seconds)
        return seconds

    assert given_time(attempt, ready=lambda seconds: seconds > 5) == 6.0
    assert given_time(attempt, ready=lambda _: False, first_s=2.0) == 72.0
    assert given == [1.0, 6.0, 2.0, 12.0, 72.0]


def test_one_good_chance_is_enough_and_no_more_are_taken() -> None:
    measured = {1: 5.0, 2: 0.5}

    assert best_of(3, measured.__getitem__, under=2.0) == [5.0, 0.5]


def test_what_is_never_under_its_bound_fails_with_all_that_was_measured() -> None:
    with pytest.raises(AssertionError, match=r"not under 2 in 3 chances: \[3.0, 4.0, 5.0\]"):
        best_of(3, lambda chance: 2.0 + chance, under=2.0)
