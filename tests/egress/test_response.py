"""A response reaches the caller without the key, whatever the server repeats, and as complete as it was sent."""

from __future__ import annotations

import base64
import gzip
import zlib
from typing import Final
from urllib.parse import quote

import anyio
import h11
import pytest
from anyio.abc import SocketStream

from podium.egress.response import SMALL
from tests.egress.kit import KEY, api, post, service, status, way

RAW: Final = KEY.encode()
OK: Final = b"HTTP/1.1 200 OK\r\n"


def sized(body: bytes, *fields: bytes) -> bytes:
    return OK + b"".join((*fields, b"Content-Length: %d\r\n\r\n" % len(body), body))


def chunked(*pieces: bytes) -> bytes:
    framed = b"".join(b"%x;a=b\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return OK + b"Transfer-Encoding: chunked\r\n\r\n" + framed + b"0\r\nX-Trailer: " + RAW + b"\r\n\r\n"


ECHOES: Final = {
    "in the body": sized(b'{"error": "wrong key ' + RAW + b'"}'),
    "in a large body": sized(b"a" * SMALL + RAW + b"b" * SMALL),
    "in a header": OK + b"X-Key: " + RAW + b"\r\nContent-Length: 2\r\n\r\nok",
    "in the reason": b"HTTP/1.1 401 not " + RAW + b"\r\nContent-Length: 2\r\n\r\nok",
    "in the name of a header": OK + RAW + b": 1\r\nContent-Length: 2\r\n\r\nok",
    "in a continued header": OK + b"X-Key: a\r\n " + RAW + b"\r\nContent-Length: 2\r\n\r\nok",
    "in a cookie": OK + b"Set-Cookie: key=" + RAW[:9] + b"\r\nContent-Length: 2\r\n\r\nok",
    "in one chunk": chunked(b"event: x\n", RAW, b"\n"),
    "across chunks": chunked(b"a" + RAW[:7], RAW[7:15], RAW[15:] + b"z"),
    "byte by byte": chunked(*(RAW[at : at + 1] for at in range(len(RAW)))),
    "until the connection closes": OK + b"\r\n" + RAW,
    "in base64": sized(base64.b64encode(b"x-api-key: " + RAW)),
    "in wrapped base64": sized(base64.encodebytes(b"x-api-key and more and more: " * 2 + RAW)),
    "in a URL": sized(quote(KEY, safe="").encode()),
    "in hex": sized(RAW.hex().encode()),
    "packed": sized(gzip.compress(RAW + b" and more"), b"Content-Encoding: gzip\r\n"),
    "packed otherwise": sized(zlib.compress(RAW), b"Content-Encoding: deflate\r\n"),
}


async def _answer(response: bytes, *, method: bytes = b"POST") -> bytes:
    async def speak(stream: SocketStream, _: bytes) -> None:
        await stream.send(response)

    async with api(speak) as model, way(service(model.port)) as out:
        return await out.call(post().replace(b"POST", method, 1))


def body_of(answer: bytes) -> bytes:
    """The body as a client reads it; raises an error of the protocol if it is not complete."""
    client = h11.Connection(our_role=h11.CLIENT)
    client.send(h11.Request(method="POST", target="/", headers=[("Host", "a"), ("Content-Length", "0")]))
    client.send(h11.EndOfMessage())
    client.receive_data(answer)
    client.receive_data(b"")
    body = b""
    while not isinstance(event := client.next_event(), h11.EndOfMessage):
        assert event is not h11.NEED_DATA
        body += bytes(event.data) if isinstance(event, h11.Data) else b""
    return body


@pytest.mark.parametrize("case", ECHOES)
def test_a_key_that_the_server_repeats_does_not_reach_the_caller(case: str) -> None:
    answer = anyio.run(_answer, ECHOES[case])

    assert status(answer) in (200, 401)
    body = body_of(answer)
    packed = base64.b64encode(RAW)[:12], RAW.hex().encode()
    for shape in (RAW, RAW[9:], *packed):
        assert shape not in answer and shape not in body.replace(b"\n", b"")


def test_the_rest_of_the_response_is_unchanged() -> None:
    body = bytes(range(256)) * 3000

    for response in (sized(body), sized(body[:5000]), chunked(body[:9], body[9:]), OK + b"\r\n" + body):
        assert body_of(anyio.run(_answer, response)) in (body, body[:5000])


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Length: 10\r\n\r\nhalf",
        OK + b"Content-Length: %d\r\n\r\nhalf" % (SMALL + 1),
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nha",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhalf!\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf!\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhalf!\r\n0\r\n\r\n",
        OK + b"Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\nhalf",
    ],
)
def test_a_caller_sees_that_a_response_was_cut_off(response: bytes) -> None:
    answer = anyio.run(_answer, response)

    assert status(answer) == 200
    with pytest.raises(h11.RemoteProtocolError):
        body_of(answer)


@pytest.mark.parametrize(
    "response",
    [
        OK + b"Content-Encoding: br\r\nContent-Length: 2\r\n\r\nok",
        OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        OK + b"Content-Length: -1\r\n\r\nok",
        OK + b"Content-Length: many\r\n\r\nok",
    ],
)
def test_a_response_that_cannot_be_read_is_a_bad_gateway(response: bytes) -> None:
    assert status(anyio.run(_answer, response)) == 502


def test_a_response_without_a_body_has_none() -> None:
    answer = anyio.run(_answer, b"HTTP/1.1 204 No Content\r\n\r\n")

    assert status(answer) == 204 and answer.endswith(b"\r\n\r\n")
