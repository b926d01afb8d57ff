"""Keeps those out of an HTTP server on this machine who do not have its key: pages in a browser and other users.

Rule 1: the Host header is one of ours, before anything else is looked at; else 421. A page of another site whose name
        was made to lead here sends its own name.
Rule 2: an Origin header, which only browsers send, is one of ours; else 403.
Rule 3: the key comes in the Authorization header, never in the address, which ends up in histories and logs; else 401.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from hmac import compare_digest
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

NAMES: Final = ("127.0.0.1", "localhost", "[::1]")
WORDS: Final = {
    401: b"the key of this server is missing or wrong: send it as Authorization: Bearer KEY\n",
    403: b"requests of other pages are refused\n",
    421: b"this server is not known by that name\n",
}


def new_key() -> str:
    """192 bits, for one start of the server."""
    return secrets.token_urlsafe(24)


class Guard:
    """An ASGI application that passes on only requests to one of our names, from nowhere else, with the key."""

    def __init__(self, app: ASGIApp, *, key: str, port: int, names: Iterable[str] = NAMES) -> None:
        self._app = app
        self._key = key.encode()
        self._hosts = frozenset(f"{name}:{port}" for name in names)
        self._origins = frozenset(f"http://{host}" for host in self._hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = self._refusal(scope)
        if status is None:
            await self._app(scope, receive, send)
            return
        text = WORDS[status]
        headers = [
            (b"content-type", b"text/plain; charset=utf-8"),
            (b"content-length", str(len(text)).encode()),
        ]
        if status == 401:
            headers.append((b"www-authenticate", b"Bearer"))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    def _refusal(self, scope: Scope) -> int | None:
        hosts, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 421
        if any(origin.decode("latin-1").lower() not in self._origins for origin in origins):
            return 403
        keys = _values(scope, b"authorization")
        kind, _, key = keys[0].partition(b" ") if len(keys) == 1 else (b"", b"", b"")
        return None if kind.lower() == b"bearer" and compare_digest(key, self._key) else 401


def _values(scope: dict[str, Any] | Scope, name: bytes) -> list[bytes]:
    return [value for key, value in scope["headers"] if key.lower() == name]
