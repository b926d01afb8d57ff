"""Helpers for agents behind the broker, which call its address with a dummy key and never get the real one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from podium.ports.agent import AgentRequest
from podium.ports.sandbox import BROKER, Service

DUMMY_KEY: Final = "podium-keeps-the-real-one"
URL: Final = f"http://{BROKER[0]}:{BROKER[1]}"


def is_brokered(request: AgentRequest) -> bool:
    """Whether the agent uses the broker; a login cannot, because its program renews it by itself."""
    return request.brokered and request.config.get("auth") != "login"


def service(
    request: AgentRequest, upstream: str, paths: tuple[str, ...], key: Mapping[str, str]
) -> Service | None:
    """The API behind the broker; None if the agent calls its API directly."""
    return Service(upstream=upstream, paths=paths, headers=key) if is_brokered(request) else None


def host_of(url: str) -> str:
    """The host of a URL as in a `network` list: with its port, unless that is the default of HTTPS."""
    parts = urlsplit(url)
    is_default = parts.port is None or (parts.scheme, parts.port) == ("https", 443)
    return f"{parts.hostname}" if is_default else f"{parts.hostname}:{parts.port}"
