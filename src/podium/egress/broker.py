"""Calls one model API for a caller that does not have its key.

Each connection has one request: its head is checked and rewritten, its body is counted, and the response is passed on
as it arrives, so that event streams work. The connection to the API is then closed.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.core.fast_dataclass import dataclass
from podium.core.types import Millis
from podium.egress.allowed_calls import Rule, check, rules
from podium.egress.request_head import (
    END,
    LINGER_S,
    MOST_HEAD,
    PIECE,
    Head,
    HungUp,
    Refused,
    body_length,
    read_head,
    refuse,
)
from podium.egress.reset_time import reset_at
from podium.egress.tunnel import connect_proxy, open_tunnel
from podium.egress.user_proxy import UserProxy, proxy_for
from podium.ports.clock import wall_clock
from podium.ports.sandbox import EgressDecision, OnDecision, Service

MOST_BODY: Final = 64 * 1024 * 1024
CONNECT_S: Final = 15.0
CALLER_GONE: Final = 499
"""The status of a call whose caller did not wait for the response."""

LIMITED: Final = frozenset({429, 503, 529})
"""Statuses whose responses may say when to call again."""

HOP: Final = frozenset(
    "connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings".split()
)
OURS: Final = frozenset({"host", "content-length", "expect"})
KEYS: Final = frozenset(
    "authorization proxy-authorization cookie x-api-key api-key x-goog-api-key x-goog-user-project "
    "x-goog-iam-authorization-token x-goog-iam-authority-selector x-amz-security-token".split()
)
"""Headers with credentials; dropped for every API, because only the user's key may be used."""
DETOURS: Final = (
    "forwarded",
    "x-forwarded",
    "x-host",
    "x-http-method",
    "x-method-override",
    "x-original",
    "x-rewrite",
)
"""Prefixes of headers by which some servers accept another path, method or host."""
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\t -~\x80-\xff]*)?")


class Upstream:
    """The API to call: its address, its headers with the key, and the allowed calls."""

    def __init__(self, service: Service) -> None:
        self._url = service.upstream
        parts = urlsplit(self._url)
        self.tls = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.tls else 80)
        self.authority = parts.netloc.rpartition("@")[2]
        self.prefix = parts.path.rstrip("/")
        self.headers = tuple(service.headers.items())
        self.rules: tuple[Rule, ...] = rules(service.paths)

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @cached_property
    def proxy(self) -> UserProxy | None:
        """The user's proxy for this API, if any; raises OSError."""
        return proxy_for(self._url)

    async def connect(self) -> ByteStream:
        """Connect to the API; raises OSError, BrokenResourceError or EndOfStream."""
        with anyio.fail_after(CONNECT_S):
            if self.proxy is not None:
                if self.tls:
                    return await open_tunnel(self.proxy, self.host, self.port, self._trust)
                return await connect_proxy(self.proxy, self._trust)
            if not self.tls:
                return await anyio.connect_tcp(self.host, self.port)
            return await anyio.connect_tcp(
                self.host,
                self.port,
                ssl_context=self._trust,
                tls_hostname=self.host,
                # Many servers close without a TLS goodbye; the length or the last chunk shows that a response is complete.
                tls_standard_compatible=False,
            )

    def request_head(self, head: Head, length: int) -> bytes:
        """The rewritten request: without hop-by-hop headers, and with the key."""
        fields = [("Host", self.authority), *_forwarded_fields(head, self.headers), *self.headers]
        if length or head.method not in ("GET", "HEAD"):
            fields.append(("Content-Length", str(length)))
        origin = ""
        if self.proxy is not None and not self.tls:
            # A plain HTTP request to a proxy needs the whole address; through a tunnel the proxy does not see it.
            origin = f"http://{self.authority}"
            if self.proxy.authorization is not None:
                fields.append(("Proxy-Authorization", self.proxy.authorization))
        lines = [f"{head.method} {origin}{self.prefix}{head.target} HTTP/1.1", "Connection: close"]
        return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in fields), "", ""]).encode(
            "latin-1"
        )


def _forwarded_fields(head: Head, own: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    # Some servers treat "_" like "-".
    connection_names = {
        name.strip().lower().replace("_", "-")
        for value in head.values("connection")
        for name in value.split(",")
    }
    excluded = connection_names | HOP | OURS | KEYS | {name.lower() for name, _ in own}
    for name, value in head.fields:
        normalized = name.replace("_", "-")
        if normalized not in excluded and not normalized.startswith(DETOURS):
            yield name, value


@dataclass(slots=True)
class _Call:
    status: int = CALLER_GONE
    reason: str = ""
    retry_at: Millis | None = None


async def broker(stream: SocketStream, upstream: Upstream, report: OnDecision) -> None:
    """Handle one connection of a caller."""
    reader, request_line, call = BufferedByteReceiveStream(stream), "", _Call()
    try:
        head = await read_head(reader)
        request_line = f"{head.method} {head.target.partition('?')[0][:200]}"
        length = _checked(head, upstream)
    except HungUp:
        return
    except Refused as refused:
        report(EgressDecision("broker", False, request_line, refused.status, refused.reason))
        await refuse(stream, reader, refused)
        return
    try:
        await _forward(stream, reader, upstream, head, length, call)
    finally:
        report(EgressDecision("broker", True, request_line, call.status, call.reason, call.retry_at))
    if call.reason:
        await refuse(stream, reader, Refused(call.status, call.reason))


def _checked(head: Head, upstream: Upstream) -> int:
    """Check the request and return the length of its body."""
    if head.minor != 1:
        raise Refused(505, "only HTTP/1.1 is supported")
    check(head.method, head.target, upstream.rules)
    length = body_length(head)
    if length > MOST_BODY:
        raise Refused(413, f"the request body has more than {MOST_BODY} bytes")
    if head.values("expect"):
        raise Refused(417, "the Expect header is not supported")
    return length


async def _forward(
    stream: SocketStream,
    reader: BufferedByteReceiveStream,
    upstream: Upstream,
    head: Head,
    length: int,
    call: _Call,
) -> None:
    """Forward the request and the response, and record the result in `call`: a status without a reason was passed on."""
    try:
        server = await upstream.connect()
    except (OSError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        why = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else "it hung up")
        call.status, call.reason = 502, f"the model API at {upstream.authority} cannot be reached: {why}"
        return
    async with server, anyio.create_task_group() as group:
        sent = anyio.Event()

        async def ask() -> None:
            if not await _send_request(reader, server, upstream.request_head(head, length), length):
                group.cancel_scope.cancel()
            sent.set()

        group.start_soon(ask)
        await _send_response(server, stream, call)
        if not call.reason:
            # Not by cancelling the task, because asyncio would then print an error if the caller hangs up at that moment.
            stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_RD)  # noqa: S610 - no Django here
            with anyio.move_on_after(LINGER_S):
                await sent.wait()
        group.cancel_scope.cancel()


async def _send_request(reader: ByteReceiveStream, server: ByteStream, head: bytes, length: int) -> bool:
    """Send the request, then wait until the caller hangs up; returns False if it has hung up."""
    try:
        await server.send(head)
        while length > 0:
            piece = await reader.receive(min(length, PIECE))
            await server.send(piece)
            length -= len(piece)
    except anyio.EndOfStream:
        return False
    except anyio.BrokenResourceError:
        # The API stopped reading; its response may still arrive.
        return True
    try:
        while True:
            await reader.receive(PIECE)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return False


async def _send_response(server: ByteStream, stream: ByteStream, call: _Call) -> None:
    source = BufferedByteReceiveStream(server)
    head, status = b"", 100
    try:
        while 100 <= status < 200:
            head = await source.receive_until(END, MOST_HEAD)
            status = _status(head)
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.DelimiterNotFound, anyio.BrokenResourceError):
        status = 0
    if not status:
        call.status, call.reason = 502, "the model API closed the connection or did not respond with HTTP/1.1"
        return
    call.status = status
    if status in LIMITED:
        call.retry_at = reset_at(_fields(head), wall_clock())
    # If either side hangs up during the response, the other sees that by itself.
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        await stream.send(_response_head(head))
        while True:
            await stream.send(await source.receive(PIECE))


def _status(head: bytes) -> int:
    """The status of a response; 0 if it is not a valid response."""
    match = _STATUS.fullmatch(head.partition(b"\r\n")[0])
    return int(match[1]) if match else 0


def _fields(head: bytes) -> dict[str, str]:
    """The headers of a response by name in lower case."""
    pairs = (line.decode("latin-1").partition(":") for line in head.split(b"\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def _response_head(head: bytes) -> bytes:
    """The head of the response without hop-by-hop headers."""
    first, *lines = head.split(b"\r\n")
    hop = (b"connection", b"keep-alive", b"alt-svc", b"upgrade")
    forwarded = [line for line in lines if line.partition(b":")[0].strip().lower() not in hop]
    return b"\r\n".join([first, b"Connection: close", *forwarded, b"", b""])
