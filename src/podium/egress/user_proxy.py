"""The proxy for a URL, from the user's environment.

HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY are read like in curl, in upper or lower case. As in Go, addresses of
this machine never go through a proxy, because a local model must stay reachable behind a company's proxy. A proxy's URL
may contain a password, so messages name only its host and port.
"""

from __future__ import annotations

import base64
import os
from dataclasses import field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import unquote, urlsplit

from podium.fast_dataclass import dataclass

PORTS: Final = {"http": 80, "https": 443}


class ProxyFailed(OSError):
    """The proxy cannot be used or refuses the connection."""


@dataclass(frozen=True, slots=True)
class UserProxy:
    host: str
    port: int
    tls: bool
    authorization: str | None = field(default=None, repr=False)
    """The value of Proxy-Authorization."""

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


def proxy_for(url: str) -> UserProxy | None:
    """The proxy for a URL; None for a direct connection. Raises ProxyFailed for an unsupported kind of proxy."""
    parts = urlsplit(url)
    proxy = _setting(f"{parts.scheme}_proxy") or _setting("all_proxy")
    if not proxy or _is_exempt(parts.hostname or "", parts.port or PORTS[parts.scheme]):
        return None
    return _parse(proxy)


def _setting(name: str) -> str:
    return os.environ.get(name) or os.environ.get(name.upper()) or ""


def _is_exempt(host: str, port: int) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        address = None
    if (address is not None and address.is_loopback) or f".{host}".endswith(".localhost"):
        return True
    entries = [entry.strip().lower() for entry in _setting("no_proxy").split(",")]
    if "*" in entries:
        return True
    if address is not None:
        return any(_contains(entry, address) for entry in entries)
    return any(_covers(entry.removesuffix(f":{port}"), host) for entry in entries)


def _covers(entry: str, host: str) -> bool:
    """Whether an entry is the host or a parent domain; .example.com and *.example.com also mean example.com."""
    domain = entry.removeprefix("*").removeprefix(".")
    return bool(domain) and f".{host}".endswith(f".{domain}")


def _contains(entry: str, address: IPv4Address | IPv6Address) -> bool:
    """Whether an entry is the address or a network that contains it, such as 10.0.0.0/8."""
    try:
        return address in ip_network(entry.strip("[]"), strict=False)
    except ValueError:
        return False


def _parse(proxy: str) -> UserProxy:
    """Parse the URL of a proxy; without a scheme it is HTTP."""
    try:
        parts = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
        port = parts.port
    except ValueError as error:
        raise ProxyFailed("the proxy in the environment is not a URL") from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise ProxyFailed(
            f"the proxy in the environment is {parts.scheme}://{parts.hostname}; use an http:// or https:// one"
        )
    authorization = None
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(login.encode()).decode()}"
    return UserProxy(parts.hostname, port or PORTS[parts.scheme], parts.scheme == "https", authorization)
