"""Times at which a quota opens: read in any unit, and never believed if no quota can open then."""

from __future__ import annotations

import math
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.adapters.agents.codex.errors import failure_of
from podium.core.types import Millis
from podium.egress.reset_time import reset_at
from podium.ports.retry_time import LONGEST, LONGEST_AGO, millis_of, retry_time

NOW = Millis(1_795_000_000_000)
SOON = Millis(NOW + 60_000)
CLOCK = datetime.fromtimestamp(NOW / 1000, UTC)


@pytest.mark.parametrize(
    ("reported", "expected"),
    [
        (None, None),
        (SOON, SOON),
        (SOON * 1_000, SOON),  # Milliseconds that were read as seconds.
        (SOON * 1_000_000, SOON),  # Microseconds.
        (SOON / 1_000, SOON),  # Seconds that were read as milliseconds.
        (NOW - 1, NOW - 1),
        (0, None),
        (-5, None),
        (NOW + 10 * LONGEST, None),
        (math.inf, None),
        (math.nan, None),
    ],
)
def test_a_time_is_read_in_any_unit_and_bounded(reported: float | None, expected: int | None) -> None:
    assert retry_time(reported, NOW) == expected


@given(st.one_of(st.integers(), st.floats()))
def test_no_number_parks_a_run_for_longer_than_a_quota_lasts(reported: float) -> None:
    at = retry_time(reported, NOW)
    assert at is None or NOW - LONGEST_AGO <= at <= NOW + LONGEST


@pytest.mark.parametrize("number", [math.inf, -math.inf, math.nan, 1e300])
def test_a_number_that_no_time_can_have_is_none(number: float) -> None:
    assert millis_of(number) is None


HUGE = "9" * 400


@pytest.mark.parametrize(
    "headers",
    [
        {"retry-after-ms": HUGE},
        {"retry-after": HUGE},
        {"retry-after": f"{HUGE}h"},
        {"retry-after": "nan"},
        {"retry-after": "inf"},
        {"retry-after": "Mon, 01 Jan 0001 00:00:00 +2359"},
        {"x-ratelimit-reset-requests": f"{HUGE}m1s"},
    ],
)
def test_no_header_of_a_vendor_breaks_the_reader(headers: dict[str, str]) -> None:
    assert retry_time(reset_at(headers, NOW), NOW) is None


@pytest.mark.parametrize("words", [f"in {HUGE} s", f"in {HUGE}ms", "at Dec 31st, 9999 11:59 PM"])
def test_no_sentence_of_codex_breaks_the_reader(words: str) -> None:
    failure = failure_of(f"You've hit your usage limit. Please try again {words}.", lambda: CLOCK)

    assert retry_time(failure.retry_at, NOW) is None
