"""Tampered CONNECT lines and requests: only what is listed gets out, whatever is said and however it is spelled."""

from __future__ import annotations

import re
from collections.abc import Sequence

import anyio
import pytest

from tests.egress.kit import KEY, api, service, status, way
from tests.security.egress.fuzz import COUNT, answered, each, tampered

pytestmark = [pytest.mark.security, pytest.mark.timeout(900)]

HOSTS = ("packages.example", "api.vendor.example:8443")
ALLOWED = {("packages.example", 443), ("api.vendor.example", 8443)}
LINES = tuple(
    f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\nProxy-Connection: keep-alive\r\n\r\n".encode()
    for host in ("packages.example:443", "api.vendor.example:8443", "Packages.Example.:443")
)
# What an independent reader would call a plain request for exactly one of the two.
PLAIN = re.compile(
    rb"CONNECT (packages\.example\.?:443|api\.vendor\.example\.?:8443) HTTP/1\.[01]", re.IGNORECASE
)

THEIRS = "sk-theirs-0815"
REQUESTS = (
    b"POST /v1/messages?beta=true HTTP/1.1\r\nHost: x\r\nx-api-key: sk-theirs-0815\r\nContent-Length: 2\r\n\r\n{}",
    b"POST /v1/messages HTTP/1.1\r\nAuthorization: Bearer sk-theirs-0815\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n",
    b"GET /v1/models/m-1 HTTP/1.1\r\nx-goog-api-key: sk-theirs-0815\r\nCookie: a=sk-theirs-0815\r\n\r\n",
    b"POST /v1/models/m-1:count HTTP/1.1\r\nX-Api-Key: sk-theirs-0815\r\nContent-Length: 3\r\n\r\nabc",
    b"POST /v1/files HTTP/1.1\r\nx-api-key: sk-theirs-0815\r\nContent-Length: 0\r\n\r\n",
    b"GET /v1/messages/batches HTTP/1.1\r\nx-api-key: sk-theirs-0815\r\n\r\n",
)
CALLS = re.compile(
    r"(POST /v1/messages(\?beta(=[\w.~:@,+%-]*)?(&beta(=[\w.~:@,+%-]*)?)*)?|GET /v1/models/[^/:%?#\s]+"
    r"|POST /v1/models/[^/:%?#\s]+:count) HTTP/1\.1"
)


@pytest.mark.req("R179")
def test_of_tampered_connect_lines_only_those_for_a_listed_host_connect() -> None:
    asked: list[tuple[str, int]] = []
    connected: list[bytes] = []

    async def test() -> None:
        async with api() as host:

            async def resolve(name: str, port: int) -> Sequence[tuple[str, int]]:
                asked.append((name, port))
                return [("127.0.0.1", host.port)]

            async with way(None, HOSTS, resolve=resolve) as out:

                async def do(raw: bytes) -> None:
                    answer = await answered(out.folder / "proxy.sock", raw + b"GET / HTTP/1.1\r\n\r\n")
                    if status(answer) == 200:
                        connected.append(raw)

                await each(tampered(4711, LINES), do)
            assert len(asked) == len(connected) == len([one for one in out.decisions if one.allowed])

    anyio.run(test)

    assert set(asked) == ALLOWED
    assert [raw for raw in connected if not PLAIN.fullmatch(raw.partition(b"\r\n")[0])] == []
    assert len(connected) >= COUNT // 10


@pytest.mark.req("R179", "R184")
def test_of_tampered_requests_only_listed_calls_reach_the_api_and_never_with_a_key_of_the_caller() -> None:
    answers: list[bytes] = []

    async def test() -> list[bytes]:
        async with api() as model, way(service(model.port)) as out:

            async def do(raw: bytes) -> None:
                answers.append(await answered(out.folder / "broker.sock", raw))

            await each(tampered(815, REQUESTS), do)
            return model.heard

    heard = anyio.run(test)
    heads = [raw.partition(b"\r\n\r\n")[0].decode("latin-1") for raw in heard]

    assert [head for head in heads if not CALLS.fullmatch(head.partition("\r\n")[0])] == []
    keys = re.compile(r"^x-api-key: (.*)$", re.IGNORECASE | re.MULTILINE)
    assert {tuple(value.strip() for value in keys.findall(head)) for head in heads} == {(KEY,)}
    # Under a name that tampering has made of it, it is no key any more.
    named = re.compile(
        rf"^(?:x[-_]api[-_]key|authorization|x[-_]goog[-_]api[-_]key|cookie):.*{THEIRS}",
        re.IGNORECASE | re.MULTILINE,
    )
    assert [head for head in heads if named.search(head)] == []
    # By their names: what tampering has put before or behind such a name means nothing to any server.
    coded, long = (
        re.compile(rf"^{name}\s*:", re.IGNORECASE | re.MULTILINE)
        for name in ("transfer-encoding", "content-length")
    )
    assert [head for head in heads if coded.search(head)] == []
    assert [head for head in heads if len(long.findall(head)) > 1] == []
    assert [answer for answer in answers if KEY.encode() in answer] == []
    assert len(heads) >= COUNT // 20
    assert {status(answer) for answer in answers} >= {200, 400, 403}
