"""When an API accepts calls again, as the headers of its response say it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Final

from podium.core.types import Millis
from podium.ports.retry_time import millis_of

RESETS: Final = (
    "retry-after",
    "x-ratelimit-reset-requests",
    "x-ratelimit-reset-tokens",
)
_SPAN: Final = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?")


def reset_at(headers: Mapping[str, str], at: Millis) -> Millis | None:
    """When to retry; if several limits have a reset time, the latest."""
    exact = headers.get("retry-after-ms", "")
    if exact.isdecimal() and (delay := millis_of(float(exact) / 1000)) is not None:
        return Millis(at + delay)
    times = [when for name in RESETS if (when := _moment(headers.get(name, ""), at)) is not None]
    return max(times, default=None) if "retry-after" not in headers else next(iter(times), None)


def _moment(text: str, at: Millis) -> Millis | None:
    """The time in a header: seconds, a span such as 6m0s, or a date."""
    text = text.strip()
    try:
        return _later(at, float(text))
    except ValueError:
        pass
    span = _SPAN.fullmatch(text)
    if span is not None and any(span.groups()):
        hours, minutes, secs, millis = (float(part or 0) for part in span.groups())
        return _later(at, hours * 3600 + minutes * 60 + secs + millis / 1000)
    try:
        return millis_of(parsedate_to_datetime(text).timestamp())
    except (ValueError, TypeError, OverflowError):
        return None


def _later(at: Millis, seconds: float) -> Millis | None:
    delay = millis_of(seconds)
    return None if delay is None else Millis(at + delay)
