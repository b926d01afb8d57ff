"""Lines and requests that were good before somebody tampered with them; the same ones for the same seed."""

from __future__ import annotations

import os
import random
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio

COUNT = 10_000 if os.environ.get("PODIUM_FULL") else 1_000
AT_ONCE = 24

BYTES = (
    *(b"\0", b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\t", b" ", b"  ", b"\x0b", b"\x7f", b"\x80", b"\xff"),
    *(
        b"%00",
        b"%0d%0a",
        b"%2e",
        b"%2f",
        b"%25",
        b"..",
        b"/../",
        b"//",
        b"/./",
        b"\\",
        b";",
        b"?",
        b"#",
        b"@",
        b":",
    ),
    *(
        b"*",
        b",",
        b"|",
        b"'",
        b'"',
        b"[",
        b"]",
        b"::1",
        b"127.0.0.1",
        b"0x7f.1",
        b"localhost",
        b"evil.example",
    ),
    *(
        b"HTTP/1.0",
        b"HTTP/1.1",
        b"HTTP/2.0",
        b"GET",
        b"CONNECT",
        b"POST",
        b"443",
        b":80",
        b":0",
        b"65536",
        b"\xc3\xa9",
    ),
    *(b"Content-Length: 7\r\n", b"Transfer-Encoding: chunked\r\n", b"X-HTTP-Method-Override: DELETE\r\n"),
    *(b"GET /v1/files HTTP/1.1\r\n\r\n", b"xn--", b".", b"-", b"_", b"+", b"0"),
)


def tampered(seed: int, good: tuple[bytes, ...], count: int = COUNT) -> Iterator[bytes]:
    """Every tenth is left as it is, so that what is allowed is seen to pass as well."""
    chance = random.Random(seed)
    for number in range(count):
        raw = chance.choice(good)
        for _ in range(0 if number % 10 == 0 else chance.randint(1, 4)):
            raw = _once(chance, raw)
        yield raw


def _once(chance: random.Random, raw: bytes) -> bytes:
    # Half of the time where it matters: in the first line.
    line = raw.find(b"\r\n")
    end = line if line > 0 and chance.random() < 0.5 else len(raw)
    at = chance.randint(0, end)
    to = min(len(raw), at + chance.randint(0, 6))
    match chance.randrange(5):
        case 0:
            return raw[:at] + chance.choice(BYTES) + raw[at:]
        case 1:
            return raw[:at] + chance.choice(BYTES) + raw[to:]
        case 2:
            return raw[:at] + raw[to:]
        case 3:
            return raw[:at] + raw[at:to].swapcase() + raw[to:]
        case _:
            return raw[:at] + raw[at:to] * 2 + raw[to:]


async def each(values: Iterator[bytes], do: Callable[[bytes], Awaitable[None]]) -> None:
    """All of them, some at once."""
    free = anyio.Semaphore(AT_ONCE)

    async def one(value: bytes) -> None:
        async with free:
            await do(value)

    async with anyio.create_task_group() as group:
        for value in values:
            group.start_soon(one, value)


async def answered(path: Path, raw: bytes) -> bytes:
    """What is answered to a caller that says no more than this; one that is cut off does not wait for ever."""
    answer = b""
    async with await anyio.connect_unix(path) as stream:
        try:
            await stream.send(raw)
            with anyio.move_on_after(0.5):
                answer += await stream.receive()
            await stream.send_eof()
            while True:
                answer += await stream.receive()
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            return answer
