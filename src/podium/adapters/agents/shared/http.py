"""Sends one request to a model's API; cancelling the caller closes the connection.

Rules: no redirect is followed, because a key goes only to the host that the user named; no message contains a header;
an answer is read up to a maximum size.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from anyio import to_thread

from podium.egress.user_proxy import ProxyFailed, UserProxy, proxy_for
from podium.fast_dataclass import dataclass

if TYPE_CHECKING:
    from httpx2 import AsyncClient

CONNECT_S: Final = 10.0
MAX_BYTES: Final = 8 * 1024 * 1024
"""Maximum size of an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By name in lower case."""
    body: bytes = field(repr=False)


class Unreachable(Exception):
    """No server answers at the address, or the address cannot be used."""


class Silent(Exception):
    """The server stopped sending."""


class BrokenOff(Exception):
    """The connection ended in the middle of the answer. `body` is the part that arrived."""

    def __init__(self, message: str, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


async def post(
    url: str,
    value: Any,
    *,
    headers: Mapping[str, str] | None = None,
    silence_s: float | None = None,
) -> Answer:
    """Send a JSON value; raises Unreachable, Silent or BrokenOff."""
    return await _send("POST", url, json.dumps(value), headers=headers, silence_s=silence_s)


async def get(
    url: str, *, headers: Mapping[str, str] | None = None, silence_s: float | None = None
) -> Answer:
    """Read what is at an address; raises Unreachable, Silent or BrokenOff."""
    return await _send("GET", url, None, headers=headers, silence_s=silence_s)


async def _send(
    method: str, url: str, content: str | None, *, headers: Mapping[str, str] | None, silence_s: float | None
) -> Answer:
    try:
        proxy = proxy_for(url)
    except ProxyFailed as error:
        raise Unreachable(str(error)) from error
    uses_tls = url.startswith("https:") or (proxy is not None and proxy.tls)
    trust = await to_thread.run_sync(_load, uses_tls)
    import httpx2

    body = bytearray()
    through = "" if proxy is None else f"through the proxy {proxy.name}: "
    try:
        async with (
            _client(trust, proxy, silence_s) as client,
            client.stream(method, url, content=content, headers=headers) as response,
        ):
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > MAX_BYTES:
                    raise BrokenOff(f"the answer has more than {MAX_BYTES} bytes")
            return Answer(response.status_code, dict(response.headers), bytes(body))
    except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
        raise Unreachable(f"{through}{str(error) or 'no connection in time'}") from error
    except (httpx2.InvalidURL, httpx2.UnsupportedProtocol, UnicodeError) as error:
        raise Unreachable("the address cannot be used") from error
    except httpx2.TimeoutException as error:
        raise Silent(f"no data for {silence_s:g} s") from error
    except httpx2.LocalProtocolError as error:
        # The message of the error quotes the invalid header, which may contain the key.
        raise Unreachable("a header cannot be sent; look for line breaks in the key") from error
    except httpx2.RequestError as error:
        raise BrokenOff(f"{type(error).__name__}: {error}", bytes(body)) from error


def _client(trust: ssl.SSLContext, proxy: UserProxy | None, silence_s: float | None) -> AsyncClient:
    import httpx2

    http_proxy = None
    if proxy is not None:
        fields = {} if proxy.authorization is None else {"Proxy-Authorization": proxy.authorization}
        scheme = "https" if proxy.tls else "http"
        host = f"[{proxy.host}]" if ":" in proxy.host else proxy.host
        http_proxy = httpx2.Proxy(
            f"{scheme}://{host}:{proxy.port}", ssl_context=trust if proxy.tls else None, headers=fields
        )
    return httpx2.AsyncClient(
        verify=trust,
        proxy=http_proxy,
        trust_env=False,
        timeout=httpx2.Timeout(silence_s, connect=CONNECT_S),
        headers={"User-Agent": "podium", "Content-Type": "application/json", "Connection": "close"},
    )


@cache
def _load(uses_tls: bool) -> ssl.SSLContext:
    """Load the trusted certificates and httpx2, once per process and in a thread, since each takes over 100 ms.

    Without TLS no certificate is loaded, so none is trusted.
    """
    import httpx2  # noqa: F401

    return ssl.create_default_context() if uses_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
