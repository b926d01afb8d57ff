"""When an agent may be called again, as it or its vendor reports it: the one place that decides whether to believe it.

Agents mix up units: a time in milliseconds that is read as seconds lies tens of thousands of years ahead, and a run
that believed it would be parked until then.
"""

from __future__ import annotations

import math
from typing import Final

from podium.core.types import Millis

LONGEST: Final = Millis(35 * 86_400_000)
"""The longest quota window of a vendor is a month."""
LONGEST_AGO: Final = Millis(20 * 365 * 86_400_000)
"""A time that has passed is a late report, or that of a recording."""
_UNITS: Final = (1, 1_000, 1_000_000, 0.001)
"""By what a number is too large: right, milliseconds or microseconds read as seconds, seconds read as milliseconds."""
_LARGEST: Final = 1e21


def retry_time(reported: float | None, now: Millis) -> Millis | None:
    """The reported time in milliseconds since 1970; None if no unit makes it a time at which a quota may open."""
    if reported is None:
        return None
    for unit in _UNITS:
        at = reported / unit
        if now - LONGEST_AGO <= at <= now + LONGEST:
            return Millis(round(at))
    return None


def millis_of(seconds: float) -> Millis | None:
    """A number of seconds from outside in milliseconds; None if it is not a number that a time can have."""
    if not math.isfinite(seconds) or abs(seconds) > _LARGEST:
        return None
    return Millis(round(seconds * 1000))
