"""Formats money, durations, counts and moments for people."""

from __future__ import annotations

from datetime import UTC, datetime
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


LAST: Final = 253_402_300_799_000
"""The end of the year 9999."""


def iso(at: Millis) -> str:
    """ISO 8601 in UTC with milliseconds; text of this form sorts by time."""
    return _moment(at).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"


def iso_or_none(at: Millis | None) -> str | None:
    return None if at is None else iso(at)


def clock(at: Millis) -> str:
    """For lists: to the minute, in UTC."""
    return _moment(at).strftime("%Y-%m-%d %H:%M")


def _moment(at: Millis) -> datetime:
    """What is beyond the calendar is shown as its last moment: logs of earlier versions may have it."""
    return datetime.fromtimestamp(min(at, LAST) / 1000, UTC)
