"""Receives signed webhooks and hands them to the service, which stores each before the sender gets its answer.

Rule 1: nothing of a request is believed, and nothing of its body is parsed, before its signature is verified.
Rule 2: a delivery is one event. GitHub signs the body only, so there the body is what makes an event: a request that
was overheard cannot be sent again under a new id.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import queue
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

from podium.app.triggers.definitions import DefinedTrigger
from podium.app.triggers.event_sources import new_event
from podium.errors import ConfigurationError, PodiumError
from podium.fast_dataclass import dataclass
from podium.files import bounded_json
from podium.ports.clock import Clock, wall_clock
from podium.ports.runtime import Runtime
from podium.ports.store import TriggerEvent

MAX_BODY: Final = 5 << 20
MAX_ID: Final = 200
TIMEOUT_S: Final = 10.0
STORED_WITHIN_S: Final = 8.0
MAX_SENDERS: Final = 64
SENDER_S: Final = 30.0
TOLERANCE_MS: Final = 300_000
"""How far the time in a signed request may be from ours."""
PREFIX: Final = "/hooks/"


class Refused(Exception):
    def __init__(self, status: HTTPStatus, text: str) -> None:
        super().__init__(text)
        self.status = status


class Delivery(NamedTuple):
    """A request whose signature is right."""

    id: str
    kind: str
    body: Any


class _Handed(NamedTuple):
    event: TriggerEvent
    done: threading.Event
    new: list[bool]


@dataclass(slots=True)
class WebhookListener:
    """Answers requests in threads; only the thread of the service writes to the store."""

    host: str
    port: int
    env: Mapping[str, str]
    now: Clock = wall_clock
    triggers: Mapping[tuple[str, str], DefinedTrigger] = field(default_factory=dict)
    _queue: queue.Queue[_Handed] = field(default_factory=lambda: queue.Queue(100))
    _server: ThreadingHTTPServer | None = None

    def start(self) -> tuple[str, int]:
        """Listen from now on; returns the address, with the port that was chosen for 0."""
        try:
            self._server = _Server((self.host, self.port), self)
        except OSError as error:
            raise ConfigurationError(
                f"cannot listen at {self.host}:{self.port}: {error.strerror}",
                hint="choose another port: podium serve --listen 127.0.0.1:8788",
            ) from error
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        ).start()
        host, port = self._server.server_address[:2]
        return str(host), int(port)

    def close(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()

    def record(self, runtime: Runtime) -> None:
        """Store what has come in, and let the senders know."""
        while True:
            try:
                handed = self._queue.get_nowait()
            except queue.Empty:
                return
            handed.new.append(bool(runtime.record_events([handed.event], {})))
            handed.done.set()

    def receive(self, path: str, headers: Mapping[str, str], body: bytes) -> tuple[HTTPStatus, str]:
        """Raises Refused."""
        defined = self._trigger_at(path)
        webhook = defined.trigger.webhook
        secret = "" if webhook is None else self.env.get(webhook.secret, "")
        if webhook is None or not secret:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the secret of this webhook is not set")
        verify = _verify_github if webhook.scheme == "github" else _verify_standard
        delivery = verify(secret, headers, body, self.now())
        if webhook.events and not _is_wanted(delivery, webhook.events):
            return HTTPStatus.OK, "ignored: the trigger does not name this kind of event\n"
        facts = {"kind": delivery.kind, "body": delivery.body, "id": delivery.id}
        name = delivery.id if webhook.scheme == "standard" else f"sha256-{hashlib.sha256(body).hexdigest()}"
        try:
            event = new_event(defined, name, self.now(), facts)
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, f"the body cannot be stored: {error}") from None
        return self._hand_over(event)

    def _hand_over(self, event: TriggerEvent) -> tuple[HTTPStatus, str]:
        handed = _Handed(event, threading.Event(), [])
        try:
            self._queue.put_nowait(handed)
        except queue.Full:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "too many at once") from None
        if not handed.done.wait(STORED_WITHIN_S):
            # It may still be stored; the sender repeats it, and it is then the same event.
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "not stored yet; send it again")
        if handed.new[0]:
            return HTTPStatus.ACCEPTED, "stored\n"
        return HTTPStatus.OK, "known already\n"

    def _trigger_at(self, path: str) -> DefinedTrigger:
        name = unquote(path.partition("?")[0])
        file, _, trigger = name.removeprefix(PREFIX).rpartition("/")
        defined = self.triggers.get((file, trigger)) if name.startswith(PREFIX) else None
        if defined is None or defined.trigger.webhook is None:
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such webhook")
        return defined


def _verify_github(secret: str, headers: Mapping[str, str], body: bytes, _: int) -> Delivery:
    expected = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    _compare(expected, headers.get("x-hub-signature-256", ""))
    content = _parse(body)
    action = content.get("action") if isinstance(content, dict) else None
    kind = headers.get("x-github-event", "")
    kind = f"{kind}.{action}" if isinstance(action, str) else kind
    return Delivery(_id(headers.get("x-github-delivery", "")), kind[:MAX_ID], content)


def _verify_standard(secret: str, headers: Mapping[str, str], body: bytes, now: int) -> Delivery:
    """The scheme of standardwebhooks.com: the id and the time are signed too."""
    name, at = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    encoded = secret.removeprefix("whsec_")
    try:
        key = base64.b64decode(encoded, validate=True)
    except ValueError:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "the secret of this webhook is not base64") from None
    signed = f"{name}.{at}.".encode() + body
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    signatures = [word.removeprefix("v1,") for word in headers.get("webhook-signature", "").split(" ")[:10]]
    if not any(hmac.compare_digest(expected.encode(), word.encode()) for word in signatures):
        raise Refused(HTTPStatus.UNAUTHORIZED, "the signature is wrong")
    if not at.isascii() or not at.isdecimal() or len(at) > 12 or abs(int(at) * 1000 - now) > TOLERANCE_MS:
        raise Refused(HTTPStatus.UNAUTHORIZED, "the time of this request is not now")
    content = _parse(body)
    kind = content.get("type") if isinstance(content, dict) else None
    return Delivery(_id(name), kind[:MAX_ID] if isinstance(kind, str) else "", content)


def _compare(expected: str, signature: str) -> None:
    if not hmac.compare_digest(expected.encode(), signature.encode()):
        raise Refused(HTTPStatus.UNAUTHORIZED, "the signature is wrong")


def _id(name: str) -> str:
    if not name or len(name) > MAX_ID or not name.isprintable():
        raise Refused(HTTPStatus.BAD_REQUEST, "the request has no id")
    return name


def _parse(body: bytes) -> Any:
    try:
        return bounded_json.loads(body)
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST, "the body is not JSON") from None


def _is_wanted(delivery: Delivery, kinds: tuple[str, ...]) -> bool:
    return any(delivery.kind == kind or delivery.kind.startswith(f"{kind}.") for kind in kinds)


class _Server(ThreadingHTTPServer):
    """Serves a bounded number of senders at once, each for a bounded time: the signature of a request is known only at its end."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address: tuple[str, int], listener: WebhookListener) -> None:
        self.listener = listener
        self._senders: dict[socket.socket, float] = {}
        super().__init__(address, _Request)

    def process_request(self, request: Any, client_address: Any) -> None:
        if len(self._senders) >= MAX_SENDERS:
            self.shutdown_request(request)
            return
        self._senders[request] = time.monotonic() + SENDER_S
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._senders.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Hang up on senders that are too slow, byte by byte; called between two requests."""
        now = time.monotonic()
        for request, deadline in tuple(self._senders.items()):
            if now > deadline:
                with suppress(OSError):
                    request.shutdown(socket.SHUT_RDWR)


class _Request(BaseHTTPRequestHandler):
    server: _Server
    server_version = "podium"
    sys_version = ""
    timeout = TIMEOUT_S

    def do_POST(self) -> None:
        try:
            body = self._body()
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, text = self.server.listener.receive(self.path, headers, body)
        except Refused as error:
            status, text = error.status, f"{error}\n"
        except (PodiumError, TimeoutError, OSError):
            status, text = HTTPStatus.SERVICE_UNAVAILABLE, "not stored; send it again\n"
        self._answer(status, text)

    def _body(self) -> bytes:
        length = self.headers.get("content-length", "")
        if not length.isascii() or not length.isdecimal() or "transfer-encoding" in self.headers:
            raise Refused(HTTPStatus.LENGTH_REQUIRED, "the request has no length")
        if len(length) > 9 or int(length) > MAX_BODY:
            raise Refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"at most {MAX_BODY >> 20} MB are read")
        deadline, parts, missing = time.monotonic() + TIMEOUT_S, [], int(length)
        while missing:
            if time.monotonic() > deadline:
                raise Refused(HTTPStatus.REQUEST_TIMEOUT, "the body takes too long")
            part = self.rfile.read1(min(missing, 1 << 16))
            if not part:
                raise Refused(HTTPStatus.BAD_REQUEST, "the body is shorter than its length")
            parts.append(part)
            missing -= len(part)
        return b"".join(parts)

    def _answer(self, status: HTTPStatus, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """The service reports what it stores; a line per request would let strangers fill its log."""
