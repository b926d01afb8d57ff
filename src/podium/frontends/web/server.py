"""The HTTP shell: its routes behind the guard, the socket, and a start and an end that lose nothing.

`make_app` is what tests call; `Server` binds a socket on this machine and serves until it is stopped. Other parts that
answer HTTP are given as mounts and come behind the same guard.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Final, NamedTuple

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from podium.app.decide.presence import Additions
from podium.app.decide.sender import Speaker
from podium.app.project import Project
from podium.errors import ConfigurationError, PodiumError
from podium.frontends.web import guard, render, stream
from podium.frontends.web.access import Proxy
from podium.frontends.web.forms import read_fields
from podium.frontends.web.hub import Hub
from podium.frontends.web.pages import (
    compare,
    costs,
    decide,
    inbox,
    logs,
    members,
    passkeys,
    run,
    runs,
    settings,
    start,
    step,
)
from podium.frontends.web.session import Session

LOOPBACK: Final = ("127.0.0.1", "localhost", "[::1]")
MISSING: Final = ("unknown_run", "unknown_log", "unknown_step", "unknown_workflow", "no_runs")
END_S: Final = 1
"""How long the end waits for open answers."""
STATIC: Final = Path(__file__).parent / "static"
TRIES: Final = 20
"""How many free ports are tried until one is free at both loopback addresses."""


def make_app(
    roots: Sequence[Path],
    open_project: Callable[[Path], Project],
    session: Session,
    speaker: Speaker,
    *,
    hosts: Iterable[str] = LOOPBACK,
    mounts: Sequence[tuple[guard.Mount, ASGIApp]] = (),
    proxy: Proxy | None = None,
) -> Pages:
    hub = Hub(roots, open_project)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        hub.start(asyncio.get_running_loop())
        try:
            yield
        finally:
            hub.stop()
            hub.close()

    app = Starlette(
        routes=[*_routes(), *(Mount(mount.prefix.rstrip("/"), inner) for mount, inner in mounts)],
        lifespan=lifespan,
        exception_handlers={PodiumError: _refused, HTTPException: _http_error, Exception: _broken},
    )
    app.state.hub, app.state.session, app.state.speaker = hub, session, speaker
    app.state.additions, app.state.proxy = Additions(), proxy

    async def counted(scope: Scope, receive: Receive, send: Send) -> None:
        scope[render.SEEN] = hub.changes
        await app(scope, receive, send)

    return Pages(guard.Guard(counted, session, hosts, [mount for mount, _ in mounts], proxy), hub)


class Pages(NamedTuple):
    app: ASGIApp
    hub: Hub


def _routes() -> list[BaseRoute]:
    of_run, post = "/runs/{run:str}", ["POST"]
    return [
        Route("/login", _login_page),
        Route("/login", _log_in, methods=post),
        Route("/logout", _log_out, methods=post),
        Route("/static/app.css", _style),
        Route("/static/{name:str}", _static),
        Route("/events", stream.events),
        Route("/", inbox.inbox),
        Route("/runs", runs.runs),
        Route(of_run, run.run),
        Route(f"{of_run}/decide/{{path:path}}", decide.decide),
        Route(f"{of_run}/decide/{{path:path}}", decide.decide_post, methods=post),
        Route(f"{of_run}/members/{{path:path}}", members.members),
        Route(f"{of_run}/presence/{{path:path}}", passkeys.answer_options, methods=post),
        Route(f"{of_run}/set-aside", inbox.put_aside, methods=post),
        Route(f"{of_run}/steps/{{path:path}}", step.step),
        Route(f"{of_run}/diff", step.diff),
        Route(f"{of_run}/logs", logs.logs),
        Route(f"{of_run}/logs/{{number:int}}", logs.log),
        Route(f"{of_run}/logs/{{number:int}}/raw", logs.raw),
        Route(f"{of_run}/report", run.report),
        Route(f"{of_run}/events", run.events),
        Route(f"{of_run}/{{what:str}}", run.control, methods=post),
        Route("/compare", compare.compare),
        Route("/workflows", start.workflows),
        Route("/workflows/{number:int}/run", start.form),
        Route("/workflows/{number:int}/run", start.start, methods=post),
        Route("/costs", costs.costs),
        Route("/settings", settings.settings),
        Route("/settings/channel", settings.test_channel, methods=post),
        Route("/settings/theme", settings.set_theme, methods=post),
        Route("/settings/passkeys", passkeys.add, methods=post),
        Route("/settings/passkeys/options", passkeys.addition_options, methods=post),
        Route("/settings/passkeys/remove", passkeys.remove, methods=post),
    ]


def _login_page(_: Request) -> Response:
    return render.bare("login.html", wrong=False)


async def _log_in(request: Request) -> Response:
    fields = await read_fields(request)
    session: Session = request.app.state.session
    if not session.is_key(fields.get("key", "").strip()):
        return render.bare("login.html", status=HTTPStatus.UNAUTHORIZED, wrong=True)
    to = fields.get("to", "/")
    # Only a path of ours: `//host` and `/\host` would lead a browser elsewhere.
    to = to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
    answer = RedirectResponse(to, HTTPStatus.SEE_OTHER)
    answer.headers["set-cookie"] = session.set_cookie()
    return answer


async def _log_out(request: Request) -> Response:
    session: Session = request.app.state.session
    answer = RedirectResponse("/login", HTTPStatus.SEE_OTHER)
    answer.headers["set-cookie"] = session.clear_cookie()
    return answer


def _style(_: Request) -> Response:
    return Response(render.style_sheet(), media_type="text/css")


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in ("app.js", "icon.svg"):
        raise HTTPException(404)
    return FileResponse(STATIC / name)


async def _refused(request: Request, error: Exception) -> Response:
    """An error that a person can act on: the thing is not there, or the request is refused with the reason."""
    assert isinstance(error, PodiumError)
    status = HTTPStatus.NOT_FOUND if error.code in MISSING else HTTPStatus.CONFLICT
    if isinstance(error, ConfigurationError) and error.code in ("form", "too_long"):
        status = HTTPStatus.BAD_REQUEST
    text = f"{error.message}. {error.hint}" if error.hint else error.message
    return await _message(request, status, text)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    status = HTTPStatus(error.status_code)
    return await _message(request, status, "There is no such page." if status == 404 else status.phrase)


async def _broken(_: Request, error: Exception) -> Response:
    return PlainTextResponse(f"Podium failed here: {type(error).__name__}; the terminal says more\n", 500)


async def _message(request: Request, status: HTTPStatus, text: str) -> Response:
    from starlette.concurrency import run_in_threadpool

    titles = {404: "Not found", 409: "Refused", 400: "Refused"}
    title = titles.get(status, status.phrase)
    return await run_in_threadpool(render.message, request, status, title, text)


class Server:
    """Serves in a thread of its own, so that the thread of the caller can carry runs on or wait for signals."""

    def __init__(self, pages: Pages, bound: Sequence[socket.socket]) -> None:
        config = uvicorn.Config(
            pages.app,
            log_level="warning",
            access_log=False,
            lifespan="on",
            loop="asyncio",
            http="h11",
            h11_max_incomplete_event_size=guard.MOST_HEADERS,
            timeout_graceful_shutdown=END_S,
            server_header=False,
            date_header=False,
            proxy_headers=False,
        )
        self._server = uvicorn.Server(config)
        self._hub = pages.hub
        self._sockets = list(bound)
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.should_exit = True
        self._hub.stop()
        self._thread.join(END_S + 5)

    @property
    def has_started(self) -> bool:
        return self._server.started

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def _serve(self) -> None:
        asyncio.run(self._server.serve(sockets=self._sockets))


def bind_loopback(port: int) -> tuple[socket.socket, ...]:
    """One port at both loopback addresses, so that `localhost` is this server in every program; port 0 chooses one.

    Otherwise another user could listen at the address that we have left out, and be given the key.
    """
    for _ in range(TRIES):
        first = _bind(socket.AF_INET, "127.0.0.1", port)
        try:
            return (first, _bind(socket.AF_INET6, "::1", first.getsockname()[1]))
        except ConfigurationError as error:
            if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
                return (first,)  # This machine has no IPv6.
            first.close()
            if port:
                raise
    raise ConfigurationError("no port is free at both 127.0.0.1 and ::1")


def bind_unix(path: Path) -> socket.socket:
    """A socket that only this user can open, in a folder that is made for this user alone if it is missing.

    It is bound here: uvicorn would let every user of the machine open it.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        _remove_left_behind(path)
        bound.bind(str(path))
    except OSError as error:
        bound.close()
        reason = error.strerror or str(error)
        raise ConfigurationError(f"cannot listen at {path}: {reason}", hint="choose another file") from error
    finally:
        os.umask(before)
    return bound


def _remove_left_behind(path: Path) -> None:
    """A socket of a server that was killed; raises OSError if one listens there, or if it is another kind of file."""
    if not path.is_socket():
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _bind(family: socket.AddressFamily, host: str, port: int) -> socket.socket:
    try:
        bound = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise ConfigurationError(f"cannot listen at {host}: {error.strerror}") from error
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if family == socket.AF_INET6:
        bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise ConfigurationError(
            f"cannot listen at {host}:{port}: {error.strerror}",
            hint="choose another port: --port 0 takes a free one",
        ) from error
    return bound
