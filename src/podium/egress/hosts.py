"""The hosts of a `network` list, and their public addresses."""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
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
_GLOBAL_V6: Final = IPv6Network("2000::/3")
"""The only range from which global unicast addresses are assigned; 64:ff9b:1::/48, fc00::/7, fe80::/10, fec0::/10,
5f00::/16 and the others of the registry are outside of it."""
_SPECIAL_V6: Final = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, with Teredo, benchmarks, ORCHID and drone identifiers
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4, which leads to an IPv4 address
            "2620:4f:8000::/48",  # AS112
            "3ffe::/16",  # 6bone
            "3fff::/20",  # documentation
        ),
    )
)
_SPECIAL_V4: Final = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # shared by the customers of a provider
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",  # protocol assignments
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnels
            "192.88.99.0/24",  # relays of 6to4
            "192.168.0.0/16",
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and the broadcast address
        ),
    )
)
"""All entries of IANA's special-purpose registries (2026-11-18), also those that routers may pass on: none is a host
that a workflow would name."""

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
    """Whether an address is one of the public internet, also if an IPv6 address only stands for an IPv4 one.

    By our own list, because the one of Python depends on its version: 3.11 takes 192.88.99.0/24 for public.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped or (IPv4Address(int(parsed) & 0xFFFFFFFF) if parsed in _NAT64 else None)
        if inner is None:
            return parsed in _GLOBAL_V6 and not _is_isatap(parsed) and not _in_any(parsed, _SPECIAL_V6)
        parsed = inner
    return not _in_any(parsed, _SPECIAL_V4)


def _in_any(
    address: IPv4Address | IPv6Address, networks: Iterable[IPv4Network] | Iterable[IPv6Network]
) -> bool:
    return any(address in network for network in networks)


def _is_isatap(address: IPv6Address) -> bool:
    """Whether the lower half names an IPv4 address that a tunnel of the local site leads to (RFC 5214)."""
    return (int(address) >> 32) & 0xFCFFFFFF == 0x00005EFE
