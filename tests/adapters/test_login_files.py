"""Logins that come back from an attempt: the same one with newer tokens is kept, anything else is not."""

from __future__ import annotations

import json
import stat
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.registry import built_in_types
from podium.credentials import Logins

NOW = int(time.time() * 1000)


def claude(expires: Any = NOW, **more: Any) -> bytes:
    login = {
        "accessToken": f"access-{expires}",
        "refreshToken": f"refresh-{expires}",
        "expiresAt": expires,
        "scopes": ["user:inference"],
        "subscriptionType": "max",
        **more,
    }
    return json.dumps({"claudeAiOauth": login}).encode()


def codex(refreshed: str = "2026-01-01T10:00:00.123456789Z", **more: Any) -> bytes:
    tokens = {"id_token": refreshed, "access_token": "a", "refresh_token": "r", "account_id": "acc-1", **more}
    return json.dumps({"OPENAI_API_KEY": None, "tokens": tokens, "last_refresh": refreshed}).encode()


FILES = {
    one.name: one.credentials.login
    for one in built_in_types()
    if one.credentials is not None and one.credentials.login is not None
}


def logins(folder: Path, kind: str, content: bytes) -> tuple[Logins, Path]:
    place = folder / f".{kind}" / (FILES[kind].name if kind in FILES else "login.json")
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(content)
    return read(folder), place


def read(home: Path) -> Logins:
    return Logins(FILES, {"HOME": str(home)}, home / "locks")


@pytest.mark.req("R184")
@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [("claude", claude(), claude(NOW + 1)), ("codex", codex(), codex("2026-01-02T10:00:00Z"))],
)
def test_a_renewed_login_is_the_users_and_that_of_the_next_attempt(
    tmp_path: Path, kind: str, old: bytes, new: bytes
) -> None:
    kept, place = logins(tmp_path, kind, old)

    assert kept.renew(kind, new)

    assert place.read_bytes() == new
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert kept.contents[kind] == new
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        pytest.param("claude", claude(), claude(), id="nothing has changed"),
        pytest.param("claude", claude(), claude(NOW - 1), id="older"),
        pytest.param("claude", claude(), claude(NOW + 400 * 86_400_000), id="from the far future"),
        pytest.param("claude", claude(), claude(NOW + 1, subscriptionType="free"), id="another subscription"),
        pytest.param("claude", claude(), claude(NOW + 1, scopes=["all"]), id="another scope"),
        pytest.param("claude", claude(), claude(NOW + 1, hook="curl"), id="something more"),
        pytest.param("claude", claude(), claude(NOW + 1, refreshToken=""), id="no token"),
        pytest.param("claude", claude(), claude(NOW + 1, refreshToken=["x"]), id="a token that is none"),
        pytest.param("claude", claude(), claude(True), id="a stamp that is none"),
        pytest.param("claude", claude(), claude("soon"), id="a stamp in words"),
        pytest.param("claude", claude(), b"{}", id="empty"),
        pytest.param("claude", claude(), b"", id="nothing"),
        pytest.param("claude", claude(), b"[" * 100_000, id="too deep"),
        pytest.param("claude", claude(), claude(NOW + 1)[:-5], id="cut off"),
        pytest.param(
            "codex", codex(), codex("2026-01-02T10:00:00Z", account_id="acc-2"), id="another account"
        ),
        pytest.param("codex", codex(), codex("9999-01-01T00:00:00Z"), id="for ever the newest"),
        pytest.param("gemini", b"{}", b"{}", id="no login at all"),
    ],
)
def test_anything_else_is_left_where_it_is(tmp_path: Path, kind: str, old: bytes, new: bytes) -> None:
    """What comes back lay where a model could write: it must not become whom the user is."""
    kept, place = logins(tmp_path, kind, old)

    assert not kept.renew(kind, new)

    assert place.read_bytes() == old


def test_what_the_user_has_renewed_meanwhile_is_not_replaced_by_something_older(tmp_path: Path) -> None:
    kept, place = logins(tmp_path, "claude", claude())
    place.write_bytes(claude(NOW + 10))

    assert not kept.renew("claude", claude(NOW + 5))
    assert place.read_bytes() == claude(NOW + 10)


def test_of_many_that_come_back_at_once_the_newest_stays(tmp_path: Path) -> None:
    _, place = logins(tmp_path, "claude", claude())
    others = [read(tmp_path) for _ in range(8)]
    threads = [
        threading.Thread(target=kept.renew, args=("claude", claude(NOW + number)))
        for number, kept in enumerate(others, start=1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert place.read_bytes() == claude(NOW + 8)


def test_a_link_stays_a_link_and_its_target_is_renewed(tmp_path: Path) -> None:
    _, place = logins(tmp_path, "claude", claude())
    link = tmp_path / "elsewhere" / place.name
    link.parent.mkdir()
    link.symlink_to(place)

    there = Logins(FILES, {"CLAUDE_CONFIG_DIR": str(link.parent)}, tmp_path / "locks")

    assert there.renew("claude", claude(NOW + 1))
    assert link.is_symlink()
    assert place.read_bytes() == claude(NOW + 1)
