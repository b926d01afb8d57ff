"""Answers a refused request, and closes the stream so that the answer arrives."""

from __future__ import annotations

import json
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.egress.request_head import PIECE, Refused

LINGER_S: Final = 2.0


async def refuse(stream: ByteStream, reader: BufferedByteReceiveStream, refused: Refused) -> None:
    await stream.send(_answer(refused))
    await stream.send_eof()
    # Closing a stream with unread data resets it, and the answer would be lost.
    with anyio.move_on_after(LINGER_S):
        while True:
            await reader.receive(PIECE)


def _answer(refused: Refused) -> bytes:
    body = json.dumps({"error": {"type": "podium_egress", "message": f"podium: {refused.reason}"}}).encode()
    head = (
        f"HTTP/1.1 {refused.status} {HTTPStatus(refused.status).phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
