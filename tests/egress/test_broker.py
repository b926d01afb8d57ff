"""The broker sends the caller's request with the user's key, and only allowed calls."""

from __future__ import annotations

import json
import stat
from collections.abc import Awaitable, Callable

import anyio
import pytest
from anyio.abc import SocketStream

from podium.egress.broker import CALLER_GONE, MOST_BODY
from podium.ports.sandbox import EgressDecision
from tests.egress.kit import ANSWER, KEY, api, post, service, status, way


def go(test: Callable[[], Awaitable[None]]) -> None:
    anyio.run(test)


@pytest.mark.req("R179", "R184")
def test_the_key_is_added_and_credentials_of_the_caller_are_dropped() -> None:
    async def test() -> None:
        headers = (
            "X-Api-Key: dummy-1\r\nx_api_key: dummy-2\r\nAuthorization: Bearer dummy-3\r\nX-Goog-Api-Key: dummy-4\r\n"
            "Cookie: dummy-5\r\nX-HTTP-Method-Override: DELETE\r\nX-Original-URL: /v1/files\r\n"
            "X-Forwarded-Host: evil.example\r\nanthropic-version: 2023-06-01\r\nUser-Agent: a client\r\n"
        )
        async with api() as model, way(service(model.port)) as out:
            answer = await out.call(post("/v1/messages?beta=true", b'{"a": 1}', headers))

        heard = model.heard[0].decode()
        head, _, body = heard.partition("\r\n\r\n")
        assert status(answer) == 200 and answer.endswith(b"\r\n\r\nok")
        assert head.startswith("POST /v1/messages?beta=true HTTP/1.1\r\n")
        assert head.lower().count("x-api-key:") == 1 and f"x-api-key: {KEY}" in head
        assert "dummy" not in heard and "evil" not in heard and "/v1/files" not in heard
        assert "anthropic-version: 2023-06-01" in head and "user-agent: a client" in head
        assert f"Host: 127.0.0.1:{model.port}" in head and "8081" not in head
        assert body == '{"a": 1}'
        assert KEY.encode() not in answer
        assert out.decisions == [EgressDecision("broker", True, "POST /v1/messages", 200)]

    go(test)


@pytest.mark.parametrize(
    "line",
    [
        "POST /v1/files",
        "GET /v1/messages",
        "DELETE /v1/messages",
        "POST /v1/messages/",
        "POST /v1/messages/batches",
        "POST /v1//messages",
        "POST //v1/messages",
        "POST /v1/../v1/messages",
        "POST /v1/./messages",
        "POST /v1/%6dessages",
        "POST /v1%2fmessages",
        "POST /v1/models/%2e%2e:count",
        "POST /v1/models/..:count/../x",
        "GET /v1/models/a/b",
        "GET /v1/models/..",
        "GET /v1/models/a%2f..%2f..%2ffiles",
        "POST /v1/models/a:delete:count",
        "POST /v1/messages?key=theirs",
        "POST /v1/messages?beta=true&key=theirs",
        "POST /v1/messages?b%65ta=true",
        "POST /v1/messages?beta=true;key=theirs",
        "POST /v1/messages#/v1/files",
        "POST /v1/messages\\..\\files",
        "POST http://127.0.0.1/v1/messages",
        "POST https://evil.example/v1/messages",
        "POST *",
        "POST v1/messages",
        "CONNECT api.example:443",
        "OPTIONS *",
        "TRACE /v1/messages",
    ],
)
@pytest.mark.req("R179")
def test_a_call_that_is_not_allowed_is_refused_with_a_reason(line: str) -> None:
    async def test() -> None:
        async with api() as model, way(service(model.port)) as out:
            answer = await out.call(f"{line} HTTP/1.1\r\nContent-Length: 0\r\n\r\n".encode())

        assert status(answer) == 403
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["message"].startswith("podium: ")
        assert model.heard == []
        assert [(one.allowed, one.status) for one in out.decisions] == [(False, 403)]
        assert "theirs" not in str(out.decisions)

    go(test)


GOOD = "POST /v1/messages HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("raw", "answered"),
    [
        (GOOD + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", 411),
        (GOOD + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 411),
        (GOOD + "Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}", 411),
        (GOOD + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400),
        (GOOD + "Content-Length: 2, 2\r\n\r\n{}", 400),
        (GOOD + "Content-Length: +2\r\n\r\n{}", 400),
        (GOOD + "Content-Length: 0x2\r\n\r\n{}", 400),
        (GOOD + "Content-Length: -1\r\n\r\n{}", 400),
        (GOOD + "Content-Length: \r\n\r\n{}", 400),
        (GOOD + f"Content-Length: {MOST_BODY + 1}\r\n\r\n", 413),
        (GOOD + "Content-Length : 2\r\n\r\n{}", 400),
        (GOOD + "X: 1\r\n folded: 2\r\n\r\n", 400),
        (GOOD + "X: 1\nContent-Length: 5\r\n\r\n", 400),
        (GOOD + "X: 1\rContent-Length: 5\r\n\r\n", 400),
        (GOOD + "X: a\0b\r\n\r\n", 400),
        (GOOD + ": nameless\r\n\r\n", 400),
        (GOOD + "no colon\r\n\r\n", 400),
        (GOOD + "X: 1\r\n" * 200 + "\r\n", 400),
        (GOOD + "X: " + "y" * 70_000 + "\r\n\r\n", 431),
        (GOOD + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\n", 417),
        ("POST /v1/messages HTTP/1.0\r\n\r\n", 505),
        ("POST /v1/messages HTTP/2.0\r\n\r\n", 400),
        ("POST /v1/messages\r\n\r\n", 400),
        ("POST  /v1/messages HTTP/1.1\r\n\r\n", 400),
        ("post /v1/messages HTTP/1.1\r\n\r\n", 400),
        ("POST /v1/messages HTTP/1.1 \r\n\r\n", 400),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        ("\r\nPOST /v1/messages HTTP/1.1\r\n\r\n", 400),
        ("\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
    ],
)
def test_an_ambiguous_request_is_refused(raw: str, answered: int) -> None:
    async def test() -> None:
        async with api() as model, way(service(model.port)) as out:
            answer = await out.call(raw.encode("latin-1"))

        assert status(answer) == answered
        assert model.heard == []

    go(test)


def test_bytes_after_a_request_are_never_a_second_request() -> None:
    async def test() -> None:
        hidden = b"POST /v1/files HTTP/1.1\r\nContent-Length: 0\r\n\r\n"
        async with api() as model, way(service(model.port)) as out:
            answer = await out.call(post() + hidden + post())

        assert answer.count(b"HTTP/1.1") == 1
        assert model.lines == ["POST /v1/messages HTTP/1.1"]
        assert b"files" not in model.heard[0]

    go(test)


def test_a_response_is_passed_on_while_it_arrives() -> None:
    """An event stream that arrived in one piece at the end would look like a hanging model."""

    async def test() -> None:
        heard_first = anyio.Event()
        parts: list[int] = []

        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
            await heard_first.wait()
            await stream.send(b"data: 2\n\n")

        async with (
            api(speak) as model,
            way(service(model.port), on_traffic=lambda: parts.append(1)) as out,
            await anyio.connect_unix(out.folder / "broker.sock") as stream,
        ):
            await stream.send(post())
            answer = b""
            while b"data: 1" not in answer:
                answer += await stream.receive()
            first = len(parts)
            heard_first.set()
            while b"data: 2" not in answer:
                answer += await stream.receive()

        assert 1 <= first < len(parts), "each part is a sign of life of the caller"
        assert b"Connection: close" in answer

    go(test)


def test_a_caller_that_hangs_up_ends_the_call() -> None:
    async def test() -> None:
        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.send(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                await stream.send(b"more and more ")

        async with api(speak) as model, way(service(model.port)) as out:
            async with await anyio.connect_unix(out.folder / "broker.sock") as stream:
                await stream.send(post())
                await stream.receive()
            with anyio.fail_after(60):
                await model.hung_up.wait()

    go(test)


def test_leaving_the_block_closes_all_connections() -> None:
    async def test() -> None:
        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.receive()

        async with api(speak) as model:
            async with way(service(model.port)) as out:
                stream = await anyio.connect_unix(out.folder / "broker.sock")
                await stream.send(post())
                while not model.heard:
                    await anyio.lowlevel.checkpoint()
            with pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)):
                await stream.receive()
            await stream.aclose()

        assert out.decisions == [EgressDecision("broker", True, "POST /v1/messages", CALLER_GONE)]

    go(test)


def test_a_redirect_is_passed_on_and_not_followed() -> None:
    async def test() -> None:
        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.send(b"HTTP/1.1 307 Moved\r\nLocation: /v1/files\r\nContent-Length: 0\r\n\r\n")

        async with api(speak) as model, way(service(model.port)) as out:
            answer = await out.call(post())

        assert status(answer) == 307
        assert len(model.heard) == 1

    go(test)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 20", b"nonsense\r\n\r\n", b"HTTP/1.1 100 Go on\r\n\r\n"])
def test_an_api_without_a_valid_response_is_reported(answer: bytes) -> None:
    async def test() -> None:
        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.send(answer)

        async with api(speak) as model, way(service(model.port)) as out:
            assert status(await out.call(post())) == 502
        assert out.decisions[0].allowed and out.decisions[0].status == 502

    go(test)


def test_an_unreachable_api_is_a_response_that_names_the_address() -> None:
    async def test() -> None:
        async with api() as model:
            port = model.port
        async with way(service(port)) as out:
            answer = await out.call(post())

        assert status(answer) == 502
        assert f"127.0.0.1:{port}" in answer.decode()

    go(test)


def test_interim_responses_are_dropped_and_the_path_prefix_is_added() -> None:
    async def test() -> None:
        async def speak(stream: SocketStream, _: bytes) -> None:
            await stream.send(b"HTTP/1.1 103 Early Hints\r\n\r\n" + ANSWER)

        async with api(speak) as model:
            upstream = f"http://127.0.0.1:{model.port}/team/a/"
            async with way(service(model.port, upstream=upstream)) as out:
                answer = await out.call(post())

        assert status(answer) == 200 and b"103" not in answer and b"Keep-Alive" not in answer
        assert model.lines == ["POST /team/a/v1/messages HTTP/1.1"]

    go(test)


def test_a_large_body_arrives_complete() -> None:
    async def test() -> None:
        body = (
            b'{"text": "' + bytes(range(0x20, 0x7B)).replace(b'"', b"").replace(b"\\", b"") * 60_000 + b'"}'
        )
        async with api() as model, way(service(model.port)) as out:
            assert status(await out.call(post(body=body))) == 200
        assert model.heard[0].partition(b"\r\n\r\n")[2] == body

    go(test)


def test_only_the_needed_sockets_exist_and_only_their_owner_can_connect() -> None:
    async def test() -> None:
        async with way(service(1), ("packages.example",)) as both, way() as none:
            assert sorted(path.name for path in both.folder.iterdir()) == ["broker.sock", "proxy.sock"]
            assert {stat.S_IMODE(path.stat().st_mode) for path in both.folder.iterdir()} == {0o600}
            assert list(none.folder.iterdir()) == []

    go(test)


def test_an_exception_in_the_block_is_raised_unchanged() -> None:
    async def test() -> None:
        async with way(service(1)):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        go(test)
