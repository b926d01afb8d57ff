"""Channels in a configuration: where messages to people go, which ones, and when."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from podium.workflow.schema.fields import DocPath, InvalidValue, Raw, Scalar
from podium.workflow.schema.scalars import TextList, duration, time_of_day

MessageKind: TypeAlias = Literal[
    "asked", "reminded", "escalated", "answered", "vetoable", "failed", "limited", "stuck", "passed", "all"
]
ADDRESSES: Final = ("url", "webhook", "desktop", "command")

_HOURS: Final = re.compile(r"([0-9:]{5})-([0-9:]{5})(?: ([A-Za-z][A-Za-z0-9_+/-]*))?")
_PLACE: Final = re.compile(r"([0-9:]{5})(?: ([A-Za-z][A-Za-z0-9_+/-]*))?")


def quiet_hours(value: Any) -> str:
    match = _HOURS.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[1] == match[2]:
        raise InvalidValue(
            'a time of day until another one, such as "22:00-07:00" or "22:00-07:00 Europe/Berlin"'
        )
    time_of_day(match[1])
    time_of_day(match[2])
    _check_zone(match[3])
    return str(value)


def digest(value: Any) -> str:
    match = _PLACE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        if not duration(value):
            raise InvalidValue('a time of day such as "08:00", or a duration such as 2h')
        return str(value)
    time_of_day(match[1])
    _check_zone(match[2])
    return str(value)


def _check_zone(name: str | None) -> None:
    if name is None:
        return
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise InvalidValue("a time zone that this machine knows, such as Europe/Berlin") from error


QuietHours: TypeAlias = Annotated[
    str, Scalar(quiet_hours, {"type": "string", "pattern": f"^({_HOURS.pattern})$"})
]
Digest: TypeAlias = Annotated[str, Scalar(digest, {"type": "string"})]


class Channel(Raw):
    """The address is one of `url`, `webhook`, `desktop` and `command`."""

    noun: ClassVar[str] = "channel"

    url: str | None = None
    webhook: str | None = None
    secret: str | None = None
    desktop: bool | None = None
    command: tuple[str, ...] | None = None
    on: tuple[MessageKind, ...] | None = None
    for_: TextList = ()
    quiet: QuietHours | None = None
    digest: Digest | None = None


def channel_faults(channels: Mapping[str, Channel]) -> Iterator[tuple[DocPath, str, str]]:
    """The place, the fault and a hint for what the types of the keys do not show."""
    for name, channel in channels.items():
        written = [key for key in ADDRESSES if getattr(channel, key)]
        if len(written) != 1:
            yield channel.path, f'the channel "{name}" needs exactly one of {", ".join(ADDRESSES)}', ""
        elif (written == ["webhook"]) != (channel.secret is not None):
            fault = "needs" if written == ["webhook"] else "has no webhook and takes no"
            hint = "`secret` names the variable with the key that signs each request"
            yield channel.path, f'the channel "{name}" {fault} "secret"', hint
