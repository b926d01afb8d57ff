"""What can be said about two arms of an experiment: the case is the unit, not the trial.

Rule 1: a difference is claimed only if the interval of a bootstrap over cases and a test by flipping signs agree. The bootstrap
alone claims too often with few cases. Rule 2: with fewer than 8 cases nothing is claimed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product
from typing import Final, Literal, NamedTuple, TypeAlias

LEAST_CASES: Final = 8
RESAMPLES: Final = 2_000
FLIPS: Final = 10_000
EXACT: Final = 12
"""With so many cases that differ, all flips are counted instead of drawn."""
ALPHA: Final = 0.05
Claim: TypeAlias = Literal["better", "worse", "no worse", "cannot tell", "too few cases"]


class Difference(NamedTuple):
    """The mean over cases of the difference of two arms, with its 95 % interval and the chance of so much by luck."""

    mean: float
    low: float
    high: float
    p: float
    cases: int


def difference_of(differences: Sequence[float], *, seed: int = 0, resamples: int = RESAMPLES) -> Difference:
    """Of the differences of each case."""
    count = len(differences)
    if not count:
        return Difference(0.0, 0.0, 0.0, 1.0, 0)
    # Not for a secret: the same results give the same report.
    luck = random.Random(seed)  # noqa: S311
    means = sorted(sum(luck.choices(differences, k=count)) / count for _ in range(resamples))
    low, high = means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]
    return Difference(sum(differences) / count, low, high, sign_flips(differences, luck), count)


def sign_flips(differences: Sequence[float], luck: random.Random, flips: int = FLIPS) -> float:
    """The share of assignments of signs that give a sum at least as far from zero."""
    values = [value for value in differences if value]
    if not values:
        return 1.0
    bound = abs(sum(values)) - 1e-9
    if len(values) <= EXACT:
        signs = list(product((1, -1), repeat=len(values)))
        hits = sum(
            abs(sum(sign * value for sign, value in zip(each, values, strict=True))) >= bound
            for each in signs
        )
        return hits / len(signs)
    hits = sum(
        abs(sum(value if luck.random() < 0.5 else -value for value in values)) >= bound for _ in range(flips)
    )
    return (hits + 1) / (flips + 1)


def claims_of(differences: Sequence[Difference], margin: float) -> list[Claim]:
    """What may be said of each difference to the first arm, corrected by Holm for their number."""
    order = sorted(range(len(differences)), key=lambda place: differences[place].p)
    clear: set[int] = set()
    for rank, place in enumerate(order):
        if differences[place].p > ALPHA / (len(differences) - rank):
            break
        clear.add(place)
    return [_claim(each, is_clear=place in clear, margin=margin) for place, each in enumerate(differences)]


def _claim(each: Difference, *, is_clear: bool, margin: float) -> Claim:
    if each.cases < LEAST_CASES:
        return "too few cases"
    if is_clear and each.low > 0:
        return "better"
    if is_clear and each.high < 0:
        return "worse"
    return "no worse" if each.low > -margin else "cannot tell"


class Power(NamedTuple):
    gap: float
    """The true difference of the shares."""
    share: float
    """In what share of experiments it would be claimed."""


def power_of(cases: int, trials: int, gap: float, *, experiments: int = 300, seed: int = 1) -> Power:
    """How often a true difference would be claimed, by simulated experiments with cases of differing difficulty."""
    luck = random.Random(seed)  # noqa: S311
    hits = 0
    for number in range(experiments):
        measured = difference_of(simulated(cases, trials, gap, luck), seed=number, resamples=400)
        hits += claims_of([measured], margin=0.1)[0] == "better"
    return Power(gap, hits / experiments)


def simulated(cases: int, trials: int, gap: float, luck: random.Random, share: float = 0.5) -> list[float]:
    """The differences of an experiment whose true difference is `gap`; the shares of its cases differ."""
    differences = []
    for _ in range(cases):
        base = min(1.0, max(0.0, luck.betavariate(2 * share, 2 * (1 - share))))
        other = min(1.0, max(0.0, base + gap))
        if base + gap > 1:
            base, other = 1 - gap, 1.0
        one = sum(luck.random() < base for _ in range(trials)) / trials
        two = sum(luck.random() < other for _ in range(trials)) / trials
        differences.append(two - one)
    return differences
