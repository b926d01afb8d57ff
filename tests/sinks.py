"""Servers on the loopback that store what channels send, and one that never answers."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()


@dataclass(frozen=True)
class Delivery:
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def data(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.body)
        return document


def verified(delivery: Delivery, key: str, now_s: float) -> dict[str, Any]:
    """A receiver by the text of Standard Webhooks 1.0, written without looking at the sender."""
    secret = base64.b64decode(key.split("_", 1)[1])
    stamp = delivery.headers["webhook-timestamp"]
    assert abs(now_s - int(stamp)) < 300, "too old"
    signed = b".".join((delivery.headers["webhook-id"].encode(), stamp.encode(), delivery.body))
    expected = base64.b64encode(hmac.new(secret, signed, hashlib.sha256).digest()).decode()
    versions = [each.split(",", 1) for each in delivery.headers["webhook-signature"].split(" ")]
    assert any(name == "v1" and hmac.compare_digest(value, expected) for name, value in versions), (
        "not signed"
    )
    return delivery.data()


@dataclass
class HttpSink:
    port: int = 0
    status: int = 204
    deliveries: list[Delivery] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?x=1"


@contextmanager
def http_sink(status: int = 204) -> Iterator[HttpSink]:
    sink = HttpSink(status=status)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if len(body) < int(self.headers["content-length"]):
                return  # The sender was killed: nobody got this message.
            headers = {name.lower(): value for name, value in self.headers.items()}
            sink.deliveries.append(Delivery(self.path, headers, body))
            self.send_response(sink.status)
            if 300 <= sink.status < 400:
                self.send_header("Location", f"http://127.0.0.1:{sink.port}/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sink.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def silent_server() -> Iterator[int]:
    """Accepts connections and never answers; yields the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        yield server.getsockname()[1]


def dead_port() -> int:
    """A port at which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


@dataclass
class SmtpSink:
    port: int
    mails: list[str] = field(default_factory=list)
    """Each as it came over the wire."""


@contextmanager
def smtp_sink() -> Iterator[SmtpSink]:
    server = socket.create_server(("127.0.0.1", 0))
    sink = SmtpSink(server.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=_talk, args=(connection, sink), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        # Closing alone does not wake a thread that waits for a caller.
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
        server.close()


def _talk(connection: socket.socket, sink: SmtpSink) -> None:
    with connection, connection.makefile("rwb") as file:

        def answer(line: str) -> None:
            file.write(f"{line}\r\n".encode())
            file.flush()

        answer("220 sink")
        for raw in file:
            word = raw.split(b" ")[0].strip().upper()
            if word in (b"EHLO", b"HELO"):
                answer("250 sink")
            elif word == b"DATA":
                answer("354 go")
                lines = []
                for line in file:
                    if line == b".\r\n":
                        break
                    lines.append(line)
                sink.mails.append(b"".join(lines).decode("utf-8", "replace"))
                answer("250 stored")
            elif word == b"QUIT":
                answer("221 bye")
                return
            else:
                answer("250 ok")
