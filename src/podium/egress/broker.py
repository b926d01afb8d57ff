"""Calls one model API for a caller that does not have its key.

Each connection has one request: its head is checked and rewritten, its body is read and checked (server_tools.py), and
the response is passed on as it arrives, without the key (response.py). The connection to the API is then closed.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio import to_thread
from anyio.abc import ByteReceiveStream, ByteStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.core.types import Millis
from podium.egress.allowed_calls import Rule, check, rules
from podium.egress.request_body import InvalidBody
from podium.egress.request_head import (
    LINGER_S,
    PIECE,
    Head,
    HungUp,
    Refused,
    body_length,
    read_head,
    refuse,
)
from podium.egress.reset_time import reset_at
from podium.egress.response import InvalidResponse, pass_response, read_response_head
from podium.egress.server_tools import Inspected, NotAllowed, inspect
from podium.egress.tunnel import connect_proxy, open_tunnel
from podium.egress.user_proxy import UserProxy, proxy_for
from podium.fast_dataclass import dataclass
from podium.ports.clock import wall_clock
from podium.ports.sandbox import EgressDecision, OnDecision, Service, no_traffic
from podium.redaction.encodings import SHORTEST
from podium.redaction.mask import MASK, Mask

MOST_BODY: Final = 32 * 1024 * 1024
SMALL_BODY: Final = 256 * 1024
CONNECT_S: Final = 15.0
CALLER_GONE: Final = 499
"""The status of a call whose caller did not wait for the response."""

LIMITED: Final = frozenset({429, 503, 529})
"""Statuses whose responses may say when to call again."""

HOP: Final = frozenset(
    "connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings".split()
)
OURS: Final = frozenset({"host", "content-length", "expect", "accept-encoding", "content-encoding"})
NOT_PACKED: Final = ("Accept-Encoding", "identity")
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


class Upstream:
    """The API to call: its address, its headers with the key, and the allowed calls."""

    def __init__(self, service: Service, on_traffic: Callable[[], None] = no_traffic) -> None:
        self.on_traffic = on_traffic
        self._url = service.upstream
        parts = urlsplit(self._url)
        self.tls = parts.scheme == "https"
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if self.tls else 80)
        self.authority = parts.netloc.rpartition("@")[2]
        self.prefix = parts.path.rstrip("/")
        self.headers = tuple(service.headers.items())
        self.rules: tuple[Rule, ...] = rules(service.paths)
        self.server_tools = service.server_tools
        self.large_body = anyio.Lock()

    @cached_property
    def _trust(self) -> ssl.SSLContext:
        return ssl.create_default_context()

    @cached_property
    def mask(self) -> Mask:
        """Hides the key in responses, as it is sent and without the word before it."""
        own = [value for _, value in self.headers]
        if self.proxy is not None and self.proxy.authorization is not None:
            own.append(self.proxy.authorization)
        parts = {part for value in own for part in (value, value.rpartition(" ")[2])}
        return Mask(
            {part: part for part in parts if len(part.strip("*")) >= SHORTEST and MASK.decode() not in part}
        )

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

    def request(self, head: Head, body: bytes) -> bytes:
        """The rewritten request: without hop-by-hop headers, and with the key."""
        fields = [("Host", self.authority), *_forwarded_fields(head, self.headers), *self.headers, NOT_PACKED]
        length = len(body)
        if length or head.method not in ("GET", "HEAD"):
            fields.append(("Content-Length", str(length)))
        origin = ""
        if self.proxy is not None and not self.tls:
            # A plain HTTP request to a proxy needs the whole address; through a tunnel the proxy does not see it.
            origin = f"http://{self.authority}"
            if self.proxy.authorization is not None:
                fields.append(("Proxy-Authorization", self.proxy.authorization))
        lines = [f"{head.method} {origin}{self.prefix}{head.target} HTTP/1.1", "Connection: close"]
        text = "\r\n".join([*lines, *(f"{name}: {value}" for name, value in fields), "", ""])
        return text.encode("latin-1") + body


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
    method: str = ""
    status: int = CALLER_GONE
    reason: str = ""
    retry_at: Millis | None = None


async def broker(stream: SocketStream, upstream: Upstream, report: OnDecision) -> None:
    """Handle one connection of a caller."""
    reader, request_line, call = BufferedByteReceiveStream(stream), "", _Call()
    try:
        head = await read_head(reader)
        request_line, call.method = f"{head.method} {head.target.partition('?')[0][:200]}", head.method
        length = _checked(head, upstream)
        request = await _read_body(reader, length, upstream)
    except HungUp:
        return
    except Refused as refused:
        report(EgressDecision("broker", False, request_line, refused.status, refused.reason))
        await refuse(stream, reader, refused)
        return
    try:
        await _forward(stream, reader, upstream, upstream.request(head, request.body), call)
    finally:
        decision = EgressDecision("broker", True, request_line, call.status, call.reason, call.retry_at)
        report(replace(decision, removed=request.removed))
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
    if any(value.lower() != "identity" for value in head.values("content-encoding")):
        raise Refused(415, "a compressed body cannot be checked; send it as it is")
    return length


async def _read_body(reader: BufferedByteReceiveStream, length: int, upstream: Upstream) -> Inspected:
    """The body as it may be sent. Large ones one at a time, since the sandbox may open many connections."""
    if length <= SMALL_BODY:
        return _inspected(await _receive(reader, length), upstream.server_tools)
    async with upstream.large_body:
        body = await _receive(reader, length)
        return await to_thread.run_sync(_inspected, body, upstream.server_tools)


async def _receive(reader: BufferedByteReceiveStream, length: int) -> bytes:
    body = bytearray()
    try:
        while len(body) < length:
            body += await reader.receive(min(length - len(body), PIECE))
    except (anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise HungUp from error
    return bytes(body)


def _inspected(body: bytes, allowed: frozenset[str]) -> Inspected:
    if not body:
        return Inspected(body)
    try:
        return inspect(body, allowed)
    except InvalidBody as error:
        raise Refused(400, str(error)) from error
    except NotAllowed as error:
        # Not 403, which programs take for a key that was not accepted.
        raise Refused(400, f"this request is not sent: {error}") from error


async def _forward(
    stream: SocketStream,
    reader: BufferedByteReceiveStream,
    upstream: Upstream,
    request: bytes,
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
            if not await _send_request(reader, server, request):
                group.cancel_scope.cancel()
            sent.set()

        group.start_soon(ask)
        await _send_response(server, stream, upstream, call)
        if not call.reason:
            # Not by cancelling the task, because asyncio would then print an error if the caller hangs up at that moment.
            stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_RD)  # noqa: S610 - no Django here
            with anyio.move_on_after(LINGER_S):
                await sent.wait()
        group.cancel_scope.cancel()


async def _send_request(reader: ByteReceiveStream, server: ByteStream, request: bytes) -> bool:
    """Send the request, then wait until the caller hangs up; returns False if it has hung up."""
    # An API that stops reading may still respond.
    with suppress(anyio.BrokenResourceError):
        await server.send(request)
    try:
        while True:
            await reader.receive(PIECE)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return False


class _Noticed(ByteReceiveStream):
    """Reports every part that arrives: a caller that gets a response is not stuck, even if it prints nothing."""

    def __init__(self, stream: ByteStream, on_traffic: Callable[[], None]) -> None:
        self._stream = stream
        self._on_traffic = on_traffic

    async def receive(self, max_bytes: int = 65536) -> bytes:
        data = await self._stream.receive(max_bytes)
        self._on_traffic()
        return data

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _send_response(server: ByteStream, stream: ByteStream, upstream: Upstream, call: _Call) -> None:
    source = BufferedByteReceiveStream(_Noticed(server, upstream.on_traffic))
    try:
        head = await read_response_head(source)
        call.status = head.status
        if head.status in LIMITED:
            call.retry_at = reset_at(head.by_name(), wall_clock())
        # If either side hangs up during the response, the other sees that by itself.
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await pass_response(source, stream, head, upstream.mask, method=call.method)
    except InvalidResponse:
        call.status = 502
        call.reason = "the model API closed the connection or did not respond with HTTP/1.1 that can be read"
