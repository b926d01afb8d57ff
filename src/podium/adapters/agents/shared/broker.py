"""How an agent with a key works where it must not have it: at the broker's address, with a key that opens nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from podium.ports.agent import AgentRequest
from podium.ports.sandbox import BROKER, Service

DUMMY_KEY: Final = "podium-keeps-the-real-one"
URL: Final = f"http://{BROKER[0]}:{BROKER[1]}"


def is_brokered(request: AgentRequest) -> bool:
    """A login cannot be brokered: its program renews it by itself."""
    return request.brokered and request.config.get("auth") != "login"


def service(
    request: AgentRequest, upstream: str, paths: tuple[str, ...], key: Mapping[str, str]
) -> Service | None:
    """None where the agent calls its API itself."""
    return Service(upstream=upstream, paths=paths, headers=key) if is_brokered(request) else None


def host_of(url: str) -> str:
    """As a `network` list names it: with its port, unless that is the usual one."""
    parts = urlsplit(url)
    usual = parts.port is None or (parts.scheme, parts.port) == ("https", 443)
    return f"{parts.hostname}" if usual else f"{parts.hostname}:{parts.port}"
