"""The real claude, codex and gemini in a sandbox: without their key, or with a login and access to their vendor only."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.testing.models.server import ModelServer, Received, Reply, Rule
from tests.git.kit import Project, new_project
from tests.installed import built_in
from tests.live.kit import patch
from tests.live.programs import found
from tests.live.sandbox_kit import KEY, leads_to, needs_bubblewrap, play, vendor
from tests.relays import trust

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

AGENTS = built_in("claude", "codex", "gemini")
BASE = {"claude": "", "codex": "/v1", "gemini": ""}
EDITS = {
    "claude": ("Write", {"file_path": "src/shed.py", "content": "blue = True\n"}),
    "codex": patch("src/shed.py", "blue = True"),
    "gemini": ("write_file", {"file_path": "src/shed.py", "content": "blue = True\n"}),
}
LOOK = "env | sort; id -u; ls -a ~ /run/podium; cat ~/.claude.json ~/.codex/auth.json 2>/dev/null; true"
SHELLS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude": ("Bash", {"command": LOOK}),
    "codex": ("exec_command", {"cmd": LOOK}),
    "gemini": ("run_shell_command", {"command": LOOK}),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    needs_bubblewrap()
    return new_project(tmp_path / "project", {"README.md": "hello\n", "src/app.py": "x = 1\n"})


def flow(name: str, settings: str, step: str = "") -> str:
    return (
        f"agents: {{{name}: {{command: {found(name)}{settings}}}}}\n"
        f"steps: {{it: {{agent: {name}, prompt: Paint shed 7391, touches: ['src/**'], timeout: 90s{step}}}}}\n"
    )


@pytest.mark.req("R061", "R179", "R184")
@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
@pytest.mark.parametrize("network", ["", ", network: [packages.example]"])
def test_with_a_key_it_works_at_the_broker_and_the_key_is_nowhere_within(
    project: Project, tmp_path: Path, name: str, network: str
) -> None:
    with ModelServer(Rule(match="shed 7391", tools=[SHELLS[name], EDITS[name]], text="blue")) as server:
        done = play(
            project,
            tmp_path,
            flow(name, f", base_url: '{server.url}{BASE[name]}'", network),
            {name: AGENTS[name]},
        )

    told = json.dumps([one.body for one in server.requests_to()])
    assert done.played.ending("it").outcome == "passed", done.played.result("it")
    assert done.played.result("it")["files"] == ["src/shed.py"]
    keys = {
        value
        for one in server.requests_to()
        for head, value in one.headers.items()
        if value.startswith("***")
    }
    assert keys == {f"***{KEY[-4:]}"}
    assert "broker.sock" in told, "its shell has looked around"
    assert KEY not in told
    assert KEY.encode() not in done.everything_written()
    allowed = [one for one in done.decisions if one["allowed"]]
    assert {one["way"] for one in allowed} == {"broker"} and {one["status"] for one in allowed} == {200}
    assert len(allowed) == len(server.requests_to())


CLAUDE_LOGIN = {
    "claudeAiOauth": {
        "accessToken": "oat-dummy-0123456789-abcdefghij",
        "refreshToken": "ort-dummy-0123456789-abcdefghij",
        "expiresAt": int(time.time() + 36000) * 1000,
        "scopes": ["user:inference"],
        "subscriptionType": "max",
    }
}
CODEX_LOGIN = {
    "auth_mode": "chatgpt",
    "OPENAI_API_KEY": None,
    "tokens": {
        "id_token": "eyJhbGciOiJub25lIn0.eyJlbWFpbCI6ImFubkBleGFtcGxlLmNvbSJ9.c2ln",
        "access_token": "access-token-of-nobody-0815",
        "refresh_token": "refresh-of-nobody-0815",
        "account_id": "a1",
    },
    "last_refresh": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
}


@pytest.mark.req("R061", "R179")
@pytest.mark.parametrize(
    ("name", "login", "token", "variable", "host"),
    [
        pytest.param(
            "claude", CLAUDE_LOGIN, "oat-dummy-0123456789-abcdefghij",
            "NODE_EXTRA_CA_CERTS", "api.anthropic.com", id="claude",
        ),
        pytest.param(
            "codex", CODEX_LOGIN, "access-token-of-nobody-0815",
            "SSL_CERT_FILE", "chatgpt.com", id="codex",
        ),
    ],
)  # fmt: skip
def test_with_a_login_it_reaches_the_hosts_of_its_vendor_and_no_other(
    project: Project, tmp_path: Path, name: str, login: Any, token: str, variable: str, host: str
) -> None:
    made = trust(tmp_path, host)
    with (
        ModelServer(Rule(match="shed 7391", tools=[EDITS[name]], text="blue")) as server,
        vendor(server, made) as port,
    ):
        project.commit({"ca.pem": made.authority.read_text()})
        done = play(
            project,
            tmp_path,
            flow(name, f", auth: login, env: ['{variable}={project.root / 'ca.pem'}']"),
            {name: replace(AGENTS[name], login=lambda: json.dumps(login).encode())},
            sandbox=BubblewrapSandbox(leads_to(port)),
            secrets={"token": token},
        )

    assert done.played.ending("it").outcome == "passed", done.played.result("it")
    assert {one.headers["authorization"] for one in server.requests_to()} == {f"***{token[-4:]}"}
    assert token.encode() not in done.everything_written()
    allowed = {one["what"] for one in done.decisions if one["allowed"]}
    assert f"CONNECT {host}:443" in allowed


class ExpiredLogin(ModelServer):
    """A vendor that accepts neither the token nor its renewal."""

    def reply(self, received: Received) -> Reply:
        if received.path.startswith("/oauth/token"):
            return Reply.json({"error": {"code": "refresh_token_expired", "message": "expired"}}, status=401)
        return super().reply(received)


@pytest.mark.req("R136")
def test_an_expired_login_of_codex_is_a_matter_of_login_and_says_what_to_do(
    project: Project, tmp_path: Path
) -> None:
    made = trust(tmp_path, "chatgpt.com,DNS:auth.openai.com")
    with ExpiredLogin(Rule(status=401, error="token is expired")) as server, vendor(server, made) as port:
        project.commit({"ca.pem": made.authority.read_text()})
        done = play(
            project,
            tmp_path,
            flow("codex", f", auth: login, env: ['SSL_CERT_FILE={project.root / 'ca.pem'}']"),
            {"codex": replace(AGENTS["codex"], login=lambda: json.dumps(CODEX_LOGIN).encode())},
            sandbox=BubblewrapSandbox(leads_to(port)),
            secrets={"token": "access-token-of-nobody-0815"},
        )

    first = done.played.answers("it")[0]
    assert (first.kind, first.reason) == ("unavailable", "auth")
    assert "log in with: codex login" in (first.result or {})["message"]
