"""The hosts of a `network` list, and the addresses behind them that somebody outside may really have."""

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
"""Gives the addresses that a host may be reached at; raises OSError where there is none."""


class NotPublic(OSError):
    """A name was to lead into a network that only the host can see."""


def allowed_hosts(entries: Iterable[str]) -> frozenset[str]:
    """As `host:port`, exactly as a client must ask for them; a host without a port means that of HTTPS."""
    return frozenset(map(_entry, entries))


def _entry(entry: str) -> str:
    found = _HOST.fullmatch(entry)
    # The last part begins with a letter, so that no spelling of an address is a name.
    if found is None or int(found[2] or HTTPS) > 65535:
        raise ConfigurationError(
            f'network has "{entry}", which is not the name of a host',
            hint="name each one exactly, such as packages.example or packages.example:8443; no patterns, no addresses",
        )
    host = entry.partition(":")[0].lower().removesuffix(".")
    return f"{host}:{found[2] or HTTPS}"


async def public_addresses(host: str, port: int) -> Sequence[tuple[str, int]]:
    """Asked once; whoever connects does so by these, so that the name cannot mean another place the next moment."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(where[0]) for *_, where in found))
    if not addresses or not all(map(is_public, addresses)):
        raise NotPublic(f"{host} leads to an address that is none of the internet")
    return [(address, port) for address in addresses]


def is_public(address: str) -> bool:
    """Whether an address is one of the internet, also where an IPv6 address is only a wrapping around an IPv4 one."""
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return all(one.is_global and not (one.is_multicast or one.is_reserved) for one in _unwrapped(found))


def _unwrapped(address: IPv4Address | IPv6Address) -> Sequence[IPv4Address | IPv6Address]:
    if isinstance(address, IPv4Address):
        return (address,)
    if address.ipv4_mapped is not None:
        return (address.ipv4_mapped,)
    if address in _NAT64:
        return (IPv4Address(int(address) & 0xFFFFFFFF),)
    inner = (address.sixtofour, *(address.teredo or ()))
    return (address, *(one for one in inner if one is not None))
