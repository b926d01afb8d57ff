"""A local model server with scripted answers, so that a real agent program can run without a vendor.

    with ModelServer(Rule(match="plan", text="1. look"), Rule(tools=[("Write", {...})], text="written")) as server:
        ...ANTHROPIC_BASE_URL=server.url...
        assert "plan" in server.requests[0].body["messages"][0]["content"]

The first rule that matches answers. A rule with tools requests one tool per turn and gives its text after all results:
`match` is compared with the last message of the user, and tool results are not messages of the user.

Each API is a file in this folder with `ROUTES`: it parses a request into a `ModelRequest`, lets `choose` pick the rule,
and makes a `Reply` in the vendor's format. Faults of the connection (hang, stall, cut, garbled) are simulated here for
all APIs.
"""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module, util
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

APIS: Final = ("anthropic", "openai", "gemini", "ollama")
SECRET: Final = frozenset({"authorization", "x-api-key", "x-goog-api-key", "api-key", "cookie"})
NOTHING: Final = object()
"""No structured value; None is a value."""

Fault: TypeAlias = Literal["hang", "stall", "cut", "garbled"]
"""hang: no response at all; stall: silence after the first part; cut: connection reset; garbled: noise after it."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of one call. `input` excludes cached tokens; each API sums them as its vendor does."""

    input: int = 100
    output: int = 20
    cached: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    match: str | Callable[[ModelRequest], bool] = ""
    """A pattern to search in the last message of the user, or a predicate on the request."""
    text: str = "done"
    tools: Sequence[tuple[str, Mapping[str, Any]]] = ()
    value: Any = NOTHING
    """The structured answer, if the request wants one."""
    usage: Tokens = Tokens()
    stop: str | None = None
    """The vendor's stop reason, if it is not the normal end."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    error: str = ""
    """The message in the body if the status is not 200."""
    fault: Fault | None = None
    times: int | None = None
    """How often the rule answers before the next matching one does; None is unlimited."""


@dataclass(frozen=True, slots=True)
class Received:
    """A received request; keys are masked except for their last four characters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    raw: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """A request, independent of the vendor."""

    text: str
    """The last message of the user."""
    model: str = ""
    results: int = 0
    """The number of tool results since then."""
    stream: bool = False
    structured: bool = False
    """Whether it requests a value with a schema."""
    tools: tuple[str, ...] = ()
    received: Received


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    chunks: Sequence[bytes] = ()
    """Sent one by one if `stream`; a fault happens after half of them."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    stream: bool = False
    fault: Fault | None = None

    @staticmethod
    def json(value: Any, *, rule: Rule | None = None, status: int | None = None) -> Reply:
        """A JSON document with the status, headers and fault of a rule."""
        return Reply(
            chunks=[json.dumps(value).encode()],
            status=status or (rule.status if rule else 200),
            headers=rule.headers if rule else {},
            fault=rule.fault if rule else None,
        )


Choose: TypeAlias = Callable[[ModelRequest], Rule]
Handler: TypeAlias = Callable[[Received, Choose], Reply]


@dataclass(frozen=True, slots=True)
class Route:
    method: str
    path: str
    """A pattern that the path without its query must match completely."""
    handler: Handler


class ModelServer:
    """A server on a loopback port; owns the port and the threads that serve it."""

    def __init__(self, *rules: Rule, apis: Sequence[str] = APIS) -> None:
        self.rules = list(rules)
        self.requests: list[Received] = []
        self._routes = [route for name in apis for route in _routes(name)]
        self._uses: dict[int, int] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._http = _Http(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def requests_to(self, path: str = "") -> list[Received]:
        """The requests with a body whose path contains `path`."""
        return [request for request in self.requests if request.body is not None and path in request.path]

    def choose(self, request: ModelRequest) -> Rule:
        with self._lock:
            for number, rule in enumerate(self.rules):
                used = self._uses.get(number, 0)
                if (rule.times is None or used < rule.times) and _matches(rule, request):
                    self._uses[number] = used + 1
                    return rule
        return Rule(status=400, error=f"no rule of the model server matches {request.text[:80]!r}")

    def reply(self, received: Received) -> Reply:
        with self._lock:
            self.requests.append(received)
        place = received.path.partition("?")[0]
        for route in self._routes:
            if route.method == received.method and re.fullmatch(route.path, place):
                return route.handler(received, self.choose)
        if received.method == "HEAD":
            return Reply()
        return Reply.json({"error": {"message": "not found"}}, status=404)

    def wait_until_closed(self) -> None:
        self._over.wait()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore errors, because many tests make clients hang up."""


def _routes(name: str) -> Sequence[Route]:
    module = f"podium.testing.models.{name}"
    if util.find_spec(module) is None:
        return ()
    routes: Sequence[Route] = import_module(module).ROUTES
    return routes


def _matches(rule: Rule, request: ModelRequest) -> bool:
    if callable(rule.match):
        return rule.match(request)
    return re.search(rule.match, request.text) is not None


def _handler(server: ModelServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def answer(self) -> None:
            raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            reply = server.reply(_received(self, raw))
            if reply.fault == "hang":
                server.wait_until_closed()
                self.close_connection = True
                return
            _send(self, reply, server)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = answer  # noqa: N815 (the names that http.server expects)

        def log_message(self, *args: Any) -> None:
            """Print nothing; requests are recorded."""

    return Handler


def _received(handler: BaseHTTPRequestHandler, raw: bytes) -> Received:
    try:
        body = json.loads(raw) if raw else None
    except ValueError:
        body = raw.decode("utf-8", "replace")
    headers = {name.lower(): _masked(name, value) for name, value in handler.headers.items()}
    path = re.sub(r"([?&]key=)[^&]*?([^&]{0,4})(?=&|$)", r"\1***\2", handler.path)
    return Received(handler.command, path, headers, body, raw)


def _masked(name: str, value: str) -> str:
    return f"***{value[-4:]}" if name.lower() in SECRET else value


def _send(handler: BaseHTTPRequestHandler, reply: Reply, server: ModelServer) -> None:
    body = b"".join(reply.chunks)
    handler.send_response(reply.status)
    handler.send_header("Content-Type", reply.kind)
    for name, value in reply.headers.items():
        handler.send_header(name, value)
    if reply.stream:
        handler.send_header("Transfer-Encoding", "chunked")
    else:
        handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    if handler.command == "HEAD":
        return
    chunks = reply.chunks if reply.stream else [body[: len(body) // 2], body[len(body) // 2 :]]
    half = max(1, len(chunks) // 2)
    to_send = chunks if reply.fault is None else chunks[:half]
    for chunk in to_send:
        _write(handler, chunk, framed=reply.stream)
    _apply_fault(handler, reply, server, remaining=sum(map(len, chunks[half:])))


def _apply_fault(
    handler: BaseHTTPRequestHandler, reply: Reply, server: ModelServer, *, remaining: int
) -> None:
    match reply.fault:
        case "stall":
            server.wait_until_closed()
            handler.close_connection = True
        case "cut":
            handler.close_connection = True
            # Reset the connection, so that buffered data is lost as on a real broken line.
            handler.connection.shutdown(socket.SHUT_RDWR)
        case "garbled":
            noise = b'event: \xff\xfe\ndata: {"type": ]]>\n\n'
            _write(handler, (noise * (remaining // len(noise) + 1))[: max(remaining, 1)], framed=reply.stream)
            _end(handler, reply)
        case _:
            _end(handler, reply)


def _end(handler: BaseHTTPRequestHandler, reply: Reply) -> None:
    if reply.stream:
        handler.wfile.write(b"0\r\n\r\n")
    handler.wfile.flush()


def _write(handler: BaseHTTPRequestHandler, data: bytes, *, framed: bool) -> None:
    if not data:
        return
    handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data) if framed else data)
    handler.wfile.flush()
