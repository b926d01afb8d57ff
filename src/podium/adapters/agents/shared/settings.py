"""Reads and checks the settings of agents before a request is sent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import duration, tokens

T = TypeVar("T")
_TEMPERATURES: Final = (0, 2)


def wrong(request: AgentRequest, key: str, fact: str) -> ConfigurationError:
    return ConfigurationError(f"agents.{request.agent}.{key} {fact}")


def seconds(request: AgentRequest, key: str) -> float | None:
    """A duration such as 90s in seconds; None if it is not set."""
    millis = _read(request, key, duration)
    if millis is not None and millis <= 0:
        raise wrong(request, key, "must be longer than 0s")
    return None if millis is None else millis / 1000


def count(request: AgentRequest, key: str) -> int | None:
    """A number of tokens such as 2k; None if it is not set."""
    return _read(request, key, tokens)


def temperature(request: AgentRequest) -> float | None:
    value, (least, most) = request.config.get("temperature"), _TEMPERATURES
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise wrong(request, "temperature", f"is not a number from {least} to {most}")
    return value


def address(request: AgentRequest, default: str) -> str:
    """The base URL, without a trailing slash."""
    url = str(request.config.get("base_url") or default)
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise wrong(request, "base_url", f'is "{url}", which is not an http:// or https:// address')
    return url.rstrip("/")


def messages(request: AgentRequest) -> list[dict[str, str]]:
    """The system text, earlier turns and the prompt in the format of chat APIs."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    earlier = [
        message
        for turn in (() if request.session is None else request.session.turns)
        for message in (
            {"role": "user", "content": turn.prompt},
            {"role": "assistant", "content": turn.answer},
        )
    ]
    return [*system, *earlier, {"role": "user", "content": request.prompt}]


def _read(request: AgentRequest, key: str, reader: Callable[[Any], T]) -> T | None:
    value = request.config.get(key)
    try:
        return None if value is None else reader(value)
    except InvalidValue as error:
        raise wrong(request, key, f"must be {error}") from error
