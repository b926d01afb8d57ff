"""The proxy connects only to allowed hosts at public addresses, and only by CONNECT."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

import anyio
import pytest
from anyio.abc import SocketStream

from podium.egress.hosts import allowed_hosts, is_public
from podium.errors import ConfigurationError
from podium.ports.sandbox import EgressDecision
from tests.egress.kit import Way, api, status, way

HOSTS = ("packages.example", "api.vendor.example:8443")
REFUSED = [
    "packages.example:80",
    "packages.example:0443",
    "packages.example:443:443",
    "packages.example",
    "packages.example..:443",
    "sub.packages.example:443",
    "packages.example.evil.example:443",
    "packages.example@evil.example:443",
    "evil.example@packages.example:443",
    "user:pass@packages.example:443",
    "packages.example%00.evil.example:443",
    "packages.example%2eevil.example:443",
    "evil.example#packages.example:443",
    "packages.example/:443",
    "https://packages.example:443",
    "127.0.0.1:443",
    "127.1:443",
    "2130706433:443",
    "0x7f000001:443",
    "0177.0.0.1:443",
    "169.254.169.254:443",
    "[::1]:443",
    "[::ffff:127.0.0.1]:443",
    "::1:443",
    "localhost:443",
    "xn--pckages-8wa.example:443",
    "api.vendor.example:443",
    ":443",
    "*:443",
]


def go(test: Callable[[], Awaitable[None]]) -> None:
    anyio.run(test)


def leads_to(port: int) -> Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]:
    async def resolve(_host: str, _port: int) -> Sequence[tuple[str, int]]:
        return [("127.0.0.1", port)]

    return resolve


def connect(target: str) -> bytes:
    return f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("latin-1")


@pytest.mark.parametrize(
    "target",
    ["packages.example:443", "PACKAGES.Example:443", "packages.example.:443", "api.vendor.example:8443"],
)
def test_an_allowed_host_is_connected_in_both_directions(target: str) -> None:
    async def test() -> None:
        async with api() as host, way(None, HOSTS, resolve=leads_to(host.port)) as out:
            answer = await out.call(connect(target) + b"GET / HTTP/1.1\r\n\r\n", to="proxy")

        assert answer.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nHTTP/1.1 200 OK")
        assert host.lines == ["GET / HTTP/1.1"]
        assert out.decisions == [EgressDecision("proxy", True, f"CONNECT {target}", 200)]

    go(test)


@pytest.mark.parametrize("target", REFUSED)
def test_other_hosts_and_spellings_are_refused(target: str) -> None:
    async def test() -> None:
        async with api() as host, way(None, HOSTS, resolve=leads_to(host.port)) as out:
            answer = await out.call(connect(target), to="proxy")

        assert status(answer) == 403
        assert host.heard == []
        assert [(one.allowed, one.what) for one in out.decisions] == [(False, f"CONNECT {target}")]

    go(test)


@pytest.mark.parametrize(
    ("raw", "answered"),
    [
        (b"GET http://packages.example/ HTTP/1.1\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: packages.example:443\r\n\r\n", 405),
        (b"POST packages.example:443 HTTP/1.1\r\n\r\n", 405),
        (b"CONNECT packages.example:443 HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", 400),
        (b"CONNECT packages.example:443 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"CONNECT packages.example\0.evil.example:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT packages.example :443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT packages.ex\xc3\xa4mple:443 HTTP/1.1\r\n\r\n", 400),
        (b"connect packages.example:443 HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT packages.example:443\r\n\r\n", 400),
        (b"CONNECT packages.example:443 HTTP/1.1\n\n\r\n\r\n", 400),
        (b"\x05\x01\x00\r\n\r\n", 400),
    ],
)
def test_only_connect_is_accepted(raw: bytes, answered: int) -> None:
    async def test() -> None:
        async with api() as host, way(None, HOSTS, resolve=leads_to(host.port)) as out:
            assert status(await out.call(raw, to="proxy")) == answered
        assert host.heard == []

    go(test)


def test_an_allowed_name_that_resolves_to_this_machine_is_refused() -> None:
    async def test() -> None:
        async with api() as host, way(None, (f"localhost:{host.port}",)) as out:
            answer = await out.call(connect(f"localhost:{host.port}"), to="proxy")

        assert status(answer) == 403
        assert b"resolves to an address that is not public" in answer
        assert host.heard == []

    go(test)


def test_unresolvable_and_unreachable_hosts_are_reported() -> None:
    async def nowhere(_host: str, _port: int) -> Sequence[tuple[str, int]]:
        return []

    async def test() -> None:
        async with api() as host:
            port = host.port
        async with (
            way(None, HOSTS, resolve=nowhere) as one,
            way(None, HOSTS, resolve=leads_to(port)) as other,
        ):
            assert status(await one.call(connect("packages.example:443"), to="proxy")) == 502
            assert status(await other.call(connect("packages.example:443"), to="proxy")) == 502

    go(test)


def test_the_end_of_one_direction_leaves_the_other_open() -> None:
    async def late(stream: SocketStream, heard: bytes) -> None:
        assert heard == b"that is all"
        await stream.send(b"and the answer")

    async def test(out: Way) -> bytes:
        async with await anyio.connect_unix(out.folder / "proxy.sock") as stream:
            await stream.send(connect("packages.example:443"))
            answer = await stream.receive()
            await stream.send(b"that is all")
            await stream.send_eof()
            try:
                while True:
                    answer += await stream.receive()
            except anyio.EndOfStream:
                return answer

    async def run() -> None:
        async with api(late) as host, way(None, HOSTS, resolve=leads_to(host.port)) as out:
            assert (await test(out)).endswith(b"and the answer")

    go(run)


@pytest.mark.parametrize(
    "entry",
    [
        "*.packages.example",
        "https://packages.example",
        "packages.example/path",
        "packages.example:0",
        "packages.example:65536",
        "packages.example:https",
        "10.0.0.1",
        "127.1",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "::1",
        "päckages.example",
        "",
        ".example",
        "a b.example",
        "user@packages.example",
        "packages.example\n",
    ],
)
def test_an_entry_that_is_not_a_host_name_is_refused(entry: str) -> None:
    with pytest.raises(ConfigurationError, match="is not a host name"):
        allowed_hosts((entry,))


def test_hosts_are_normalized_like_client_requests() -> None:
    assert allowed_hosts(("Packages.Example.", "a.example:8443", "localhost:1")) == {
        "packages.example:443",
        "a.example:8443",
        "localhost:1",
    }


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f:cb07:6820:80da:af6b:8b2c", True),
        ("64:ff9b::5db8:d70e", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("100.64.0.1", False),
        ("169.254.169.254", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("255.255.255.255", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fd00:ec2::254", False),
        ("ff02::1", False),
        ("::ffff:127.0.0.1", False),
        ("::ffff:169.254.169.254", False),
        ("64:ff9b::a9fe:a9fe", False),
        ("64:ff9b:1::a9fe:a9fe", False),
        ("2002:7f00:1::", False),
        ("::127.0.0.1", False),
        ("fec0::1", False),
        ("feff:ffff::1", False),
        ("192.0.0.1", False),
        ("192.0.0.9", False),
        ("192.0.0.170", False),
        ("192.0.2.1", False),
        ("192.31.196.1", False),
        ("192.52.193.1", False),
        ("192.88.99.1", False),
        ("192.175.48.1", False),
        ("198.18.0.1", False),
        ("198.19.255.255", False),
        ("198.51.100.1", False),
        ("203.0.113.1", False),
        ("240.0.0.1", False),
        ("3fff::1", False),
        ("3fff:fff:ffff::1", False),
        ("3ffe::1", False),
        ("100::1", False),
        ("100:0:0:1::1", False),
        ("2001::1", False),
        ("2001:0:5db8:d70e::", False),
        ("2001:1::1", False),
        ("2001:2::1", False),
        ("2001:20::1", False),
        ("2001:30::1", False),
        ("2001:db8::1", False),
        ("2002:5db8:d70e::1", False),
        ("2002:a9fe:a9fe::", False),
        ("2620:4f:8000::1", False),
        ("5f00::1", False),
        ("4000::1", False),
        ("::ffff:0:7f00:1", False),
        ("::ffff:192.88.99.1", False),
        ("::ffff:93.184.215.14", True),
        ("64:ff9b::c058:6301", False),
        ("2606:2800::5efe:a9fe:a9fe", False),
        ("2606:2800::200:5efe:a00:1", False),
        ("2001:200::1", True),
        ("2a00:1450:4001::1", True),
        ("192.0.1.1", True),
        ("192.88.98.1", True),
        ("198.20.0.1", True),
        ("localhost", False),
    ],
)
def test_only_internet_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public
