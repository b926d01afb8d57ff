"""What the server refuses before any page is made (R192, R219)."""

from __future__ import annotations

import pytest

from podium.frontends.web.guard import MOST_BODY, MOST_HEADERS, POLICY
from tests.frontends.web.conftest import BASE, PORT, Web

PAGES = (
    "/",
    "/runs",
    "/runs/asks",
    "/runs/done",
    "/runs/asks/decide/approve",
    "/runs/asks/steps/implement",
    "/runs/asks/members/approve",
    "/runs/asks/logs",
    "/runs/asks/logs/0",
    "/runs/asks/logs/0/raw",
    "/runs/asks/report",
    "/runs/asks/events",
    "/compare?a=asks&b=done",
    "/workflows",
    "/workflows/0/run",
    "/costs?played=1",
    "/settings",
)
WRITES = (
    "/runs/asks/decide/approve",
    "/runs/asks/set-aside",
    "/runs/asks/cancel",
    "/runs/asks/guide",
    "/workflows/0/run",
    "/settings/theme",
    "/settings/channel",
    "/settings/passkeys",
    "/settings/passkeys/options",
    "/settings/passkeys/remove",
    "/runs/asks/presence/approve",
    "/logout",
)


@pytest.mark.parametrize("path", [*PAGES, "/events", "/login", "/static/app.css", "/nowhere"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1:1",
        "127.0.0.1",
        "",
        f"127.0.0.1:{PORT}.evil.example",
    ],
)
def test_another_host_is_misdirected_for_every_path_and_stream(inside: Web, path: str, host: str) -> None:
    answer = inside.client.get(path, headers={"host": host})
    assert answer.status_code == 421
    assert answer.headers["content-security-policy"] == POLICY


@pytest.mark.parametrize("path", [*PAGES, "/events"])
def test_without_the_key_nothing_is_shown(web: Web, path: str) -> None:
    key = web.session.key
    for headers, query in (
        ({}, ""),
        ({"cookie": f"{web.session.cookie}=wrong"}, ""),
        ({"cookie": f"{web.session.cookie}={key}"}, ""),
        ({"cookie": f"podium-1={web.session.value}"}, ""),
        ({"authorization": "Bearer wrong"}, ""),
        ({}, f"key={key}"),
    ):
        address = f"{path}{'&' if '?' in path else '?'}{query}" if query else path
        answer = web.client.get(address, headers=headers, follow_redirects=False)
        assert answer.status_code == 401
        assert "asks" not in answer.text


def test_a_browser_without_the_key_is_led_to_the_page_that_takes_it(web: Web) -> None:
    answer = web.client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/login")
    assert web.client.get("/login").status_code == 200


@pytest.mark.req("R219")
def test_the_key_is_posted_once_and_becomes_a_cookie_that_no_script_and_no_other_site_gets(web: Web) -> None:
    wrong = web.client.post("/login", data={"key": "wrong"}, headers={"origin": BASE}, follow_redirects=False)
    assert (wrong.status_code, "set-cookie" in wrong.headers) == (401, False)
    right = web.client.post(
        "/login",
        data={"key": web.session.key, "to": "//evil.example"},
        headers={"origin": BASE},
        follow_redirects=False,
    )
    assert (right.status_code, right.headers["location"]) == (303, "/")
    cookie = right.headers["set-cookie"]
    assert f"podium-{PORT}=" in cookie
    assert all(word in cookie for word in ("HttpOnly", "SameSite=Strict", "Path=/"))
    assert web.session.key not in cookie
    assert web.client.get("/").status_code == 200


def test_a_program_may_send_the_key_as_a_bearer(web: Web) -> None:
    headers = {"authorization": f"Bearer {web.session.key}"}
    assert web.client.get("/runs", headers=headers).status_code == 200
    assert (
        web.client.post(
            "/settings/theme", data={"theme": "dark"}, headers=headers, follow_redirects=False
        ).status_code
        == 303
    )


@pytest.mark.parametrize("path", WRITES)
@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "null"},
        {"origin": "http://evil.example"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": BASE, "sec-fetch-site": "cross-site"},
        {"origin": BASE, "sec-fetch-site": "same-site"},
        {"origin": BASE, "sec-fetch-site": "none"},
    ],
)
def test_only_a_page_of_ours_may_change_something(inside: Web, path: str, headers: dict[str, str]) -> None:
    answer = inside.client.post(path, data={"action": "approve"}, headers=headers, follow_redirects=False)
    assert answer.status_code == 403


@pytest.mark.parametrize("path", WRITES)
def test_a_get_changes_nothing(inside: Web, path: str) -> None:
    answer = inside.client.get(path, follow_redirects=False)
    assert answer.status_code in (200, 404, 405)
    assert "approve" in inside.client.get("/runs/asks/decide/approve").text


@pytest.mark.parametrize(
    "path", [*PAGES, "/login", "/static/app.js", "/static/app.css", "/nowhere", "/runs/no"]
)
def test_every_answer_has_its_headers(inside: Web, path: str) -> None:
    answer = inside.client.get(path)
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert policy == POLICY or "sandbox" in policy
    assert "unsafe" not in policy
    for name, value in (
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "same-origin"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
    ):
        assert answer.headers[name] == value
    assert "no-store" in answer.headers["cache-control"]
    assert "server" not in answer.headers


def test_large_bodies_headers_and_words_are_refused(inside: Web) -> None:
    path = "/runs/asks/decide/approve"
    form = {"origin": BASE, "content-type": "application/x-www-form-urlencoded"}
    assert inside.client.post(path, content=b"x" * (MOST_BODY + 1), headers=form).status_code == 413

    def chunks() -> object:
        yield from (b"x" * 1024 for _ in range(80))

    assert inside.client.post(path, content=chunks(), headers=form).status_code == 413  # type: ignore[arg-type]
    assert inside.client.get("/", headers={"x-long": "y" * MOST_HEADERS}).status_code == 431
    words = inside.client.post(path, data={"action": "reject", "words": "w" * 9000}, headers={"origin": BASE})
    assert words.status_code == 400
    assert (
        inside.client.post(
            path, content=b"{}", headers={"origin": BASE, "content-type": "application/json"}
        ).status_code
        == 400
    )


@pytest.mark.parametrize(
    "path",
    [
        "/runs/..%2f..%2fetc/logs",
        "/runs/asks/logs/..%2f..%2fpodium.db",
        "/runs/asks/logs/999",
        "/runs/asks/logs/-1",
        "/runs/asks%00/logs",
        "/runs/asks/steps/..%2f..%2fpasswd",
        "/runs/asks/diff?base=HEAD&tree=--output=x",
        "/static/..%2fserver.py",
        "/static/server.py",
        "/workflows/99/run",
    ],
)
def test_no_part_of_an_address_becomes_a_path(inside: Web, path: str) -> None:
    assert inside.client.get(path).status_code in (404, 405)


def test_the_address_has_the_key_in_its_fragment_and_the_cookie_is_another_value(web: Web) -> None:
    address = web.session.address("127.0.0.1")
    assert address == f"{BASE}/#key={web.session.key}"
    assert len(web.session.key) >= 32
    assert web.session.value != web.session.key
