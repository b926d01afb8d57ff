"""Times of cron lines, compared with a search of every minute."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.workflow.cron import CronError, parse_cron, read_zone

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def next_times(line: str, after: str, count: int, zone: str = "Europe/Berlin") -> list[str]:
    cron, at, times = parse_cron(line), utc(after), []
    for _ in range(count):
        following = cron.next_time(at, read_zone(zone))
        assert following is not None
        at = following
        times.append(at.strftime("%Y-%m-%d %H:%M"))
    return times


@pytest.mark.parametrize(
    ("line", "after", "expected"),
    [
        ("0 3 * * 1-5", "2026-11-20T12:00", ["2026-11-23 02:00", "2026-11-24 02:00"]),
        ("*/20 9 * * *", "2026-11-18T00:00", ["2026-11-18 08:00", "2026-11-18 08:20", "2026-11-18 08:40"]),
        ("0 0 1 */3 *", "2026-11-18T00:00", ["2026-12-31 23:00", "2027-03-31 22:00"]),
        ("0 12 29 feb *", "2026-11-18T00:00", ["2028-02-29 11:00", "2032-02-29 11:00"]),
        ("@weekly", "2026-11-18T00:00", ["2026-11-21 23:00", "2026-11-28 23:00"]),
        # Both days are restricted, so one of them is enough.
        ("0 0 13 * fri", "2026-11-01T00:00", ["2026-11-05 23:00", "2026-11-12 23:00", "2026-11-19 23:00"]),
        # 02:30 does not exist on 29 March, and exists twice on 25 October.
        ("30 2 * * *", "2026-03-28T12:00", ["2026-03-29 01:30", "2026-03-30 00:30"]),
        ("30 2 * * *", "2026-10-24T12:00", ["2026-10-25 00:30", "2026-10-26 01:30"]),
        ("0 * * * *", "2026-10-24T23:00", ["2026-10-25 00:00", "2026-10-25 01:00", "2026-10-25 02:00"]),
        ("0 * * * *", "2026-03-29T00:00", ["2026-03-29 01:00", "2026-03-29 02:00"]),
    ],
)
def test_a_line_means_what_it_means_to_cron(line: str, after: str, expected: list[str]) -> None:
    assert next_times(line, after, len(expected)) == expected


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("0 3 * *", "has five fields"),
        ("60 * * * *", "a minute is from 0 to 59, not 60"),
        ("* 24 * * *", "an hour is from 0 to 23"),
        ("* * 0 * *", "a day of the month is from 1 to 31"),
        ("* * * foo *", '"foo" is not a month'),
        ("* * * * 8", "a day of the week is from 0 to 7"),
        ("5-1 * * * *", "ends before it begins"),
        ("*/0 * * * *", "a step of 0"),
        ("-5 * * * *", '"-5" is not a minute'),
        ("@sometimes", "is not one of @hourly"),
    ],
)
def test_a_wrong_line_is_refused_with_the_fact(line: str, fact: str) -> None:
    with pytest.raises(CronError, match=fact):
        parse_cron(line)


def test_a_date_that_never_comes_has_no_next_time() -> None:
    assert parse_cron("0 0 31 feb *").next_time(utc("2026-01-01T00:00"), UTC) is None


@pytest.mark.parametrize("name", ["Mars/Olympus", "", "../etc/passwd", "/etc/localtime"])
def test_an_unknown_zone_is_refused(name: str) -> None:
    with pytest.raises(CronError, match="time zone"):
        read_zone(name)


def minutes(first: datetime, last: datetime) -> Iterator[datetime]:
    while first <= last:
        yield first
        first += timedelta(minutes=1)


FIELD = st.sampled_from(["*", "*/7", "0", "5,30", "10-20"])
HOUR = st.sampled_from(["*", "*/5", "1", "2", "3", "0-4", "1,2,3"])
DAY = st.sampled_from(["*", "29", "25", "*/2"])
WEEKDAY = st.sampled_from(["*", "sun", "0-3", "7"])
START = st.sampled_from(["2026-03-28T20:00", "2026-10-24T20:00", "2026-07-01T20:00", "2026-03-29T00:59"])


@given(minute=FIELD, hour=HOUR, day=DAY, weekday=WEEKDAY, start=START)
def test_the_times_of_a_night_are_those_that_a_search_of_every_minute_finds(
    minute: str, hour: str, day: str, weekday: str, start: str
) -> None:
    cron = parse_cron(f"{minute} {hour} {day} * {weekday}")
    first, last = utc(start), utc(start) + timedelta(hours=14)

    found = list(cron.times_back(last, first, BERLIN))

    assert found == sorted(found, reverse=True)
    assert all(first < at <= last for at in found)
    matching = set()
    for at in minutes(first + timedelta(minutes=1), last):
        local = at.astimezone(BERLIN)
        day_matches = local.day in cron.days, local.isoweekday() % 7 in cron.weekdays
        is_day = any(day_matches) if cron.either_day else all(day_matches)
        if is_day and local.hour in cron.hours and local.minute in cron.minutes:
            matching.add(at)
    # The search finds both moments of a local time that happens twice, and none for one that does not exist.
    second = {at for at in matching if at.astimezone(BERLIN).fold == 1}
    moved = {at for at in found if at not in matching}
    assert set(found) - moved == (matching if cron.any_hour else matching - second)
    assert all(at.astimezone(BERLIN).hour == 3 and at.month == 3 for at in moved)
    following = cron.next_time(first, BERLIN)
    assert following == min(found) if found else following is None or following > last
