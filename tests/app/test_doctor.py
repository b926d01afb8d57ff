"""`podium doctor` as a process: what it finds, what it says to do, and what it never shows."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from podium.adapters.agents.registry import built_in_types
from podium.testing.models.server import ModelServer, Rule, Tokens
from tests.e2e.kit import Project, closing, new_project
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

SECRET = "oat-of-nobody-0123456789-abcdefgh"
FLOW = """\
podium: 1
name: flow
agents:
  local: {{type: ollama, base_url: "{url}", model: {model}}}
secrets: [DEPLOY_TOKEN]
steps:
  plan: {{agent: codex, prompt: Plan it}}
  tell: {{agent: local, prompt: Tell it}}
"""


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(Rule(match="Answer with one word", text="ready", usage=Tokens(11, 2))) as serving:
        yield serving


@pytest.fixture
def project(tmp_path: Path, server: ModelServer) -> Iterator[Project]:
    bin_dir = tmp_path / "bin"
    bin_dir.mkdir()
    for name, version in (("claude", "9.9.9 (Claude Code)"), ("codex", "codex-cli 0.166.0")):
        (bin_dir / name).write_text(f"#!/bin/sh\necho '{version}'\n")
        (bin_dir / name).chmod(0o755)
    with closing(
        new_project(tmp_path / "p", {"flow.yaml": FLOW.format(url=server.url, model="small")})
    ) as own:
        own.env["PATH"] = f"{bin_dir}:/usr/local/bin:/usr/bin:/bin"
        yield own


def test_each_agent_has_its_program_its_version_and_what_is_missing(project: Project) -> None:
    project.env["ANTHROPIC_API_KEY"] = SECRET
    found = project.podium("doctor", "--json")

    assert found.code == 0, found.err
    conforms(found.data(), "doctor")
    agents = {agent["name"]: agent for agent in found.data()["agents"]}
    claude, codex, gemini = (agents[name] for name in ("claude", "codex", "gemini"))
    assert (claude["version"], claude["tested"], claude["wanting"]) == ("9.9.9", "2.1.197", "")
    assert claude["auth"] == "ANTHROPIC_API_KEY (set)"
    assert "OPENAI_API_KEY is not set" in codex["wanting"]
    assert "gemini is not installed" in gemini["wanting"]
    machine = found.data()["machine"]
    assert machine["git"] and machine["sqlite"] and machine["sandbox"]
    told = project.podium("doctor")
    assert "9.9.9 (tried: 2.1.197)" in told.out
    assert SECRET not in found.out + told.out + told.err


@pytest.mark.req("R187")
def test_a_login_serves_where_there_is_no_key_and_none_of_it_is_shown(project: Project) -> None:
    (project.home / ".codex").mkdir()
    (project.home / ".codex/auth.json").write_text(json.dumps({"tokens": {"access_token": SECRET}}))

    found = project.podium("doctor", "--json", "--agent", "codex")

    (codex,) = found.data()["agents"]
    assert (codex["auth"], codex["wanting"]) == ("login", "")
    assert SECRET not in found.out + found.err


def test_a_workflow_that_could_not_run_is_exit_1_with_what_to_do(project: Project) -> None:
    found = project.podium("doctor", "flow.yaml", "--sandbox", "limits")

    assert found.code == 1
    assert "flow.yaml cannot run" in found.out
    assert "codex: OPENAI_API_KEY is not set: export it" in found.out
    assert "secret DEPLOY_TOKEN has no value; export DEPLOY_TOKEN=..." in found.out

    project.env |= {"OPENAI_API_KEY": "sk-of-nobody", "DEPLOY_TOKEN": "token-of-nobody"}
    assert project.podium("doctor", "flow.yaml", "--sandbox", "limits").code == 0


@pytest.mark.req("C20")
def test_a_probe_asks_the_model_once_by_the_way_that_attempts_take(
    project: Project, server: ModelServer
) -> None:
    found = project.podium("doctor", "flow.yaml", "--ping", "--agent", "local", "--json")

    (probe,) = found.data()["probes"]
    assert (probe["ok"], probe["tokens"], probe["cost_usd"]) == (True, 13, 0)
    assert len(server.requests_to("/api/chat")) == 1
    assert not (project.root / ".podium").exists(), "it leaves no run behind"


def test_a_probe_that_fails_says_why_and_is_exit_1(project: Project, server: ModelServer) -> None:
    server.rules[:] = [Rule(status=404, error="model 'small' not found")]

    found = project.podium("doctor", "flow.yaml", "--ping", "--agent", "local")

    assert found.code == 1
    assert "failed: model 'small' not found; get it with: ollama pull small" in found.out


@pytest.mark.req("C20")
def test_what_counts_as_tried_is_what_the_live_tests_install() -> None:
    pins = (Path(__file__).parents[2] / "tools/live.sh").read_text()

    tested = {one.name: one.tested for one in built_in_types() if one.tested}
    packages = {
        "claude": "@anthropic-ai/claude-code",
        "claude_agent_acp": "@agentclientprotocol/claude-agent-acp",
        "codex": "@openai/codex",
        "codex_acp": "@agentclientprotocol/codex-acp",
        "gemini": "@google/gemini-cli",
        "opencode": "opencode-ai",
        "qwen_code": "@qwen-code/qwen-code",
    }
    assert sorted(tested) == sorted(packages)
    for name, package in packages.items():
        assert f"{package}@{tested[name]}" in pins


LOGINS = {
    ".claude/.credentials.json": {"claudeAiOauth": {"accessToken": SECRET, "expiresAt": 4_000_000_000_000}},
    ".codex/auth.json": {"tokens": {"access_token": SECRET}, "last_refresh": "2026-01-01T00:00:00Z"},
}


@pytest.mark.parametrize("logged_in", [False, True], ids=["no-login", "login"])
@pytest.mark.parametrize("key", [False, True], ids=["no-key", "key"])
@pytest.mark.parametrize("file", [(), ("flow.yaml",)], ids=["alone", "file"])
@pytest.mark.parametrize("auth", ["", ", auth: login", ", auth: key"])
def test_agents_and_doctor_agree_about_keys_and_logins(
    project: Project, logged_in: bool, key: bool, file: tuple[str, ...], auth: str
) -> None:
    if logged_in:
        for name, content in LOGINS.items():
            place = project.home / name
            place.parent.mkdir(parents=True)
            place.write_text(json.dumps(content))
    if key:
        project.env |= {"ANTHROPIC_API_KEY": SECRET, "OPENAI_API_KEY": SECRET}
    flow = f"podium: 1\nname: flow\nagents: {{mine: {{type: claude{auth}}}, codex: {{type: codex{auth}}}}}\n"
    project.put({"flow.yaml": f"{flow}steps: {{it: {{agent: mine, prompt: x}}}}\n"})

    listed, checked = (
        project.podium(name, *file, "--json").data()["agents"] for name in ("agents", "doctor")
    )

    def told(rows: list[dict[str, str]]) -> dict[str, tuple[str, str]]:
        return {row["name"]: (row["auth"], row["wanting"]) for row in rows}

    assert told(listed) == told(checked)
    uses_login = auth == ", auth: login" if file else False
    if logged_in and not key and not auth:
        uses_login = True
    assert (told(listed)["codex"][0] == "login") == (uses_login or (logged_in and not key and not file))
