"""Starts the pages for `podium ui` and `podium serve --web`; their libraries are an extra and are imported only here."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from podium.app.decide.sender import people_of, speaker_by
from podium.app.page_addresses import remember_pages
from podium.app.paths import user_dir
from podium.errors import ConfigurationError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from podium.app.project import Project
    from podium.frontends.web.guard import Mount

NEEDED: Final = ("starlette", "uvicorn", "pygments", "unidiff")
HOST: Final = "127.0.0.1"
NAME: Final = "localhost"
"""In the printed address: browsers make passkeys for a name, not for an address of numbers."""
START_S: Final = 30.0
LOOK_S: Final = 0.01


class Listening(NamedTuple):
    """Where the pages are reached."""

    port: int = 0
    socket: Path | None = None
    header: str = ""
    """In which the proxy before the socket names the person."""
    public: str = ""
    """The address at which people reach the proxy."""


def listening_options(command: Callable[..., Any]) -> Callable[..., Any]:
    options = (
        click.option(
            "--socket",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Serve the pages at this socket, which only this user can open, instead of at a port.",
        ),
        click.option(
            "--behind-proxy",
            metavar="HEADER",
            help="With --socket: a proxy logs people in and names each in HEADER; needs --public.",
        ),
        click.option(
            "--public",
            metavar="URL",
            help="With --behind-proxy: the address at which people reach the pages.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def listening(port: int, socket: Path | None, behind_proxy: str | None, public: str | None) -> Listening:
    """Raises for options that do not go together: a header counts only where the proxy alone can send it."""
    if behind_proxy is not None and socket is None:
        raise click.UsageError(
            "--behind-proxy needs --socket: at a port, every program could send the header"
        )
    if (behind_proxy is None) != (public is None):
        raise click.UsageError("--behind-proxy and --public need each other")
    if port and socket is not None:
        raise click.UsageError("a socket has no port")
    return Listening(port, socket, behind_proxy or "", public or "")


class WebServer(NamedTuple):
    address: str
    """With the key."""
    server: object
    mcp: str = ""
    """The address of the tools for assistants; empty without them."""
    header: str = ""
    """What each request to the tools needs."""
    counters: str = ""
    """The address for Prometheus; empty without `counters_key`."""

    @property
    def is_alive(self) -> bool:
        return bool(getattr(self.server, "is_alive", False))


@contextmanager
def web_server(
    roots: Sequence[Path], place: Listening, *, mcp: bool = False, counters_key: Path | None = None
) -> Iterator[WebServer]:
    """Serve the pages of these projects until the context ends.

    With `mcp` also the tools of the first one; with `counters_key` its numbers for Prometheus.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the pages need {', '.join(missing)}", hint="pip install 'podium[web]'", code="extra_missing"
        )
    from podium.frontends.web.access import make_proxy
    from podium.frontends.web.server import Server, bind_loopback, bind_unix, make_app
    from podium.frontends.web.session import Session

    proxy = make_proxy(place.header, place.public, _may_decide(roots)) if place.header else None
    bound = (bind_unix(place.socket),) if place.socket is not None else bind_loopback(place.port)
    session = Session(0 if place.socket is not None else bound[0].getsockname()[1])
    address = place.public or session.address(NAME)
    key, mounts = _tools(roots[0], session.port) if mcp else ("", ())
    counters = _counters(roots[0], counters_key) if counters_key else ()
    pages = make_app(roots, _open, session, speaker_by("web"), mounts=(*mounts, *counters), proxy=proxy)
    server = Server(pages, bound)
    server.start()
    base = place.public if session.port == 0 else f"http://{NAME}:{session.port}"
    file = remember_pages(roots, str(session.port or os.getpid()), address, base=base.rstrip("/"))
    try:
        _await_start(server)
        yield WebServer(
            address,
            server,
            f"http://{HOST}:{session.port}/mcp/" if mcp else "",
            f"Authorization: Bearer {key}" if mcp else "",
            f"http://{HOST}:{session.port}/metrics/" if counters else "",
        )
    finally:
        file.unlink(missing_ok=True)
        server.stop()
        if place.socket is not None:
            place.socket.unlink(missing_ok=True)


def _may_decide(roots: Sequence[Path]) -> Callable[[str], bool]:
    """Read for each decision, so that a person who was taken off the list cannot decide any more."""
    return lambda name: any(name in people_of(root, user_dir()) for root in roots)


def _tools(root: Path, port: int) -> tuple[str, tuple[tuple[Mount, ASGIApp], ...]]:
    if find_spec("mcp") is None:
        raise ConfigurationError(
            "--mcp needs a library that is not installed: mcp",
            hint="pip install 'podium[mcp]'",
            code="extra_missing",
        )
    from podium.frontends.mcp.guard import new_key
    from podium.frontends.mcp.http import MAX_BODY, mounted
    from podium.frontends.web.guard import Mount

    key = new_key()
    return key, ((Mount("/mcp/", MAX_BODY), mounted(root, port=port, key=key)),)


def _counters(root: Path, file: Path) -> tuple[tuple[Mount, ASGIApp], ...]:
    from podium.frontends.web.counters import counters_app, key_from
    from podium.frontends.web.guard import Mount

    return ((Mount("/metrics/", 0), counters_app(root, _open, key_from(file))),)


def _await_start(server: object) -> None:
    deadline = time.monotonic() + START_S
    while not getattr(server, "has_started", False):
        if time.monotonic() > deadline or not getattr(server, "is_alive", False):
            raise ConfigurationError("the server did not start")
        time.sleep(LOOK_S)


def _open(root: Path) -> Project:
    from podium.wiring import open_project

    return open_project(root, user_dir=user_dir(), create=True)
