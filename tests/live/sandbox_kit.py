"""The real agent programs within bubblewrap: a model server behind the broker, or behind the name of a vendor."""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.attempt.network import RECORD
from podium.core.effects import AskPerson
from podium.core.messages import Approve, Message
from podium.core.state import State
from podium.ports.agent import Agents, Progress
from podium.redaction.mask import Mask
from podium.testing.models.server import ModelServer
from tests.attempt.agent_attempts import Asked, Clock
from tests.attempt.runs import OneSandbox, Played, bench
from tests.git.kit import Project
from tests.relays import Trust

KEY = "dummy-key-4711-of-nobody"
KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY")


ACCOUNT = {
    "accounts": [
        {
            "id": "a1",
            "structure": "personal",
            "workspace_backend_origin": "https://chatgpt.com",
            "account_routing_override": "us",
        }
    ],
    "default_account_id": "a1",
    "account_ordering": ["a1"],
}
"""What codex asks of its vendor before it begins, if it has a login."""


def needs_bubblewrap() -> None:
    lacking = bubblewrap_probe.probe()
    if lacking is not None:
        pytest.skip(f"{lacking.reason}; {lacking.fix}")


@dataclass
class Once(Asked):
    """Whoever is asked says that it has failed."""

    async def _perform(self, effect: Any, state: State) -> Message:
        if isinstance(effect, AskPerson):
            return Approve(effect.request.path, "fail", "ann")
        return await super()._perform(effect, state)


@dataclass(frozen=True, slots=True)
class SandboxedRun:
    live: Asked
    played: Played

    @property
    def decisions(self) -> list[Mapping[str, Any]]:
        records = self.live.host.run_dir.rglob(RECORD)
        return [json.loads(line) for record in records for line in record.read_text().splitlines()]

    def everything_written(self) -> bytes:
        files = [path for path in self.live.host.state_dir.rglob("*") if path.is_file()]
        return b"".join(path.read_bytes() for path in files)


def play(
    project: Project,
    folder: Path,
    flow: str,
    agents: Agents,
    *,
    sandbox: BubblewrapSandbox | None = None,
    secrets: Mapping[str, str] | None = None,
    **more: Any,
) -> SandboxedRun:
    clock, seen = Clock(), list[tuple[str, Progress]]()
    path = os.environ.get("PATH", os.defpath)
    made = bench(
        project,
        folder,
        flow,
        now=clock,
        on_progress=lambda path, progress: seen.append((path, progress)),
        mask=Mask({"KEY": KEY, **(secrets or {})}),
        host_env={"PATH": path, **dict.fromkeys(KEYS, KEY)},
    ).given(
        agents=agents,
        sandboxes=OneSandbox(sandbox or BubblewrapSandbox()),
        marker=f"podium-sandboxed-{os.getpid()}",
        **more,
    )
    live = Once(made.workflow, made.host, made.root, clock=clock, seen=seen)
    return SandboxedRun(live, live.play())


def leads_to(port: int) -> Callable[[str, int], Awaitable[Sequence[tuple[str, int]]]]:
    async def resolve(_host: str, _port: int) -> Sequence[tuple[str, int]]:
        return [("127.0.0.1", port)]

    return resolve


@contextmanager
def vendor(server: ModelServer, made: Trust) -> Iterator[int]:
    """The model server by TLS, under whatever name the certificate is for; its port."""

    class Passing(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if self.path.endswith("/accounts/check"):
                self._say(200, "application/json", json.dumps(ACCOUNT).encode())
                return
            path = self.path.replace("/backend-api/codex/", "/v1/")
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            with closing(HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), timeout=60)) as line:
                line.request(self.command, path, body, headers)
                answer = line.getresponse()
                kind = answer.headers.get("Content-Type", "application/json")
                self._say(answer.status, kind, answer.read())

        def _say(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_HEAD = do_POST  # noqa: N815 - the names are those of http.server

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is that of http.server
            """Nothing: what came is with the model server."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """A client that hangs up is no fault of ours."""

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made.certificate, made.key)
    with Quiet(("127.0.0.1", 0), Passing) as https:
        https.socket = context.wrap_socket(https.socket, server_side=True)
        thread = Thread(target=https.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield https.server_address[1]
        finally:
            https.shutdown()
            thread.join()
