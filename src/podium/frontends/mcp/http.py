"""Serves assistants over streamable HTTP on the loopback interface, behind a guard."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import uvicorn

from podium.app.decide.sender import speaker_by
from podium.errors import ConfigurationError
from podium.frontends.mcp.guard import Guard, new_key
from podium.frontends.mcp.server import make_server
from podium.frontends.project_access import Access

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp, Receive, Scope, Send

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
MAX_BODY: Final = 1 << 20


class Mounted:
    """The application inside another server, which runs only its own lifespan: this one begins with the first request."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self._ready: asyncio.Event | None = None
        self._task: asyncio.Task[None] | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._ready is None:
            self._ready = asyncio.Event()
            self._task = asyncio.get_running_loop().create_task(self._live(self._ready))
        await self._ready.wait()
        await self._app(scope, receive, send)

    async def _live(self, ready: asyncio.Event) -> None:
        """Until the server ends its loop."""
        async with self._app.router.lifespan_context(self._app):
            ready.set()
            await asyncio.Event().wait()


def mounted(root: Path, *, port: int, key: str) -> ASGIApp:
    """The tools of a project for another server on this port, behind their own key; at `/mcp/` of it."""
    return Guard(Mounted(make_app(root, may_answer=False, path="/")), key=key, port=port)


def make_app(root: Path, *, may_answer: bool, path: str = PATH) -> Starlette:
    """The application without its guard. Who mounts it runs its lifespan too, which owns the connections."""
    server = make_server(Access(root, speaker_by("mcp"), may_answer))
    # Without sessions, so that a client goes on after a restart of the server; progress comes with each answer.
    return server.streamable_http_app(
        streamable_http_path=path, stateless_http=True, max_request_body_size=MAX_BODY
    )


def serve_http(root: Path, *, port: int, may_answer: bool, tell: Callable[[str, str], None]) -> int:
    """Serve until the process is interrupted; tells the address and the header with the key once it listens."""
    listener = _listen(port)
    own_port, key = listener.getsockname()[1], new_key()
    url = f"http://{HOST}:{own_port}{PATH}"
    app = Guard(make_app(root, may_answer=may_answer), key=key, port=own_port)
    config = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
    tell(url, f"Authorization: Bearer {key}")
    with listener:
        uvicorn.Server(config).run(sockets=[listener])
    return 0


def _listen(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((HOST, port))
    except OSError as error:
        listener.close()
        raise ConfigurationError(f"port {port} of {HOST} cannot be used: {error.strerror}") from error
    listener.listen()
    return listener
