"""`podium doctor` asks services what is free to ask: model lists and login files; nothing is paid for (issue 17, 4)."""

from __future__ import annotations

import base64
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

import pytest

from podium.testing.models.server import ModelServer, Rule
from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

KEY = "sk-of-nobody-0123456789"
FLOW = """\
podium: 1
name: flow
agents:
  one: {{{agent}, price: {{input: 0, output: 0}}}}
steps:
  tell: {{agent: one, prompt: Tell it}}
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(Rule(text="ready")) as serving:
        yield serving


def project_with(folder: Path, agent: str, **env: str) -> Project:
    project = new_project(folder / "p", {"flow.yaml": FLOW.format(agent=agent)})
    project.env |= env
    programs = folder / "bin"
    programs.mkdir()
    for name in ("claude", "codex", "gemini"):
        (programs / name).write_text("#!/bin/sh\necho 1.0.0\n")
        (programs / name).chmod(0o755)
    project.env["PATH"] = f"{programs}:/usr/local/bin:/usr/bin:/bin"
    return project


def checked(project: Project) -> tuple[bool | None, str, list[str]]:
    """What the service of the agent answered, and why the workflow could not run."""
    done = project.podium("doctor", "flow.yaml", "--agent", "one", "--sandbox", "limits", "--json")
    conforms(done.data(), "doctor")
    (check,) = done.data()["checks"] or [{"ok": None, "message": ""}]
    assert done.code == (1 if done.data()["problems"] else 0)
    assert KEY not in done.out + done.err
    return check["ok"], check["message"], done.data()["problems"]


def test_an_ollama_server_is_ready_if_it_answers_and_has_the_model(
    tmp_path: Path, server: ModelServer
) -> None:
    agent = f'type: ollama, base_url: "{server.url}", model: small'
    with closing(project_with(tmp_path, agent)) as project:
        assert checked(project) == (True, "", [])
        project.put({"flow.yaml": FLOW.format(agent=agent.replace("small", "large"))})
        ok, message, problems = checked(project)
        assert (ok, message) == (
            False,
            f"the server at {server.url} has no model large; get it with: ollama pull large",
        )
        assert problems == [f"agent one: {message}"]
        assert not server.requests_to("/api/chat"), "nothing is generated"


def test_ollama_without_a_server_is_not_ready(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with closing(project_with(tmp_path, f'type: ollama, base_url: "http://127.0.0.1:{port}"')) as project:
        ok, message, problems = checked(project)
        assert ok is False
        assert message.startswith(f"no Ollama server at http://127.0.0.1:{port}")
        assert problems == [f"agent one: {message}"]
        told = project.podium("doctor", "flow.yaml", "--agent", "one").out
        assert "one (ollama): no Ollama server" in told, "it is not called ready"


def test_a_service_with_an_api_must_have_the_model(tmp_path: Path, server: ModelServer) -> None:
    agent = f'type: api, base_url: "{server.url}/v1", model: nosuch'
    with closing(project_with(tmp_path, agent)) as project:
        assert checked(project)[:2] == (False, 'the service has no model "nosuch"')


@pytest.mark.parametrize(
    ("agent", "variable"),
    [
        ("type: claude", "ANTHROPIC_API_KEY"),
        ("type: codex", "OPENAI_API_KEY"),
        ("type: gemini", "GEMINI_API_KEY"),
        ("type: api, model: m", "OPENAI_API_KEY"),
    ],
)
def test_a_refused_key_is_found_by_the_list_of_models(tmp_path: Path, agent: str, variable: str) -> None:
    refusing = RefusingServer()
    with (
        refusing,
        closing(
            project_with(tmp_path, f'{agent}, key: {variable}, base_url: "{refusing.url}"', **{variable: KEY})
        ) as project,
    ):
        ok, message, problems = checked(project)
        assert (ok, message) == (False, f"the service refuses the key in {variable} (status 401)")
        assert problems == [f"agent one: {message}"]
        assert refusing.methods == ["GET"], "one free question"


class RefusingServer:
    """Answers every request with 401."""

    def __init__(self) -> None:
        methods: list[str] = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                methods.append(self.command)
                self.send_response(401)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET  # noqa: N815 (the name that http.server expects)

            def log_message(self, *args: object) -> None:
                """Print nothing."""

        self.methods = methods
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def token(end_s: float) -> str:
    payload = base64.urlsafe_b64encode(json.dumps({"exp": int(end_s)}).encode()).decode().rstrip("=")
    return f"head.{payload}.signature"


PAST, FUTURE = 1_600_000_000, 4_000_000_000
PLACES = {"claude": ".claude/.credentials.json", "codex": ".codex/auth.json"}


def login(kind: str, end_s: int, *, renewable: bool) -> str:
    if kind == "claude":
        more = {"refreshToken": KEY} if renewable else {}
        return json.dumps({"claudeAiOauth": {"accessToken": KEY, "expiresAt": end_s * 1000, **more}})
    more = {"refresh_token": KEY} if renewable else {}
    return json.dumps({"tokens": {"access_token": token(end_s), **more}})


@pytest.mark.parametrize("kind", PLACES)
@pytest.mark.parametrize(
    ("end", "renewable", "ready"), [(PAST, False, False), (PAST, True, True), (FUTURE, False, True)]
)
def test_a_login_that_has_ended_and_cannot_be_renewed_is_not_ready(
    tmp_path: Path, kind: str, end: int, renewable: bool, ready: bool
) -> None:
    """The run refuses it as well, before anything starts."""
    with closing(project_with(tmp_path, f"type: {kind}, auth: login")) as project:
        place = project.home / PLACES[kind]
        place.parent.mkdir()
        place.write_text(login(kind, end, renewable=renewable))

        done = project.podium("doctor", "flow.yaml", "--agent", "one", "--sandbox", "limits", "--json")

        (agent,) = done.data()["agents"]
        assert agent["wanting"].startswith("its login ended on ") is not ready, agent
        assert bool(done.data()["problems"]) is not ready
        if not ready:
            refused = project.podium("run", "flow.yaml", "--sandbox", "limits")
            assert refused.code == 2
            assert "its login ended on " in refused.err


def test_a_key_that_could_not_be_masked_is_found_before_the_run(tmp_path: Path) -> None:
    with closing(project_with(tmp_path, "type: claude", ANTHROPIC_API_KEY="abc")) as project:
        expected = "one takes its key from ANTHROPIC_API_KEY: 3 characters are too few to mask it in logs"
        done = project.podium("doctor", "flow.yaml", "--sandbox", "limits", "--json")

        assert done.code == 1
        assert any(expected in line for line in done.data()["problems"])
        refused = project.podium("run", "flow.yaml", "--sandbox", "limits")
        assert refused.code == 2
        assert expected in refused.err


def test_a_key_that_only_the_run_knows_must_be_under_secrets(tmp_path: Path) -> None:
    agent = 'type: claude, key: "${{ vars.which }}"'
    with closing(project_with(tmp_path, agent, OTHER_KEY=KEY, ANTHROPIC_API_KEY=KEY)) as project:
        flow = FLOW.format(agent=agent).replace("steps:", "vars: {which: OTHER_KEY}\nsteps:")
        project.put({"flow.yaml": flow})
        done = project.podium("doctor", "flow.yaml", "--sandbox", "limits")
        assert done.code == 1
        assert "agents.one.key is known only during the run" in done.out
        assert KEY not in done.out

        project.put({"flow.yaml": flow.replace("steps:", "secrets: [OTHER_KEY]\nsteps:")})
        assert "agents.one.key" not in project.podium("doctor", "flow.yaml", "--sandbox", "limits").out
