"""An API that records its requests, and callers that send exactly the given bytes."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import SocketStream

from podium.egress.server import serving
from podium.ports.sandbox import EgressDecision, Service

KEY = "sk-real-key-of-the-user-4711"
PATHS = ("POST /v1/messages?beta", "GET /v1/models/*", "POST /v1/models/*:count")
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nKeep-Alive: timeout=5\r\n\r\nok"

Speak = Callable[[SocketStream, bytes], Awaitable[None]]


@dataclass
class Api:
    """The bytes received on each connection until the response."""

    port: int = 0
    heard: list[bytes] = field(default_factory=list)
    hung_up: anyio.Event = field(default_factory=anyio.Event)

    @property
    def lines(self) -> list[str]:
        return [raw.split(b"\r\n")[0].decode("latin-1") for raw in self.heard]


async def plainly(stream: SocketStream, _heard: bytes) -> None:
    await stream.send(ANSWER)


@asynccontextmanager
async def api(speak: Speak = plainly) -> AsyncIterator[Api]:
    """Listen on the loopback interface and respond to complete requests."""
    made = Api()

    async def attend(stream: SocketStream) -> None:
        async with stream:
            heard = await request(stream)
            made.heard.append(heard)
            try:
                await speak(stream, heard)
            except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
                made.hung_up.set()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        made.port = int(listener.extra(anyio.abc.SocketAttribute.local_port))
        group.start_soon(listener.serve, attend)
        yield made
        group.cancel_scope.cancel()


async def request(stream: SocketStream) -> bytes:
    """Read one request like a simple server: a head and as many bytes as it declares."""
    heard = b""
    try:
        while b"\r\n\r\n" not in heard:
            heard += await stream.receive()
        head, _, body = heard.partition(b"\r\n\r\n")
        length = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        while length and len(body) < int(length[0].partition(b":")[2]):
            piece = await stream.receive()
            heard, body = heard + piece, body + piece
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        pass
    return heard


def service(port: int, **more: Any) -> Service:
    given = {"upstream": f"http://127.0.0.1:{port}", "paths": PATHS, "headers": {"x-api-key": KEY}, **more}
    return Service(**given)


@contextmanager
def short_folder() -> Iterator[Path]:
    """A short path, because the kernel allows 107 bytes for the path of a socket."""
    with tempfile.TemporaryDirectory(prefix="podium-egress-", dir="/tmp") as name:
        yield Path(name)


@dataclass
class Way:
    """A served folder and the recorded decisions."""

    folder: Path
    decisions: list[EgressDecision] = field(default_factory=list)

    async def call(self, raw: bytes, *, to: str = "broker") -> bytes:
        return await said(self.folder / f"{to}.sock", raw)


@asynccontextmanager
async def way(service: Service | None = None, hosts: tuple[str, ...] = (), **more: Any) -> AsyncIterator[Way]:
    with short_folder() as folder:
        made = Way(folder)
        async with serving(folder, service, hosts, on_decision=made.decisions.append, **more):
            yield made


async def said(path: Path, raw: bytes) -> bytes:
    """The whole response to these bytes, until the peer hangs up."""
    answer = b""
    async with await anyio.connect_unix(path) as stream:
        try:
            await stream.send(raw)
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer


def post(path: str = "/v1/messages", body: bytes = b"{}", headers: str = "") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:8081\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode("latin-1") + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0
