"""Calls one model API on behalf of a caller that does not have its key.

Each connection carries one request: its head is checked and written anew, its body is counted, and what comes back is
passed on as it comes, so that a stream of events stays one. The connection to the API is closed with it.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Final
from urllib.parse import urlsplit

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketAttribute, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.allowed_calls import Rule, check, rules
from podium.egress.refusal import LINGER_S, refuse
from podium.egress.request_head import END, MOST_HEAD, PIECE, Head, HungUp, Refused, body_length, read_head
from podium.egress.tunnel import connect_proxy, open_tunnel
from podium.egress.user_proxy import UserProxy, proxy_for
from podium.ports.sandbox import EgressDecision, OnDecision, Service

MOST_BODY: Final = 64 * 1024 * 1024
CONNECT_S: Final = 15.0
GONE: Final = 499
"""The status of a call whose caller did not wait for the answer."""

HOP: Final = frozenset(
    "connection keep-alive proxy-connection te trailer transfer-encoding upgrade http2-settings".split()
)
OURS: Final = frozenset({"host", "content-length", "expect"})
KEYS: Final = frozenset(
    "authorization proxy-authorization cookie x-api-key api-key x-goog-api-key x-goog-user-project "
    "x-goog-iam-authorization-token x-goog-iam-authority-selector x-amz-security-token".split()
)
"""Whoever sends one wants to be somebody else than the user; they are dropped whatever API it is."""
DETOURS: Final = (
    "forwarded",
    "x-forwarded",
    "x-host",
    "x-http-method",
    "x-method-override",
    "x-original",
    "x-rewrite",
)
"""The beginnings of names by which some servers let themselves be told another path, method or host."""
_STATUS: Final = re.compile(rb"HTTP/1\.[01] ([1-5][0-9]{2})(?: [\t -~\x80-\xff]*)?")


class Upstream:
    """Where the calls go, and how they are made there."""

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
        """Raises OSError."""
        return proxy_for(self._url)

    async def connect(self) -> ByteStream:
        """Raises OSError, BrokenResourceError, EndOfStream."""
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
                # Half of the servers hang up without a word; that an answer is whole, its length or last chunk says.
                tls_standard_compatible=False,
            )

    def written(self, head: Head, length: int) -> bytes:
        """The request anew: what it says, without what is between two neighbours only, and with the key."""
        fields = [("Host", self.authority), *_passed(head, self.headers), *self.headers]
        if length or head.method not in ("GET", "HEAD"):
            fields.append(("Content-Length", str(length)))
        origin = ""
        if self.proxy is not None and not self.tls:
            # A proxy for plain HTTP is told the whole address; through a tunnel it sees none of this.
            origin = f"http://{self.authority}"
            if self.proxy.authorization is not None:
                fields.append(("Proxy-Authorization", self.proxy.authorization))
        lines = [f"{head.method} {origin}{self.prefix}{head.target} HTTP/1.1", "Connection: close"]
        return "\r\n".join([*lines, *(f"{name}: {value}" for name, value in fields), "", ""]).encode(
            "latin-1"
        )


def _passed(head: Head, own: tuple[tuple[str, str], ...]) -> Iterator[tuple[str, str]]:
    # Some servers read "_" as "-".
    named = {
        name.strip().lower().replace("_", "-")
        for value in head.values("connection")
        for name in value.split(",")
    }
    dropped = named | HOP | OURS | KEYS | {name.lower() for name, _ in own}
    for name, value in head.fields:
        read_as = name.replace("_", "-")
        if read_as not in dropped and not read_as.startswith(DETOURS):
            yield name, value


@dataclass(slots=True)
class _Call:
    status: int = GONE
    reason: str = ""


async def broker(stream: SocketStream, upstream: Upstream, tell: OnDecision) -> None:
    """One connection of a caller, from its beginning to its end."""
    rest, what, call = BufferedByteReceiveStream(stream), "", _Call()
    try:
        head = await read_head(rest)
        what = f"{head.method} {head.target.partition('?')[0][:200]}"
        length = _checked(head, upstream)
    except HungUp:
        return
    except Refused as refused:
        tell(EgressDecision("broker", False, what, refused.status, refused.reason))
        await refuse(stream, rest, refused)
        return
    try:
        await _carry(stream, rest, upstream, head, length, call)
    finally:
        tell(EgressDecision("broker", True, what, call.status, call.reason))
    if call.reason:
        await refuse(stream, rest, Refused(call.status, call.reason))


def _checked(head: Head, upstream: Upstream) -> int:
    """How long its body is."""
    if head.minor != 1:
        raise Refused(505, "only HTTP/1.1 is spoken here")
    check(head.method, head.target, upstream.rules)
    length = body_length(head)
    if length > MOST_BODY:
        raise Refused(413, f"a request has at most {MOST_BODY} bytes")
    if head.values("expect"):
        raise Refused(417, "nothing is promised before the whole request is there")
    return length


async def _carry(
    stream: SocketStream,
    rest: BufferedByteReceiveStream,
    upstream: Upstream,
    head: Head,
    length: int,
    call: _Call,
) -> None:
    """Fills in what became of it: a status without a reason has been passed on."""
    try:
        server = await upstream.connect()
    except (OSError, anyio.BrokenResourceError, anyio.EndOfStream) as error:
        why = str(error) or ("no answer in time" if isinstance(error, TimeoutError) else "it hung up")
        call.status, call.reason = 502, f"the model API at {upstream.authority} cannot be reached: {why}"
        return
    async with server, anyio.create_task_group() as group:
        asked = anyio.Event()

        async def ask() -> None:
            if not await _ask(rest, server, upstream.written(head, length), length):
                group.cancel_scope.cancel()
            asked.set()

        group.start_soon(ask)
        await _answer(server, stream, call)
        if not call.reason:
            # Not by cancelling it: asyncio complains about that on the terminal if the caller hangs up that moment.
            stream.extra(SocketAttribute.raw_socket).shutdown(socket.SHUT_RD)  # noqa: S610 - no Django here
            with anyio.move_on_after(LINGER_S):
                await asked.wait()
        group.cancel_scope.cancel()


async def _ask(rest: ByteReceiveStream, server: ByteStream, head: bytes, length: int) -> bool:
    """Sends the request, then waits for the caller to hang up. Whether it is still there."""
    try:
        await server.send(head)
        while length > 0:
            piece = await rest.receive(min(length, PIECE))
            await server.send(piece)
            length -= len(piece)
    except anyio.EndOfStream:
        return False
    except anyio.BrokenResourceError:
        # The API has heard enough; its answer may still be on the way.
        return True
    try:
        while True:
            await rest.receive(PIECE)
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return False


async def _answer(server: ByteStream, stream: ByteStream, call: _Call) -> None:
    source = BufferedByteReceiveStream(server)
    head, status = b"", 100
    try:
        while 100 <= status < 200:
            head = await source.receive_until(END, MOST_HEAD)
            status = _status(head)
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.DelimiterNotFound, anyio.BrokenResourceError):
        status = 0
    if not status:
        call.status, call.reason = 502, "the model API hung up, or did not answer in HTTP/1.1"
        return
    call.status = status
    # Whoever hangs up in the middle of an answer ends it; both ends see that by themselves.
    with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        await stream.send(_rewritten(head))
        while True:
            await stream.send(await source.receive(PIECE))


def _status(head: bytes) -> int:
    """0: this is no answer."""
    found = _STATUS.fullmatch(head.partition(b"\r\n")[0])
    return int(found[1]) if found else 0


def _rewritten(head: bytes) -> bytes:
    """The answer as it came; only how long a connection lasts is between neighbours."""
    first, *lines = head.split(b"\r\n")
    hop = (b"connection", b"keep-alive", b"alt-svc", b"upgrade")
    kept = [line for line in lines if line.partition(b":")[0].strip().lower() not in hop]
    return b"\r\n".join([first, b"Connection: close", *kept, b"", b""])
