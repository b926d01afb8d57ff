"""Questions of every kind: used-up attempts, values and choices. Each is decided from its page."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from podium.app.decide.sender import Speaker
from podium.core.hash_chain import RunId
from podium.files.project_paths import ProjectPaths
from podium.frontends.web.server import make_app
from podium.frontends.web.session import Session
from podium.wiring import open_project, open_store
from tests.frontends.web.conftest import BASE, PORT
from tests.views.kit import project, tell

USED_UP = """\
podium: 1
name: ship
gates: {tests: {run: make test}}
steps:
  implement: {role: implementer, prompt: Do it., gates: [tests], retry: {attempts: 2, on_exhausted: human}}
"""
FAILS = '- match: {step: implement/tests}\n  exit: 1\n  text: "still red"\n- match: {step: "!exhausted"}\n  silent: true\n'
ASKS = """\
podium: 1
name: ship
steps:
  pick: {human: "Which one?", output: {choice: [red, blue]}}
  say: {human: "How many?", output: text}
"""
Start = Callable[[str, str], TestClient]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("podium.app.decide.judge.wake", lambda *_, **__: None)
    clients: list[TestClient] = []

    def make(flow: str, cast: str) -> TestClient:
        root = tmp_path / "shop"
        root.mkdir()
        project(root, ("r1", tell(root, flow=flow, cast=cast)))
        session = Session(PORT)
        pages = make_app(
            (root,), lambda folder: open_project(folder, create=True), session, Speaker("ada", "web")
        )
        client = TestClient(pages.app, base_url=BASE, cookies={session.cookie: session.value})
        client.__enter__()
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.__exit__(None, None, None)


def _sent(tmp_path: Path) -> list[dict[str, Any]]:
    store = open_store(ProjectPaths(tmp_path / "shop"))
    try:
        return [dict(each.body) for each in store.commands(RunId("r1"))]
    finally:
        store.close()


def _open(client: TestClient) -> tuple[str, str]:
    """The address of the first question, as the inbox links to it, and its page."""
    link = re.search(r'href="(/runs/r1/decide/[^"]+)"', client.get("/").text)
    assert link is not None
    path = html.unescape(link[1])
    answer = client.get(path)
    assert answer.status_code == 200
    return path, html.unescape(answer.text)


def _fields(text: str, **more: str) -> dict[str, str]:
    names = {name: re.search(rf'name="{name}" value="([^"]*)"', text) for name in ("tree", "since")}
    return {**{name: match[1] for name, match in names.items() if match}, **more}


def test_used_up_attempts_are_decided_with_the_last_failure_in_view(start: Start, tmp_path: Path) -> None:
    client = start(USED_UP, FAILS)
    path, text = _open(client)
    assert "still red" in text
    assert "grant one more attempt" in text
    answer = client.post(
        path,
        data=_fields(text, action="retry", words="Look at greet()."),
        headers={"origin": BASE},
        follow_redirects=False,
    )
    assert answer.status_code == 303
    assert [(each["action"], each["text"]) for each in _sent(tmp_path)] == [("retry", "Look at greet().")]


def test_a_choice_is_answered_and_a_wrong_value_is_refused_with_the_reason(
    start: Start, tmp_path: Path
) -> None:
    client = start(ASKS, "- match: {step: pick}\n  silent: true\n")
    path, text = _open(client)
    assert 'value="red"' in text
    wrong = client.post(path, data=_fields(text, action="answer", value="green"), headers={"origin": BASE})
    assert wrong.status_code == 409
    assert "Nothing was stored" in wrong.text
    right = client.post(
        path,
        data=_fields(text, action="answer", value="blue"),
        headers={"origin": BASE},
        follow_redirects=False,
    )
    assert right.status_code == 303
    assert [each["answer"] for each in _sent(tmp_path)] == ["blue"]


TALKS = """\
podium: 1
name: ship
roles: {analyst: {agent: claude}}
steps:
  spec: {role: analyst, prompt: Talk., touches: [], team: {owner: {agent: human, turns: 4}}}
"""
TURNS = """\
- match: {step: spec, attempt: 1}
  text: "Which colour?\\n<b>red</b> or blue"
- match: {step: spec}
  text: How large?
- match: {step: "spec#1/owner"}
  answer: blue
- match: {step: spec/owner}
  silent: true
"""


def test_a_turn_of_a_conversation_is_shown_with_those_before_and_can_end_it(
    start: Start, tmp_path: Path
) -> None:
    client = start(TALKS, TURNS)
    path, text = _open(client)
    assert path.endswith("spec%232/owner")
    assert "Send and end the conversation" in text
    raw = client.get(path).text
    assert "&lt;b&gt;red&lt;/b&gt; or blue" in raw and "owner: blue" in raw and "<b>red" not in raw
    answer = client.post(
        path,
        data=_fields(text, action="last", value="large"),
        headers={"origin": BASE},
        follow_redirects=False,
    )
    assert answer.status_code == 303
    assert [(each["action"], each["answer"]) for each in _sent(tmp_path)] == [("answer", "large\ndone")]
    messages = (
        html.unescape(client.get("/runs/r1").text).partition('id="messages"')[2].partition("</section>")[0]
    )
    assert messages.count("<li>") == 2 and "Which colour?" in messages
    assert "owner answered in" in messages and "no answer yet" in messages
