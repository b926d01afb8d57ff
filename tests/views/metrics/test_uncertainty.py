"""Intervals contain the truth as often as they promise, and claims are made only where they are due."""

from __future__ import annotations

import random

import pytest

from podium.views.metrics.uncertainty import (
    best_of,
    cluster_sums,
    difference,
    mean_of,
    share_of,
    student,
    wilson,
)

DRAWS = 2000


@pytest.mark.parametrize(
    ("hits", "total", "low", "high"),
    [(3, 3, 44, 100), (9, 10, 60, 98), (18, 20, 70, 97), (45, 50, 79, 96), (0, 0, 0, 100)],
)
def test_wilson_gives_the_published_intervals(hits: int, total: int, low: int, high: int) -> None:
    assert tuple(round(100 * bound) for bound in wilson(hits, total)) == (low, high)


def test_newcombe_gives_the_interval_of_his_paper() -> None:
    """Newcombe 1998, table II, (a): 56 of 70 against 48 of 80."""
    low, high = difference((56, 70), (48, 80))

    assert (round(low, 4), round(high, 4)) == (0.0524, 0.3339)


@pytest.mark.parametrize(("freedom", "expected"), [(7, 2.3646), (10, 2.2281), (30, 2.0423), (1000, 1.9623)])
def test_the_quantile_of_student_is_right(freedom: int, expected: float) -> None:
    assert student(freedom) == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize("truth", [0.3, 0.6, 0.9])
@pytest.mark.parametrize("total", [20, 60])
def test_a_share_is_in_its_interval_as_often_as_promised(truth: float, total: int) -> None:
    chance = random.Random(f"{truth}/{total}")
    inside = 0
    for _ in range(DRAWS):
        low, high = wilson(sum(chance.random() < truth for _ in range(total)), total)
        inside += low <= truth <= high

    assert 0.93 <= inside / DRAWS <= 0.98


@pytest.mark.parametrize("runs", [8, 20, 60])
def test_a_mean_is_in_its_interval_as_often_as_promised(runs: int) -> None:
    """With samples of a run that resemble each other, which is why runs are counted."""
    chance = random.Random(runs)
    inside = 0
    for _ in range(DRAWS):
        groups = []
        for _ in range(runs):
            shared = chance.gauss(0, 1)
            groups.append([5 + shared + chance.gauss(0, 0.3) for _ in range(3)])
        mean = mean_of(cluster_sums(groups))
        assert mean.low is not None
        assert mean.high is not None
        inside += mean.low <= 5 <= mean.high

    assert 0.93 <= inside / DRAWS <= 0.98


def test_a_mean_of_skewed_costs_is_a_little_bold_with_few_runs() -> None:
    """Lognormal costs, whose mean few runs underestimate: the page says so."""
    chance = random.Random(1)
    inside = 0
    for _ in range(DRAWS):
        mean = mean_of(cluster_sums([[chance.lognormvariate(0, 0.7)] for _ in range(20)]))
        assert mean.low is not None
        assert mean.high is not None
        inside += mean.low <= 1.2776 <= mean.high

    assert 0.89 <= inside / DRAWS <= 0.97


def test_few_samples_give_no_figure() -> None:
    assert share_of(4, 4).share is None
    assert share_of(5, 5).share == 1.0
    assert mean_of(cluster_sums([[1.0, 2.0]] * 7)).low is None
    assert mean_of(cluster_sums([])).value is None


def test_agents_without_a_difference_are_seldom_called_best() -> None:
    """At most one in twenty of all comparisons, though there are three pairs."""
    chance = random.Random(7)
    claims = 0
    for _ in range(DRAWS):
        counts = {name: (sum(chance.random() < 0.8 for _ in range(50)), 50) for name in "abc"}
        claims += best_of(counts) is not None

    assert claims / DRAWS <= 0.05


def test_a_clear_difference_is_claimed_and_one_with_few_samples_never() -> None:
    assert best_of({"a": (95, 100), "b": (60, 100), "c": (50, 100)}) == "a"
    assert best_of({"a": (95, 100), "b": (93, 100)}) is None
    assert best_of({"a": (19, 19), "b": (0, 19)}) is None
    assert best_of({"a": (95, 100), "b": (93, 100), "c": (10, 100)}) is None
    assert best_of({"a": (20, 20)}) is None
