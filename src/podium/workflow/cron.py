"""Times of a cron line in a time zone, as whole minutes in UTC.

Rule 1: the five fields mean what they mean to cron; if both days are restricted, one of them is enough.
Rule 2: a local time that the change to summer time skips happens by the length of the gap later. A local time that
happens twice counts once, unless the line has an hour of `*`: that means every hour that passes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from podium.fast_dataclass import dataclass

HORIZON: Final = timedelta(days=366 * 9)
"""A 29th of February is at most eight years away."""
WORDS: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
}
MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_PART: Final = re.compile(r"(?:(\*)|([a-z0-9]+)(?:-([a-z0-9]+))?)(?:/([0-9]+))?")


class CronError(ValueError):
    """What is wrong with a line, for the person who wrote it."""


@dataclass(frozen=True, slots=True)
class _Field:
    label: str
    low: int
    high: int
    names: tuple[str, ...] = ()

    def number(self, text: str) -> int:
        if text in self.names:
            return self.low + self.names.index(text)
        if not text.isdecimal():
            raise CronError(f'"{text}" is not {self.label}')
        if not self.low <= int(text) <= self.high:
            raise CronError(f"{self.label} is from {self.low} to {self.high}, not {text}")
        return int(text)

    def values(self, text: str) -> frozenset[int]:
        return frozenset(value for part in text.split(",") for value in self._part(part))

    def _part(self, text: str) -> range:
        match = _PART.fullmatch(text)
        if match is None:
            raise CronError(f'"{text}" is not {self.label}')
        star, first, last, step = match.groups()
        low = self.low if star else self.number(first)
        single = low if step is None else self.high
        high = self.high if star else single if last is None else self.number(last)
        if low > high:
            raise CronError(f'"{text}" ends before it begins')
        if step is not None and int(step) == 0:
            raise CronError(f'"{text}" has a step of 0')
        return range(low, high + 1, int(step or 1))


_FIELDS: Final = (
    _Field("a minute", 0, 59),
    _Field("an hour", 0, 23),
    _Field("a day of the month", 1, 31),
    _Field("a month", 1, 12, MONTHS),
    _Field("a day of the week", 0, 7, DAYS),
)


@dataclass(frozen=True, slots=True)
class Cron:
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """From 0, which is Sunday."""
    any_hour: bool
    either_day: bool
    """Both days are restricted, so one of them is enough."""

    def next_time(self, after: datetime, zone: tzinfo) -> datetime | None:
        """The first time after `after`; None if there is none within nine years."""
        local = after.astimezone(zone).date() - timedelta(days=1)
        end = local + HORIZON
        while local <= end:
            later = [at for at in self._times_on(local, zone) if at > after]
            if later:
                # A time that was moved out of a gap may come after one of the next day.
                tomorrow = self._times_on(local + timedelta(days=1), zone)
                return min((*later, *(at for at in tomorrow if at > after)))
            local += timedelta(days=1)
        return None

    def times_back(self, until: datetime, after: datetime, zone: tzinfo) -> Iterator[datetime]:
        """The times up to `until` and later than `after`, the last one first."""
        local = until.astimezone(zone).date() + timedelta(days=1)
        first = after.astimezone(zone).date() - timedelta(days=1)
        while local >= first:
            yield from (at for at in reversed(self._times_on(local, zone)) if after < at <= until)
            local -= timedelta(days=1)

    def _times_on(self, day: date, zone: tzinfo) -> tuple[datetime, ...]:
        if not self._includes(day):
            return ()
        times: set[datetime] = set()
        for hour in self.hours:
            for minute in self.minutes:
                local = datetime.combine(day, time(hour, minute), zone)
                times.add(local.astimezone(UTC))
                if self.any_hour:
                    times.add(_second_of_two(local))
        return tuple(sorted(times))

    def _includes(self, day: date) -> bool:
        if day.month not in self.months:
            return False
        in_month, in_week = day.day in self.days, day.isoweekday() % 7 in self.weekdays
        return in_month or in_week if self.either_day else in_month and in_week


def _second_of_two(local: datetime) -> datetime:
    """The later moment of a local time that happens twice; in a gap and everywhere else, its only moment."""
    later = local.replace(fold=1).astimezone(UTC)
    return max(later, local.astimezone(UTC))


def parse_cron(line: str) -> Cron:
    """Raises CronError."""
    words = WORDS.get(line.strip(), line).lower().split()
    if line.strip().startswith("@") and line.strip() not in WORDS:
        raise CronError(f'"{line.strip()}" is not one of {", ".join(WORDS)}')
    if len(words) != len(_FIELDS):
        raise CronError(
            f"a cron line has five fields (minute, hour, day, month, day of the week), not {len(words)}"
        )
    minutes, hours, days, months, weekdays = (
        field.values(word) for field, word in zip(_FIELDS, words, strict=True)
    )
    return Cron(
        minutes=tuple(sorted(minutes)),
        hours=tuple(sorted(hours)),
        days=days,
        months=months,
        weekdays=frozenset(day % 7 for day in weekdays),
        any_hour=words[1].startswith("*"),
        either_day=not words[2].startswith("*") and not words[4].startswith("*"),
    )


def read_zone(name: str) -> tzinfo:
    """Raises CronError if this machine does not know the zone."""
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise CronError(f'time zone "{name}" is not known on this machine') from None
