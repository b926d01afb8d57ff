"""One request to a model's API, from a thread of its own; whoever waits can be cancelled, which hangs up."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from anyio import to_thread

CONNECT_S: Final = 10.0
MOST: Final = 32 * 1024 * 1024
"""Bytes of an answer that are read; no text of that size could be used."""
PIECE: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    """By names in small letters."""
    body: bytes = field(repr=False)


class Unreachable(Exception):
    """Nobody is there, or the address is none."""


class Silent(Exception):
    """It is there and says nothing any more."""


class BrokenOff(Exception):
    """The line was cut in the middle of the answer. `body` is what there is of it."""

    def __init__(self, message: str, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


async def post(
    url: str,
    value: Any,
    *,
    headers: Mapping[str, str] | None = None,
    silence_s: float | None = None,
) -> Answer:
    """Raises Unreachable, Silent, BrokenOff. Redirections are not followed: a key goes where the user said."""
    call = _Call(url, json.dumps(value).encode(), dict(headers or {}), silence_s)
    try:
        return await to_thread.run_sync(call.made, abandon_on_cancel=True)
    finally:
        call.hang_up()


class _Call:
    """Owns the connection, so that another thread can hang up."""

    def __init__(self, url: str, body: bytes, headers: dict[str, str], silence_s: float | None) -> None:
        self._url, self._body, self._headers, self._silence_s = url, body, headers, silence_s
        self._socket: socket.socket | None = None
        self._over = False

    def made(self) -> Answer:
        parts = urlsplit(self._url)
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=CONNECT_S)
        try:
            self._connect(connection)
            headers = {"Content-Type": "application/json", "Connection": "close", **self._headers}
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            return self._answer(connection, target, headers)
        finally:
            connection.close()

    def _connect(self, connection: http.client.HTTPConnection) -> None:
        try:
            connection.connect()
        except (OSError, ValueError) as error:
            raise Unreachable(str(error)) from error
        self._socket = connection.sock
        self._socket.settimeout(self._silence_s)
        if self._over:
            self.hang_up()

    def _answer(self, connection: http.client.HTTPConnection, target: str, headers: dict[str, str]) -> Answer:
        body = bytearray()
        try:
            connection.request("POST", target, self._body, headers)
            response = connection.getresponse()
            while piece := response.read1(PIECE):
                body += piece
                if len(body) > MOST:
                    raise BrokenOff(f"the answer has more than {MOST} bytes")
        except TimeoutError as error:
            raise Silent(f"nothing came for {self._silence_s:g} s") from error
        except (OSError, http.client.HTTPException) as error:
            raise BrokenOff(f"{type(error).__name__}: {error}", bytes(body)) from error
        told = {name.lower(): value for name, value in response.getheaders()}
        length = told.get("content-length", "")
        # A line that was cut looks like an end to `read1`.
        if length.isdecimal() and len(body) < int(length):
            raise BrokenOff(f"{len(body)} of {length} bytes came", bytes(body))
        return Answer(response.status, told, bytes(body))

    def hang_up(self) -> None:
        self._over = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
