"""How a request that is not let through is answered, and how a stream is left so that the answer arrives."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.request_head import PIECE, Refused

LINGER_S: Final = 2.0


async def refuse(stream: ByteStream, rest: BufferedByteReceiveStream, refused: Refused) -> None:
    await stream.send(_answer(refused))
    await stream.send_eof()
    # A stream that is closed with something unread in it is reset, and the answer is lost with it.
    with anyio.move_on_after(LINGER_S):
        while True:
            await rest.receive(PIECE)


def _answer(refused: Refused) -> bytes:
    body = json.dumps({"error": {"type": "podium_egress", "message": f"podium: {refused.reason}"}}).encode()
    head = (
        f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
