"""The hosts of a `network` list, and their public addresses."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

import anyio

from podium.errors import ConfigurationError

HTTPS: Final = 443
_HOST: Final = re.compile(
    r"(?=.{1,253}(?::|$))(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*"
    r"([a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)\.?(?::([1-9][0-9]{0,4}))?",
    re.IGNORECASE,
)
_NAT64: Final = IPv6Network("64:ff9b::/96")

Resolve: TypeAlias = Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]
"""Returns the addresses of a host; raises OSError if there is none."""


class NotPublic(OSError):
    """A name resolves to an address that is not public."""


def allowed_hosts(entries: Iterable[str]) -> frozenset[str]:
    """The hosts as `host:port`, exactly as a client must request them; the default port is that of HTTPS."""
    return frozenset(map(_entry, entries))


def _entry(entry: str) -> str:
    match = _HOST.fullmatch(entry)
    # The last part must start with a letter, so that no IP address is accepted as a name.
    if match is None or int(match[2] or HTTPS) > 65535:
        raise ConfigurationError(
            f'network: "{entry}" is not a host name',
            hint="write exact names such as packages.example or packages.example:8443, without patterns or IP addresses",
        )
    host = entry.partition(":")[0].lower().removesuffix(".")
    return f"{host}:{match[2] or HTTPS}"


async def public_addresses(host: str, port: int) -> Sequence[tuple[str, int]]:
    """Resolve a host once; connections use these addresses, so that the name cannot change its meaning in between."""
    results = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(address[0]) for *_, address in results))
    if not addresses or not all(map(is_public, addresses)):
        raise NotPublic(f"{host} resolves to an address that is not public")
    return [(address, port) for address in addresses]


def is_public(address: str) -> bool:
    """Whether an address is public, also if an IPv6 address only embeds an IPv4 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(
        inner.is_global and not (inner.is_multicast or inner.is_reserved)
        for inner in _embedded_addresses(parsed)
    )


def _embedded_addresses(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address | IPv6Address]:
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    inner = (address.sixtofour, *(address.teredo or ()))
    return (address, *(each for each in inner if each is not None))
