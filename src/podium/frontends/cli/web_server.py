"""Starts the pages for `podium ui` and `podium serve --web`; their libraries are an extra and are imported only here."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from podium.app.decide.sender import speaker_by
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
    roots: Sequence[Path], *, port: int = 0, mcp: bool = False, counters_key: Path | None = None
) -> Iterator[WebServer]:
    """Serve the pages of these projects until the context ends.

    With `mcp` also the tools of the first one; with `counters_key` its numbers for Prometheus.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ConfigurationError(
            f"the pages need {', '.join(missing)}", hint="pip install 'podium[web]'", code="extra_missing"
        )
    from podium.frontends.web.server import Server, bind_loopback, make_app
    from podium.frontends.web.session import Session, remember

    bound = bind_loopback(port)
    session = Session(bound[0].getsockname()[1])
    key, mounts = _tools(roots[0], session.port) if mcp else ("", ())
    counters = _counters(roots[0], counters_key) if counters_key else ()
    pages = make_app(roots, _open, session, speaker_by("web"), mounts=(*mounts, *counters))
    server = Server(pages, bound)
    server.start()
    file = remember(session, roots[0], NAME)
    try:
        _await_start(server)
        yield WebServer(
            session.address(NAME),
            server,
            f"http://{HOST}:{session.port}/mcp/" if mcp else "",
            f"Authorization: Bearer {key}" if mcp else "",
            f"http://{HOST}:{session.port}/metrics/" if counters else "",
        )
    finally:
        file.unlink(missing_ok=True)
        server.stop()


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


def running_web_address(root: Path) -> str:
    from podium.frontends.web.session import running_address

    return running_address(root)
