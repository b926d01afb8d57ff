"""Formats money, durations, counts, times and lists for people."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

from podium.core.types import MicroUsd, Millis


def dollars(usd: MicroUsd | float) -> str:
    value = usd / 1_000_000
    return f"${value:.2f}" if value >= 0.01 or not value else f"${value:.4f}"


def duration(millis: Millis | float) -> str:
    if millis % 1000 and millis < 9_950:
        return f"{millis / 1000:.1f}s"
    seconds = round(millis / 1000)
    if seconds < 60:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 60:
        return f"{minutes}m{seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h{minutes:02d}m"
    return f"{hours // 24}d{hours % 24:02d}h"


def count(number: float) -> str:
    for limit, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= 10 * limit:
            return f"{number / limit:.0f}{unit}"
    return f"{number:.0f}"


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def first_of(names: Sequence[str], most: int) -> str:
    """The names up to a maximum, separated by commas: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


LAST: Final = 253_402_300_799_000
"""The end of the year 9999."""


def iso(at: Millis) -> str:
    """The time as ISO 8601 in UTC with milliseconds; such texts sort by time."""
    seconds, millis = divmod(min(at, LAST), 1000)
    return f"{_second(seconds)}.{millis:03d}Z"


@lru_cache(maxsize=64)
def _second(seconds: int) -> str:
    """The files of a run have thousands of times, most of them in the second of the one before."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def iso_or_none(at: Millis | None) -> str | None:
    return None if at is None else iso(at)


def clock(at: Millis) -> str:
    """The time in UTC to the minute, for lists."""
    return _datetime(at).strftime("%Y-%m-%d %H:%M")


def clock_time(at: Millis, *, seconds: bool = False) -> str:
    """The time of day where the user is, for a display."""
    return _clock_time(at // 1000, "%H:%M:%S" if seconds else "%H:%M", (time.timezone, *time.tzname))


@lru_cache(maxsize=16)
def _clock_time(second: int, form: str, _zone: tuple[int, str, str]) -> str:
    """Cached: a run without agents prints thousands of lines in a second."""
    return _datetime(Millis(second * 1000)).astimezone().strftime(form)


def _datetime(at: Millis) -> datetime:
    """The time as a datetime; logs of earlier versions may contain times after the year 9999, which are clamped."""
    return datetime.fromtimestamp(min(at, LAST) / 1000, UTC)
