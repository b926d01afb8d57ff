"""Reads the settings of agents that are services: what is not of the right shape is said before anything is sent."""

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
    """A duration such as 90s; None if none is named."""
    found = _read(request, key, duration)
    if found is not None and found <= 0:
        raise wrong(request, key, "must be longer than nothing")
    return None if found is None else found / 1000


def count(request: AgentRequest, key: str) -> int | None:
    """A number of tokens such as 2k; None if none is named."""
    return _read(request, key, tokens)


def temperature(request: AgentRequest) -> float | None:
    said, (least, most) = request.config.get("temperature"), _TEMPERATURES
    if said is None:
        return None
    if isinstance(said, bool) or not isinstance(said, int | float) or not least <= said <= most:
        raise wrong(request, "temperature", f"is not a number from {least} to {most}")
    return said


def address(request: AgentRequest, usual: str) -> str:
    """The base URL, without a slash at its end."""
    said = request.config.get("base_url") or usual
    try:
        parts = urlsplit(str(said))
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise wrong(
            request, "base_url", f'is "{said}", which is no address that begins with http:// or https://'
        )
    return str(said).rstrip("/")


def messages(request: AgentRequest) -> list[dict[str, str]]:
    """The role's text, the turns before this one and the prompt, as all chat APIs take them."""
    system = [{"role": "system", "content": request.system}] if request.system else []
    before = [
        message
        for turn in (() if request.session is None else request.session.turns)
        for message in (
            {"role": "user", "content": turn.prompt},
            {"role": "assistant", "content": turn.answer},
        )
    ]
    return [*system, *before, {"role": "user", "content": request.prompt}]


def _read(request: AgentRequest, key: str, reader: Callable[[Any], T]) -> T | None:
    said = request.config.get(key)
    try:
        return None if said is None else reader(said)
    except InvalidValue as error:
        raise wrong(request, key, f"must be {error}") from error
