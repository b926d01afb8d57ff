"""What `podium compare` may claim: false claims, power, and the words."""

from __future__ import annotations

import random

import pytest

from podium.app.comparing.statistics import (
    Difference,
    claims_of,
    difference_of,
    power_of,
    sign_flips,
    simulated,
)

CLAIMED = ("better", "worse")


@pytest.mark.slow
@pytest.mark.parametrize(("cases", "trials"), [(8, 3), (15, 3), (30, 1)])
def test_a_difference_of_nothing_is_claimed_in_at_most_5_percent(cases: int, trials: int) -> None:
    luck = random.Random(cases)
    claimed = 0
    for number in range(1_000):
        found = difference_of(simulated(cases, trials, 0.0, luck), seed=number, resamples=300)
        claimed += claims_of([found], margin=0.1)[0] in CLAIMED

    assert claimed <= 50


@pytest.mark.slow
def test_the_printed_power_is_what_happens() -> None:
    """Within 5 points of what 1,000 other experiments claim."""
    told = power_of(15, 3, 0.4, experiments=600)
    luck = random.Random(99)
    hits = 0
    for number in range(1_000):
        found = difference_of(simulated(15, 3, 0.4, luck), seed=number, resamples=300)
        hits += claims_of([found], margin=0.1)[0] == "better"

    assert told.share > 0.85
    assert abs(told.share - hits / 1_000) <= 0.05


def test_few_cases_claim_nothing_however_clear_they_are() -> None:
    assert claims_of([difference_of([1.0] * 7)], margin=0.1) == ["too few cases"]
    assert claims_of([difference_of([1.0] * 8)], margin=0.1) == ["better"]
    assert claims_of([difference_of([-1.0] * 8)], margin=0.1) == ["worse"]
    assert claims_of([difference_of([0.0] * 8)], margin=0.1) == ["no worse"]
    assert claims_of([difference_of([1.0, -1.0] * 5)], margin=0.1) == ["cannot tell"]


def test_all_signs_are_counted_with_few_cases() -> None:
    luck = random.Random(1)

    assert sign_flips([1, 1, 1], luck) == 2 / 8
    assert sign_flips([0, 0], luck) == 1.0
    assert sign_flips([1] * 20, luck) < 0.001


def test_more_arms_need_more_evidence() -> None:
    one = Difference(0.3, 0.05, 0.5, 0.04, 10)

    assert claims_of([one], margin=0.1) == ["better"]
    assert claims_of([one, one], margin=0.1) == ["no worse", "no worse"]
