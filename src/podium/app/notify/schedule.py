"""When a message may be sent: outside of quiet hours, and with the digest if the channel has one."""

from __future__ import annotations

from datetime import datetime, time, timedelta, tzinfo
from typing import Final

from podium.core.expressions.values import parse_duration
from podium.core.types import Millis
from podium.ports.channel import ChannelSettings

DAY: Final = timedelta(days=1)


def due_of(channel: ChannelSettings, now: Millis) -> Millis:
    """The earliest time, now or later."""
    due = now
    if channel.digest:
        due = _digest(channel.digest, due)
    if channel.quiet:
        due = _after_quiet(channel.quiet, due)
    return due


def _digest(written: str, now: Millis) -> Millis:
    if ":" in written:
        clock, _, zone = written.partition(" ")
        return _next(clock, zone, now)
    # The ends of equal stretches of time, so that all messages of one stretch go together.
    length = parse_duration(written)
    return Millis((now // length + 1) * length)


def _after_quiet(written: str, now: Millis) -> Millis:
    hours, _, zone = written.partition(" ")
    begin, _, end = hours.partition("-")
    # The one that comes first tells whether these are quiet hours.
    over = _next(end, zone, now)
    return over if over < _next(begin, zone, now) else now


def _next(clock: str, zone: str, now: Millis) -> Millis:
    """The next moment at which a clock there shows this time."""
    place = _zone(zone)
    here = datetime.fromtimestamp(now / 1000, place).astimezone(place)
    hour, _, minute = clock.partition(":")
    moment = datetime.combine(here.date(), time(int(hour), int(minute)), here.tzinfo)
    later = moment if moment > here else moment + DAY
    if place is None:
        # The system's zone has one offset in a datetime; the clock may be changed until then.
        later = datetime.combine(later.date(), later.time()).astimezone()
    return Millis(round(later.timestamp() * 1000))


def _zone(name: str) -> tzinfo | None:
    if not name:
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)
