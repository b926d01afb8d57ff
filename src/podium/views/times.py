"""Moments as machines and people read them."""

from __future__ import annotations

from datetime import UTC, datetime

from podium.core.words import Millis


def iso(at: Millis) -> str:
    """ISO 8601 in UTC with milliseconds; text of this form sorts by time."""
    return (
        datetime.fromtimestamp(at / 1000, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00") + "Z"
    )


def iso_or_none(at: Millis | None) -> str | None:
    return None if at is None else iso(at)


def clock(at: Millis) -> str:
    """For lists: to the minute, in UTC."""
    return datetime.fromtimestamp(at / 1000, UTC).strftime("%Y-%m-%d %H:%M")
