"""Connects a caller to its allowed hosts: only CONNECT, with an exact name and port."""

from __future__ import annotations

from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.hosts import NotPublic, Resolve
from podium.egress.request_head import PIECE, Head, HungUp, Refused, read_head, refuse
from podium.ports.sandbox import EgressDecision, OnDecision

CONNECT_S: Final = 15.0
ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def proxy(stream: ByteStream, allowed: frozenset[str], resolve: Resolve, report: OnDecision) -> None:
    """Handle one connection of a caller."""
    reader = BufferedByteReceiveStream(stream)
    request_line = ""
    try:
        head = await read_head(reader)
        request_line = f"{head.method} {head.target[:200]}"
        server = await _connect(_check_target(head, allowed), resolve)
    except HungUp:
        return
    except Refused as refused:
        report(EgressDecision("proxy", refused.status == 502, request_line, refused.status, refused.reason))
        await refuse(stream, reader, refused)
        return
    report(EgressDecision("proxy", True, request_line, 200))
    async with server, anyio.create_task_group() as group:
        await stream.send(ESTABLISHED)
        group.start_soon(_copy, reader, server)
        group.start_soon(_copy, server, stream)


def _check_target(head: Head, allowed: frozenset[str]) -> tuple[str, int]:
    if head.method != "CONNECT":
        raise Refused(405, "only CONNECT is supported; use https")
    if head.values("content-length") or head.values("transfer-encoding"):
        raise Refused(400, "a CONNECT request must not have a body")
    host, _, port = head.target.lower().rpartition(":")
    requested = f"{host.removesuffix('.')}:{port}"
    if requested not in allowed:
        raise Refused(403, f"{requested[:200]} is not in the network list of this step")
    return requested.rpartition(":")[0], int(port)


async def _connect(target: tuple[str, int], resolve: Resolve) -> SocketStream:
    host, port = target
    try:
        with anyio.fail_after(CONNECT_S):
            last: OSError | None = None
            for address, number in await resolve(host, port):
                try:
                    return await anyio.connect_tcp(address, number)
                except OSError as error:
                    last = error
            raise last or OSError("it has no address")
    except NotPublic as error:
        raise Refused(403, str(error)) from error
    except (OSError, TimeoutError) as error:
        raise Refused(
            502, f"{host} cannot be reached: {str(error) or 'it did not answer in time'}"
        ) from error


async def _copy(source: ByteReceiveStream, sink: ByteStream) -> None:
    """Copy until the end, then close only this direction, because the other may still have data."""
    try:
        while True:
            await sink.send(await source.receive(PIECE))
    except anyio.EndOfStream:
        await sink.send_eof()
