"""Money, durations and counts as people read them."""

from __future__ import annotations

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
