"""Serves assistants over streamable HTTP on the loopback interface, behind a guard."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import uvicorn

from podium.app.decide.sender import speaker_by
from podium.errors import ConfigurationError
from podium.frontends.mcp.guard import Guard, new_key
from podium.frontends.mcp.server import make_server
from podium.frontends.project_access import Access

if TYPE_CHECKING:
    from starlette.applications import Starlette

HOST: Final = "127.0.0.1"
PATH: Final = "/mcp"
MAX_BODY: Final = 1 << 20


def make_app(root: Path, *, may_answer: bool) -> Starlette:
    """The application without its guard. Who mounts it runs its lifespan too, which owns the connections."""
    server = make_server(Access(root, speaker_by("mcp"), may_answer))
    # Without sessions, so that a client goes on after a restart of the server; progress comes with each answer.
    return server.streamable_http_app(
        streamable_http_path=PATH, stateless_http=True, max_request_body_size=MAX_BODY
    )


def serve_http(root: Path, *, port: int, may_answer: bool) -> int:
    """Serve until the process is interrupted; prints the address and the key, which only its user sees."""
    listener = _listen(port)
    own_port, key = listener.getsockname()[1], new_key()
    url = f"http://{HOST}:{own_port}{PATH}"
    app = Guard(make_app(root, may_answer=may_answer), key=key, port=own_port)
    config = uvicorn.Config(app, access_log=False, log_level="warning", timeout_graceful_shutdown=1)
    click.echo(f"url: {url}\nheader: Authorization: Bearer {key}")
    click.echo("the key is valid until this command ends; stop it with Ctrl-C", err=True)
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
