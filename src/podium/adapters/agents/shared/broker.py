"""Helpers for agents behind the broker, which call its address with a dummy key and never get the real one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from podium.adapters.agents.shared.settings import wrong
from podium.fast_dataclass import dataclass
from podium.ports.agent import AgentRequest
from podium.ports.agent_type import SERVER_TOOLS
from podium.ports.sandbox import BROKER, Service

DUMMY_KEY: Final = "podium-keeps-the-real-one"
URL: Final = f"http://{BROKER[0]}:{BROKER[1]}"


@dataclass(frozen=True, slots=True)
class ModelApi:
    """How a program that knows only a key calls a model API, so that the broker can call it instead."""

    url: str
    variable: str
    """The environment variable from which the program reads the address."""
    header: str
    """The header with the key."""
    calls: tuple[str, ...]
    """The allowed calls; see `Service.paths`."""

    def service(self, request: AgentRequest, key: str) -> Service:
        value = f"Bearer {key}" if self.header.lower() == "authorization" else key
        return Service(
            upstream=self.url,
            paths=self.calls,
            headers={self.header: value},
            server_tools=server_tools(request),
        )


MODEL_APIS: Final[Mapping[str, ModelApi]] = {
    "ANTHROPIC_API_KEY": ModelApi(
        "https://api.anthropic.com",
        "ANTHROPIC_BASE_URL",
        "x-api-key",
        ("POST /v1/messages?beta", "POST /v1/messages/count_tokens?beta"),
    ),
    "GEMINI_API_KEY": ModelApi(
        "https://generativelanguage.googleapis.com",
        "GOOGLE_GEMINI_BASE_URL",
        "x-goog-api-key",
        (
            "POST /v1beta/models/*:generateContent",
            "POST /v1beta/models/*:streamGenerateContent?alt",
            "POST /v1beta/models/*:countTokens",
        ),
    ),
    "OPENAI_API_KEY": ModelApi(
        "https://api.openai.com/v1",
        "OPENAI_BASE_URL",
        "Authorization",
        ("POST /responses", "POST /responses/compact", "POST /chat/completions"),
    ),
}
"""By the variable that programs of the vendor read their key from."""


def is_brokered(request: AgentRequest) -> bool:
    """Whether the agent uses the broker; a login cannot, because its program renews it by itself."""
    return request.brokered and request.config.get("auth") != "login"


def server_tools(request: AgentRequest) -> frozenset[str]:
    """What the workflow allows the vendor to run on its side."""
    names = request.config.get("server_tools") or ()
    unknown = [name for name in names if name not in SERVER_TOOLS]
    if unknown or isinstance(names, str):
        raise wrong(request, "server_tools", f"must be a list of {', '.join(SERVER_TOOLS)}")
    return frozenset(names)


def service(
    request: AgentRequest,
    upstream: str,
    paths: tuple[str, ...],
    key: Mapping[str, str],
    *,
    tools: Iterable[str] = (),
) -> Service | None:
    """The API behind the broker; None if the agent calls its API directly.

    `tools` are the names of `SERVER_TOOLS` that the tools of the step need.
    """
    if not is_brokered(request):
        return None
    named = server_tools(request).union(tools)
    return Service(upstream=upstream, paths=paths, headers=key, server_tools=named)


def host_of(url: str) -> str:
    """The host of a URL as in a `network` list: with its port, unless that is the default of HTTPS."""
    parts = urlsplit(url)
    is_default = parts.port is None or (parts.scheme, parts.port) == ("https", 443)
    return f"{parts.hostname}" if is_default else f"{parts.hostname}:{parts.port}"
