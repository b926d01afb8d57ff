"""When messages may be sent: quiet hours and digests, by the clock of the machine."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from podium.app.notify.schedule import due_of
from podium.core.types import Millis
from podium.ports.channel import ChannelSettings


@pytest.fixture(autouse=True)
def _berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """By the rule itself, because a machine may have no database of time zones."""
    monkeypatch.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def at(text: str) -> Millis:
    return Millis(int(datetime.fromisoformat(text).astimezone().timestamp() * 1000))


def due(now: str, *, quiet: str = "", digest: str = "") -> str:
    moment = due_of(ChannelSettings("c", quiet=quiet, digest=digest), at(now))
    return datetime.fromtimestamp(moment / 1000, UTC).astimezone().strftime("%Y-%m-%d %H:%M")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-05-04 21:59", "2026-05-04 21:59"),
        ("2026-05-04 22:00", "2026-05-05 07:00"),
        ("2026-05-04 23:30", "2026-05-05 07:00"),
        ("2026-05-05 06:59", "2026-05-05 07:00"),
        ("2026-05-05 07:00", "2026-05-05 07:00"),
    ],
)
def test_a_message_waits_for_the_end_of_quiet_hours(now: str, expected: str) -> None:
    assert due(now, quiet="22:00-07:00") == expected


def test_quiet_hours_may_lie_within_a_day() -> None:
    assert due("2026-05-04 12:30", quiet="12:00-13:00") == "2026-05-04 13:00"
    assert due("2026-05-04 13:30", quiet="12:00-13:00") == "2026-05-04 13:30"


def test_quiet_hours_end_by_the_clock_also_when_it_is_changed() -> None:
    assert due("2026-03-28 23:00", quiet="22:00-07:00") == "2026-03-29 07:00"
    assert due("2026-10-24 23:00", quiet="22:00-07:00") == "2026-10-25 07:00"


def test_a_digest_is_due_at_its_time_of_day() -> None:
    assert due("2026-05-04 07:59", digest="08:00") == "2026-05-04 08:00"
    assert due("2026-05-04 08:00", digest="08:00") == "2026-05-05 08:00"


def test_messages_of_one_stretch_of_time_are_due_together() -> None:
    first, second = due("2026-05-04 10:05", digest="2h"), due("2026-05-04 11:05", digest="2h")

    assert first == second
    assert due("2026-05-04 12:05", digest="2h") > first


def test_a_digest_within_quiet_hours_comes_at_their_end() -> None:
    assert due("2026-05-04 20:00", digest="23:00", quiet="22:00-07:00") == "2026-05-05 07:00"
