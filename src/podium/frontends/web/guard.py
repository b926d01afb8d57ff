"""Checks everything before the server answers: host, origin, key and sizes, and the headers of every answer.

Other parts that answer HTTP (webhooks, MCP, metrics) are mounted behind it and say in `Mount` how their callers are known.
Rule 1: the host is checked before anything else, also for streams and unknown paths; so no name can be rebound to us.
Rule 2: whatever changes something is a POST from a page of ours. A GET changes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from typing import Any, Final, NamedTuple, TypeAlias

from starlette.exceptions import HTTPException

from podium.frontends.web.access import MOST_NAME, PERSON, Proxy
from podium.frontends.web.session import Session

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

MOST_BODY: Final = 64 * 1024
MOST_HEADERS: Final = 16 * 1024
SAFE: Final = ("GET", "HEAD")
OPEN_PATHS: Final = ("/login", "/static/")
"""What the log-in page needs; static files say nothing about runs."""
OWN_PATHS: Final = ("/settings/passkeys",)
"""What concerns the machine of the server, and nobody who comes through a proxy."""
THEME_PATH: Final = "/settings/theme"
"""Only sets a cookie of the browser that asks."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
FILE_POLICY: Final = "default-src 'none'; sandbox"
"""For files of runs, which agents have written."""
HEADERS: Final = (
    (b"x-content-type-options", b"nosniff"),
    # With no-referrer, browsers send `Origin: null` with the forms of a page, which is refused below.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
    (b"x-frame-options", b"DENY"),
)


class Mount(NamedTuple):
    """Paths that know their callers in another way than by our cookie, such as by a signature."""

    prefix: str
    most_body: int


class Guard:
    def __init__(
        self,
        app: App,
        session: Session,
        hosts: Iterable[str],
        mounts: Iterable[Mount] = (),
        proxy: Proxy | None = None,
    ) -> None:
        """`hosts` are our names without the port; with a proxy, only its public name is ours."""
        self._app = app
        self._session = session
        self._proxy = proxy
        self._names = frozenset(hosts)
        self._hosts = frozenset(f"{host}:{session.port}" for host in self._names)
        self._mounts = tuple(mounts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        answer = _with_headers(send)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(answer, scope, headers, *refusal)
            return
        mount = self._mount(scope["path"])
        limited = _Limited(receive, MOST_BODY if mount is None else mount.most_body)
        if _length(headers) > limited.most:
            await _refuse(
                answer, scope, headers, HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large"
            )
            return
        await self._app(scope, limited, answer)

    def _refusal(self, scope: Scope, headers: dict[str, list[str]]) -> tuple[HTTPStatus, str] | None:
        hosts = headers.get("host", [])
        if len(hosts) != 1 or not self._is_our_host(hosts[0].lower()):
            return HTTPStatus.MISDIRECTED_REQUEST, "this server does not answer for that host"
        if sum(len(name) + len(value) for name, value in scope["headers"]) > MOST_HEADERS:
            return HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the headers are too large"
        if self._mount(scope["path"]) is not None:
            return None
        if self._proxy is not None:
            return self._refusal_behind(self._proxy, scope, headers)
        has_bearer = self._has_bearer(headers)
        if scope["method"] not in SAFE and not has_bearer and not self._is_ours(headers):
            return HTTPStatus.FORBIDDEN, "only a page of this server may do that"
        is_open = scope["path"] == OPEN_PATHS[0] or scope["path"].startswith(OPEN_PATHS[1])
        if not (is_open or has_bearer or self._has_cookie(headers)):
            return HTTPStatus.UNAUTHORIZED, "open the address that podium printed"
        return None

    def _refusal_behind(
        self, proxy: Proxy, scope: Scope, headers: dict[str, list[str]]
    ) -> tuple[HTTPStatus, str] | None:
        """The proxy has asked who it is; nobody else can open this socket."""
        names = [name.strip() for name in headers.get(proxy.header, [])]
        if len(names) != 1 or not 0 < len(names[0]) <= MOST_NAME or not names[0].isprintable():
            return HTTPStatus.UNAUTHORIZED, f"the proxy must name one person in {proxy.header}"
        scope[PERSON] = names[0]
        if scope["method"] in SAFE:
            return None
        if not self._is_ours(headers):
            return HTTPStatus.FORBIDDEN, "only a page of this server may do that"
        if scope["path"].startswith(OWN_PATHS):
            return HTTPStatus.FORBIDDEN, "passkeys belong to the machine of the server"
        if scope["path"] != THEME_PATH and not proxy.may_decide(names[0]):
            return (
                HTTPStatus.FORBIDDEN,
                f"{names[0]} is not in `people` of the configuration, and may only look",
            )
        return None

    def _is_our_host(self, host: str) -> bool:
        if self._proxy is not None:
            return host == self._proxy.host
        if self._session.port:
            return host in self._hosts
        # A socket has no port: whoever forwards one to it chooses the number.
        name, _, port = host.rpartition(":")
        return (name if port.isdecimal() else host) in self._names

    def _is_ours(self, headers: dict[str, list[str]]) -> bool:
        origins, sites = headers.get("origin", []), headers.get("sec-fetch-site", [])
        if self._proxy is not None:
            own = frozenset({self._proxy.origin})
        elif self._session.port:
            own = frozenset(f"http://{host}" for host in self._hosts)
        else:
            own = frozenset({f"http://{headers['host'][0].lower()}"})
        return len(origins) == 1 and origins[0] in own and sites in ([], ["same-origin"])

    def _has_bearer(self, headers: dict[str, list[str]]) -> bool:
        values = headers.get("authorization", [])
        return (
            len(values) == 1
            and values[0].startswith("Bearer ")
            and self._session.is_key(values[0].removeprefix("Bearer "))
        )

    def _has_cookie(self, headers: dict[str, list[str]]) -> bool:
        for value in headers.get("cookie", []):
            try:
                cookies = SimpleCookie(value)
            except CookieError:
                continue
            if self._session.cookie in cookies and self._session.is_cookie(
                cookies[self._session.cookie].value
            ):
                return True
        return False

    def _mount(self, path: str) -> Mount | None:
        return next((mount for mount in self._mounts if path.startswith(mount.prefix)), None)


class _Limited:
    """Reads a body of at most so many bytes, whatever its header claims."""

    def __init__(self, receive: Receive, most: int) -> None:
        self._receive = receive
        self._read = 0
        self.most = most

    async def __call__(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        if self._read > self.most:
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large")
        return message


def _length(headers: dict[str, list[str]]) -> int:
    values = headers.get("content-length", ["0"])
    return int(values[0]) if values[0].isdecimal() else 0


def _with_headers(send: Send) -> Send:
    """Every answer has the headers, also those for errors; a page may set its own policy and nothing weaker."""

    async def answer(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", ())}
            added = [each for each in HEADERS if each[0] not in own]
            if b"content-security-policy" not in own:
                added.append((b"content-security-policy", POLICY.encode()))
            if b"cache-control" not in own:
                added.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*message.get("headers", ()), *added]}
        await send(message)

    return answer


async def _refuse(
    send: Send, scope: Scope, headers: dict[str, list[str]], status: HTTPStatus, text: str
) -> None:
    """A browser that has no key is led to the page that takes it; everything else gets a line of text."""
    accepts = ",".join(headers.get("accept", []))
    to_login = status == HTTPStatus.UNAUTHORIZED and scope["method"] == "GET" and "text/html" in accepts
    body = f"{text}\n".encode()
    lines = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if to_login:
        status = HTTPStatus.SEE_OTHER
        lines.append((b"location", b"/login"))
    await send({"type": "http.response.start", "status": int(status), "headers": lines})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})
