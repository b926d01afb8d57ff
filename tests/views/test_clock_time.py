"""The time of day, as a display shows it."""

from __future__ import annotations

import time

import pytest

from podium.core.types import Millis
from podium.views.format import clock_time


def test_the_time_of_day_follows_the_zone_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    noon = Millis(12 * 3_600_000 + 999)
    try:
        for zone, expected in (("UTC", "12:00:00"), ("UTC-2", "14:00:00"), ("UTC", "12:00:00")):
            monkeypatch.setenv("TZ", zone)
            time.tzset()
            assert clock_time(noon, seconds=True) == expected
            assert clock_time(noon) == expected[:5]
    finally:
        monkeypatch.undo()
        time.tzset()
