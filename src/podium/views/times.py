"""Moments as machines and people read them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from podium.core.types import Millis

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
