"""Several people behind a proxy: who they are comes from its header at a socket, and from nowhere else (R195, R219)."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from podium.app.decide.sender import Speaker
from podium.errors import ConfigurationError
from podium.frontends.web.access import make_proxy
from podium.frontends.web.server import bind_unix, make_app
from podium.frontends.web.session import Session
from podium.wiring import open_project
from tests.browser.site import Site, pages_of
from tests.frontends.web.conftest import BASE, Web
from tests.views.kit import SILENT, project, tell

PUBLIC = "https://podium.example.com"
ASKS = "/runs/asks/decide/approve"


@pytest.fixture
def behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """The pages for a proxy that names people in X-User; ada may decide."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    root = tmp_path / "shop"
    root.mkdir()
    project(root, ("asks", tell(root, cast=SILENT, run="asks")))
    proxy = make_proxy("X-User", PUBLIC, lambda name: name == "ada")
    session = Session(0)
    pages = make_app((root,), open_project, session, Speaker("root", "web"), proxy=proxy)
    with TestClient(pages.app, base_url=PUBLIC) as client:
        client.cookies.set(
            session.cookie, session.value
        )  # The key of the server says nothing about a person.
        yield client


def post(client: TestClient, address: str, person: str, **fields: str) -> int:
    headers = {"x-user": person, "origin": PUBLIC}
    return client.post(address, data=fields, headers=headers, follow_redirects=False).status_code


@pytest.mark.parametrize(
    "headers", [[], [("x-user", "")], [("x-user", "ada"), ("x-user", "eve")], [("x-user", "a\tb")]]
)
def test_without_exactly_one_name_nothing_is_shown(
    behind: TestClient, headers: list[tuple[str, str]]
) -> None:
    answer = behind.get("/runs", headers=headers)
    assert answer.status_code == 401
    assert "asks" not in answer.text


def test_only_the_public_name_and_its_own_pages_are_answered(behind: TestClient) -> None:
    person = {"x-user": "ada"}
    assert behind.get("/runs", headers=person).status_code == 200
    for host in ("localhost", "127.0.0.1", "podium.example.com:8080", "evil.example"):
        assert behind.get("/runs", headers={**person, "host": host}).status_code == 421
    for origin in ("https://evil.example", "http://podium.example.com", "null", "http://localhost"):
        answer = behind.post(ASKS, data={"action": "approve"}, headers={**person, "origin": origin})
        assert answer.status_code == 403


def test_a_person_whom_the_configuration_does_not_name_may_only_look(behind: TestClient) -> None:
    assert post(behind, ASKS, "eve", action="approve") == 403
    assert post(behind, "/runs/asks/cancel", "eve") == 403
    assert post(behind, "/runs/asks/guide", "eve", words="x") == 403
    assert post(behind, "/workflows/0/run", "eve") == 403
    assert post(behind, "/settings/theme", "eve", theme="dark") == 303
    shown = behind.get(ASKS, headers={"x-user": "eve"}).text
    assert "You are eve and may look at this" in shown
    assert "<button" not in shown.partition("<main")[2].partition("</main>")[0]
    assert 'value="approve"' in behind.get(ASKS, headers={"x-user": "ada"}).text


def test_nobody_behind_a_proxy_touches_the_passkeys_of_the_machine(behind: TestClient) -> None:
    for path in ("/settings/passkeys", "/settings/passkeys/options", "/settings/passkeys/remove"):
        assert post(behind, path, "ada") == 403


def test_what_one_person_sets_aside_the_other_still_sees(behind: TestClient) -> None:
    assert post(behind, "/runs/asks/set-aside", "ada", path="approve") == 303
    assert "Set aside by you" in behind.get("/", headers={"x-user": "ada"}).text
    assert "Set aside by you" not in behind.get("/", headers={"x-user": "eve"}).text


def test_at_a_port_the_header_is_not_looked_at(web: Web) -> None:
    assert web.client.get("/runs", headers={"x-user": "ada"}, follow_redirects=False).status_code == 401
    web.client.cookies.set(web.session.cookie, web.session.value)
    assert "You are ada" in web.client.get("/runs", headers={"x-user": "eve"}).text
    assert web.client.get("/runs", headers={"host": "podium.example.com"}).status_code == 421
    assert BASE.startswith("http://127.0.0.1")


@pytest.mark.parametrize("public", ["podium.example.com", "ftp://x", "https://x/path", "https://x?a=b"])
def test_a_public_address_that_is_none_is_refused(public: str) -> None:
    with pytest.raises(ConfigurationError, match="--public"):
        make_proxy("X-User", public, lambda _: True)


def test_the_socket_opens_to_its_user_alone_and_one_that_was_left_behind_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "run" / "pages"
    first = bind_unix(path)
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    first.listen()
    with pytest.raises(ConfigurationError, match="already in use"):
        bind_unix(path)
    first.close()
    bind_unix(path).close()
    plain = tmp_path / "run" / "file"
    plain.write_text("mine")
    with pytest.raises(ConfigurationError):
        bind_unix(plain)
    assert plain.read_text() == "mine"


CONNECT = """\
import os, socket, sys
os.setgroups([]), os.setgid(65534), os.setuid(65534)
socket.socket(socket.AF_UNIX).connect(sys.argv[1])
"""


@pytest.mark.slow
def test_the_real_command_serves_people_at_a_socket(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.put({".podium/config.yaml": "people: {leads: [ada]}\n"})
    path = tmp_path / "run" / "pages"
    options = ("--socket", str(path), "--behind-proxy", "X-User", "--public", PUBLIC)
    with pages_of(site, *options) as pages:
        assert pages.address == PUBLIC
        assert _status(path, "GET", "/", {"X-User": "ada"}) == 200
        assert _status(path, "GET", "/", {}) == 401
        own = {"X-User": "eve", "Origin": PUBLIC, "Content-Type": "application/x-www-form-urlencoded"}
        assert _status(path, "POST", "/workflows/0/run", own) == 403
        if os.geteuid() == 0:
            command = [sys.executable, "-I", "-c", CONNECT, str(path)]
            other = subprocess.run(command, capture_output=True, check=False)
            assert b"PermissionError" in other.stderr
    assert not path.exists()


def _status(path: Path, method: str, address: str, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("podium.example.com")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(str(path))
    try:
        connection.request(method, address, headers=headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    "options",
    [
        ("--behind-proxy", "X-User"),
        ("--behind-proxy", "X-User", "--public", PUBLIC),
        ("--socket", "x", "--behind-proxy", "X-User"),
        ("--socket", "x", "--public", PUBLIC),
        ("--socket", "x", "--port", "80"),
    ],
)
def test_options_that_would_open_the_pages_to_others_are_refused(
    tmp_path: Path, options: tuple[str, ...]
) -> None:
    site = Site(tmp_path)
    site.podium("ui", "--no-browser", *options, ok=(2,))
    site.podium("serve", "--web", *(each.replace("--port", "--web-port") for each in options), ok=(2,))
