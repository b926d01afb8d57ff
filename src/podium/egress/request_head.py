"""Reads the head of an HTTP/1.1 request with a strict grammar without optional forms, and answers a refused request.

A head is parsed completely or refused, and the forwarded head is written from the parsed values, so that the server
cannot read another request in it than we did.
"""

from __future__ import annotations

import json
import re
from http import HTTPStatus
from typing import Final

import anyio
from anyio.abc import ByteStream
from anyio.streams.buffered import BufferedByteReceiveStream

from podium.fast_dataclass import dataclass

MOST_HEAD: Final = 64 * 1024
MOST_FIELDS: Final = 128
HEAD_S: Final = 30.0
END: Final = b"\r\n\r\n"
PIECE: Final = 64 * 1024
LINGER_S: Final = 2.0
"""How long a refused caller may go on sending before its stream is closed."""

_REQUEST: Final = re.compile(rb"([A-Z]{1,16}) ([!-~]{1,8192}) HTTP/1\.([01])")
# No space before the colon, no folded line, no control character: each has been used to smuggle a request.
# The value is stripped afterwards: a pattern for spaces on both sides of it takes quadratic time.
_FIELD: Final = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}):([\t -~\x80-\xff]*)")
_LENGTH: Final = re.compile(r"[0-9]{1,12}")


@dataclass(frozen=True, slots=True)
class Head:
    method: str
    target: str
    minor: int
    """The minor version of HTTP/1."""
    fields: tuple[tuple[str, str], ...]
    """Header fields with names in lower case."""

    def values(self, name: str) -> tuple[str, ...]:
        return tuple(value for field, value in self.fields if field == name)


class Refused(Exception):
    """The request is refused, with a status and a reason for the caller."""

    def __init__(self, status: int, reason: str, what: str = "") -> None:
        super().__init__(reason)
        self.status, self.reason, self.what = status, reason, what


class HungUp(Exception):
    """The caller hung up before it sent a complete request."""


async def read_head(stream: BufferedByteReceiveStream) -> Head:
    try:
        with anyio.fail_after(HEAD_S):
            raw = await stream.receive_until(END, MOST_HEAD)
    except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError) as error:
        raise HungUp from error
    except anyio.DelimiterNotFound as error:
        raise Refused(431, f"the head of the request has more than {MOST_HEAD} bytes") from error
    except TimeoutError as error:
        raise Refused(408, f"no complete request within {HEAD_S:g} s") from error
    return parse_head(raw)


def parse_head(raw: bytes) -> Head:
    """Parse a head; raises Refused for anything that two servers could read differently."""
    line, *lines = raw.split(b"\r\n")
    request = _REQUEST.fullmatch(line)
    if request is None:
        raise Refused(400, "the request line is not valid HTTP/1.1")
    fields = [_FIELD.fullmatch(line) for line in lines]
    if len(fields) > MOST_FIELDS or not all(fields):
        raise Refused(400, "a header field is not valid, or there are too many")
    return Head(
        method=request[1].decode("ascii"),
        target=request[2].decode("ascii"),
        minor=int(request[3]),
        fields=tuple(
            (field[1].decode("ascii").lower(), field[2].strip(b" \t").decode("latin-1"))
            for field in fields
            if field
        ),
    )


def body_length(head: Head) -> int:
    """The length of the body, only from Content-Length, because a second way to specify it could contradict it."""
    if head.values("transfer-encoding"):
        raise Refused(411, "a request needs a Content-Length; Transfer-Encoding is not supported")
    lengths = head.values("content-length")
    if len(lengths) > 1 or not all(_LENGTH.fullmatch(length) for length in lengths):
        raise Refused(400, "Content-Length must be one number and occur once")
    return int(lengths[0]) if lengths else 0


async def refuse(stream: ByteStream, reader: BufferedByteReceiveStream, refused: Refused) -> None:
    """Answer, then close the stream so that the answer arrives."""
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
