"""A project with stored runs behind the real guard and pages, without a socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.testclient import TestClient

from podium.app.decide.sender import Speaker
from podium.frontends.web.hub import Hub
from podium.frontends.web.server import make_app
from podium.frontends.web.session import Session
from podium.wiring import open_project
from tests.views.kit import CAST, SILENT, project, tell

PORT = 8123
BASE = f"http://127.0.0.1:{PORT}"


class Web(NamedTuple):
    client: TestClient
    """Without a key."""
    session: Session
    root: Path
    hub: Hub

    def post(self, path: str, fields: dict[str, str], **headers: str) -> object:
        return self.client.post(
            path, data=fields, headers={"origin": BASE, **headers}, follow_redirects=False
        )


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """Run `asks` waits for an answer, run `done` has passed."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "shop"
    root.mkdir()
    waiting, done = tell(root, cast=SILENT, run="asks"), tell(root, cast=CAST, run="done")
    project(root, ("done", done), ("asks", waiting))
    session = Session(PORT)
    pages = make_app(
        (root,), lambda folder: open_project(folder, create=True), session, Speaker("ada", "web")
    )
    with TestClient(pages.app, base_url=BASE) as client:
        yield Web(client, session, root, pages.hub)


@pytest.fixture
def inside(web: Web) -> Web:
    """Logged in."""
    web.client.cookies.set(web.session.cookie, web.session.value)
    return web
