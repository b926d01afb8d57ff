"""Connects a caller to the hosts that were named for it: CONNECT, exact name and port, and nothing else."""

from __future__ import annotations

from typing import Final

import anyio
from anyio.abc import ByteReceiveStream, ByteStream, SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.hosts import NotPublic, Resolve
from podium.egress.refusal import refuse
from podium.egress.request_head import PIECE, Head, HungUp, Refused, read_head
from podium.ports.sandbox import EgressDecision, OnDecision

CONNECT_S: Final = 15.0
ESTABLISHED: Final = b"HTTP/1.1 200 Connection established\r\n\r\n"


async def proxy(stream: ByteStream, allowed: frozenset[str], resolve: Resolve, tell: OnDecision) -> None:
    """One connection of a caller, from its beginning to its end."""
    rest = BufferedByteReceiveStream(stream)
    what = ""
    try:
        head = await read_head(rest)
        what = f"{head.method} {head.target[:200]}"
        server = await _connected(_checked(head, allowed), resolve)
    except HungUp:
        return
    except Refused as refused:
        tell(EgressDecision("proxy", refused.status == 502, what, refused.status, refused.reason))
        await refuse(stream, rest, refused)
        return
    tell(EgressDecision("proxy", True, what, 200))
    async with server, anyio.create_task_group() as group:
        await stream.send(ESTABLISHED)
        group.start_soon(_pump, rest, server)
        group.start_soon(_pump, server, stream)


def _checked(head: Head, allowed: frozenset[str]) -> tuple[str, int]:
    if head.method != "CONNECT":
        raise Refused(405, "nothing but CONNECT is done here; use https")
    if head.values("content-length") or head.values("transfer-encoding"):
        raise Refused(400, "CONNECT has no body")
    host, _, port = head.target.lower().rpartition(":")
    asked = f"{host.removesuffix('.')}:{port}"
    if asked not in allowed:
        raise Refused(403, f"{asked[:200]} is not in the network list of this step")
    return asked.rpartition(":")[0], int(port)


async def _connected(asked: tuple[str, int], resolve: Resolve) -> SocketStream:
    host, port = asked
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


async def _pump(source: ByteReceiveStream, sink: ByteStream) -> None:
    """Until its end, which is passed on: the other direction may still have something to say."""
    try:
        while True:
            await sink.send(await source.receive(PIECE))
    except anyio.EndOfStream:
        await sink.send_eof()
