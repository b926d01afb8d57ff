"""Relays on the loopback interface: a proxy that notes what it sees, and TLS in front of a plain server."""

from __future__ import annotations

import socket
import socketserver
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

END = b"\r\n\r\n"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Trust:
    """An authority that only those trust who are told of it, and its certificate for a host."""

    authority: Path
    certificate: Path
    key: Path


def trust(folder: Path, host: str) -> Trust:
    made = Trust(folder / "ca.pem", folder / "host.pem", folder / "host.key")
    new = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    signed = f"-CA {made.authority} -CAkey {folder / 'ca.key'} -addext basicConstraints=critical,CA:FALSE"
    for words in (
        f"{new} -subj /CN=nobody -keyout {folder / 'ca.key'} -out {made.authority}",
        f"{new} -subj /CN={host} -keyout {made.key} -out {made.certificate} {signed} -addext subjectAltName=DNS:{host}",
    ):
        subprocess.run(words.split(), check=True, capture_output=True)
    return made


@dataclass
class Proxy:
    """What a proxy was asked, and everything that passed through it."""

    port: int = 0
    heads: list[str] = field(default_factory=list)
    passed: bytearray = field(default_factory=bytearray)
    answer: bytes = ESTABLISHED
    """To CONNECT; what does not begin with 200 ends the connection, and nothing at all keeps it waiting."""
    hung_up: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@contextmanager
def proxy(port: int) -> Iterator[Proxy]:
    """Leads every host to one port of this machine, by CONNECT or by the whole address in the request."""
    made = Proxy()

    def attend(client: socket.socket) -> None:
        head = b""
        while END not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        made.heads.append(head.decode("latin-1"))
        rest = head
        if head.startswith(b"CONNECT "):
            client.sendall(made.answer)
            if not made.answer:
                client.recv(1)
                made.hung_up.set()
            if not made.answer.startswith(b"HTTP/1.1 200"):
                return
            rest = b""
        with socket.create_connection(("127.0.0.1", port)) as server:
            server.sendall(rest)
            pump(client, server, made.passed.extend)
        made.hung_up.set()

    with listening(attend) as made.port:
        yield made


@contextmanager
def tls_front(port: int, made: Trust) -> Iterator[int]:
    """A port that speaks TLS and hands on what it hears to a plain one."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)

    def attend(client: socket.socket) -> None:
        with (
            context.wrap_socket(client, server_side=True) as safe,
            socket.create_connection(("127.0.0.1", port)) as server,
        ):
            pump(safe, server, lambda _: None)

    with listening(attend) as front:
        yield front


@contextmanager
def closed_port() -> Iterator[int]:
    """A port on which nobody listens, and which no other test gets meanwhile."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@contextmanager
def listening(attend: Callable[[socket.socket], None]) -> Iterator[int]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                attend(self.request)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True
        allow_reuse_address = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is part of the tests."""

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def pump(client: socket.socket, server: socket.socket, note: Callable[[bytes], object]) -> None:
    def back() -> None:
        with suppress(OSError):
            while piece := server.recv(65536):
                note(piece)
                client.sendall(piece)
        with suppress(OSError):
            client.shutdown(socket.SHUT_RDWR)

    thread = threading.Thread(target=back, daemon=True)
    thread.start()
    with suppress(OSError):
        while piece := client.recv(65536):
            note(piece)
            server.sendall(piece)
    with suppress(OSError):
        server.shutdown(socket.SHUT_WR)
    thread.join()
