"""How sure a figure is. Every view of metrics takes its intervals and its claims from here.

Rule 1: with fewer than 5 samples there is no share, with fewer than 8 runs no interval of a mean.
Rule 2: nothing is called best unless it has 20 samples, and is better than each other one that has, by an interval that is
corrected for the number of comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import NormalDist
from typing import Final, NamedTuple

FEW: Final = 5
FEW_RUNS: Final = 8
CLAIM: Final = 20
LEVEL: Final = 0.95
_NORMAL: Final = NormalDist()


class Share(NamedTuple):
    """So many of so many, with the interval in which the true share lies with 95 %; None if there are too few."""

    hits: int
    total: int
    share: float | None
    low: float | None
    high: float | None


class Mean(NamedTuple):
    value: float | None
    low: float | None
    high: float | None
    samples: int
    runs: int


def wilson(hits: int, total: int, level: float = LEVEL) -> tuple[float, float]:
    """The interval of a share by Wilson's formula."""
    if not total:
        return 0.0, 1.0
    z = _z(level)
    share, square = hits / total, z * z / total
    middle = share + square / 2
    reach = z * math.sqrt(share * (1 - share) / total + square / total / 4)
    return max(0.0, (middle - reach) / (1 + square)), min(1.0, (middle + reach) / (1 + square))


def share_of(hits: int, total: int) -> Share:
    if total < FEW:
        return Share(hits, total, None, None, None)
    low, high = wilson(hits, total)
    return Share(hits, total, hits / total, low, high)


def difference(one: tuple[int, int], other: tuple[int, int], level: float = LEVEL) -> tuple[float, float]:
    """The interval of the difference of two shares, each as hits and total, by Newcombe's formula."""
    (low1, high1), (low2, high2) = wilson(*one, level), wilson(*other, level)
    p1, p2 = one[0] / one[1], other[0] / other[1]
    down = math.hypot(p1 - low1, high2 - p2)
    up = math.hypot(high1 - p1, p2 - low2)
    return p1 - p2 - down, p1 - p2 + up


def best_of(counts: Mapping[str, tuple[int, int]]) -> str | None:
    """The name with the highest share, if it is clearly higher than that of each other with enough samples.

    By Holm's procedure over all pairs.
    """
    enough = {name: count for name, count in counts.items() if count[1] >= CLAIM}
    pairs = sorted(combinations(enough, 2), key=lambda pair: _p_value(enough[pair[0]], enough[pair[1]]))
    beaten: dict[str, set[str]] = {name: set() for name in enough}
    for number, (one, other) in enumerate(pairs):
        level = 1 - (1 - LEVEL) / (len(pairs) - number)
        low, high = difference(enough[one], enough[other], level)
        if low <= 0 <= high:
            break
        winner, loser = (one, other) if low > 0 else (other, one)
        beaten[winner].add(loser)
    return next((name for name, losers in beaten.items() if losers and len(losers) == len(enough) - 1), None)


def _p_value(one: tuple[int, int], other: tuple[int, int]) -> float:
    """Of no difference between two shares."""
    total = one[1] + other[1]
    pooled = (one[0] + other[0]) / total
    error = math.sqrt(pooled * (1 - pooled) * (1 / one[1] + 1 / other[1]))
    gap = abs(one[0] / one[1] - other[0] / other[1])
    return 1.0 if not error else 2 * (1 - _NORMAL.cdf(gap / error))


class ClusterSums(NamedTuple):
    """Sums over runs, each of which has some samples: of values, counts, their squares and products."""

    values: float
    counts: int
    values_squared: float
    counts_squared: float
    products: float
    runs: int


def mean_of(sums: ClusterSums) -> Mean:
    """The mean of all samples. Samples of one run are not independent, so the runs are what counts for the interval."""
    if not sums.counts:
        return Mean(None, None, None, 0, sums.runs)
    mean, runs = sums.values / sums.counts, sums.runs
    if runs < FEW_RUNS:
        return Mean(mean, None, None, sums.counts, runs)
    squares = sums.values_squared - 2 * mean * sums.products + mean * mean * sums.counts_squared
    error = math.sqrt(max(0.0, squares) * runs / (runs - 1)) / sums.counts
    reach = student(runs - 1) * error
    return Mean(mean, mean - reach, mean + reach, sums.counts, runs)


def cluster_sums(groups: Sequence[Sequence[float]]) -> ClusterSums:
    """The sums of these samples, which are grouped by run."""
    pairs = [(math.fsum(group), len(group)) for group in groups if group]
    return ClusterSums(
        math.fsum(value for value, _ in pairs),
        sum(count for _, count in pairs),
        math.fsum(value * value for value, _ in pairs),
        math.fsum(count * count for _, count in pairs),
        math.fsum(value * count for value, count in pairs),
        len(pairs),
    )


def student(freedom: int, level: float = LEVEL) -> float:
    """The quantile of Student's distribution, by its expansion around the normal one; exact to 0.2 % from 7 degrees on."""
    z = _z(level)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    first, second, third = terms
    return z + first / freedom + second / (freedom * freedom) + third / (freedom * freedom * freedom)


def _z(level: float) -> float:
    return _NORMAL.inv_cdf(0.5 + level / 2)
