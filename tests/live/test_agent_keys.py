"""The real claude, codex and gemini honour the keys of agents: the requests that their model gets prove it."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.ports.agent import AgentRequest, ImageInput
from podium.process.environment import minimal_env
from podium.process.launch import Launch
from podium.redaction.mask import Mask
from podium.testing.agent_contract import run_launch
from podium.testing.models.server import ModelServer, Rule
from tests.git.kit import new_project
from tests.installed import built_in
from tests.live.kit import KEY, PROGRAMS
from tests.live.programs import found
from tests.live.sandbox_kit import needs_bubblewrap, play

pytestmark = [pytest.mark.live, pytest.mark.timeout(600)]

SERVER = Path(__file__).with_name("mcp_server.py")
PYTHON = "/usr/bin/python3"
MODELS = {"claude": "sonnet", "codex": "gpt-5.5", "gemini": "gemini-2.5-pro"}


def bodies(
    name: str, folder: Path, config: Mapping[str, Any], *rules: Rule, **more: Any
) -> list[Mapping[str, Any]]:
    """What the model of the real program got, after one request with these settings."""
    program = PROGRAMS[name]
    cwd, home, tmp = (folder / word for word in ("cwd", "home", "tmp"))
    for place in (cwd, home, tmp):
        place.mkdir(exist_ok=True)
    with ModelServer(*(rules or (Rule(text="done"),))) as server:
        settings = {"command": found(name), "base_url": f"{server.url}{program.path}", **config}
        request = AgentRequest(
            agent=name, config=settings, path="it", step="it", visit=1, attempt=1, project=folder, cwd=cwd,
            home=home, nonce="4c1f", env={program.key: KEY},
            **{"prompt": "Paint the shed", "model": MODELS[name], **more},
        )  # fmt: skip
        spec, conversation = program.adapter().prepare(request)
        for path, content in spec.files.items():
            (home / path).parent.mkdir(parents=True, exist_ok=True)
            (home / path).write_bytes(content)
        launch = Launch(
            argv=spec.argv, cwd=cwd, env=minimal_env({**spec.env, "HOME": str(home), "TMPDIR": str(tmp)}),
            marker=f"podium-keys-{os.getpid()}", stdin=spec.stdin, timeout_s=120, mask=Mask({"KEY": KEY}),
        )  # fmt: skip

        finished = run_launch(launch, conversation)
        assert finished.exit_code == 0, finished.stderr.text()
        return [one.body for one in server.requests_to(program.calls) if isinstance(one.body, dict)]


@pytest.mark.parametrize(
    ("name", "config", "path", "expected"),
    [
        ("claude", {"effort": "low"}, "output_config.effort", "low"),
        ("claude", {"effort": "max"}, "output_config.effort", "max"),
        ("codex", {"effort": "low"}, "reasoning.effort", "low"),
        ("codex", {"effort": "xhigh"}, "reasoning.effort", "xhigh"),
        ("codex", {"args": ["--config=model_verbosity=low"]}, "text.verbosity", "low"),
        ("codex", {"args": ["--config=model_reasoning_summary=detailed"]}, "reasoning.summary", "detailed"),
        ("codex", {"args": ["--config=service_tier=flex"]}, "service_tier", "flex"),
        ("gemini", {"thinking": 777}, "generationConfig.thinkingConfig.thinkingBudget", 777),
        ("gemini", {"thinking": "2k"}, "generationConfig.thinkingConfig.thinkingBudget", 2000),
    ],
)
def test_a_key_is_in_the_request_of_the_model(
    tmp_path: Path, name: str, config: Mapping[str, Any], path: str, expected: Any
) -> None:
    (sent,) = bodies(name, tmp_path, config)
    value: Any = sent
    for part in path.split("."):
        value = value[part]

    assert value == expected


def test_options_of_claude_reach_its_model(tmp_path: Path) -> None:
    args = ["--disallowedTools=Bash,Glob", "--betas=context-1m-2025-08-07"]
    (sent,) = bodies("claude", tmp_path, {"args": args})

    offered = [tool["name"] for tool in sent["tools"]]
    assert "Read" in offered
    assert not {"Bash", "Glob"} & set(offered)


def test_an_overloaded_model_of_claude_is_replaced_by_the_one_that_an_option_names(tmp_path: Path) -> None:
    rules = (
        Rule(match=lambda request: "haiku" not in request.model, status=529, error="Overloaded"),
        Rule(text="done"),
    )
    sent = bodies("claude", tmp_path, {"args": ["--fallback-model=haiku"]}, *rules)

    assert "haiku" in sent[-1]["model"]


WRITE = ("Write", {"file_path": "made.txt", "content": "x"})


@pytest.mark.parametrize(
    ("mode", "is_written"),
    [("acceptEdits", True), ("dontAsk", False), ("plan", False), ("bypassPermissions", True)],
)
def test_the_permission_mode_of_claude_decides_what_its_tools_may_do(
    tmp_path: Path, mode: str, is_written: bool
) -> None:
    # The adapter gives up all permission checks in a sandbox only; that there is none here is the same to the program.
    bodies("claude", tmp_path, {"permission_mode": mode}, Rule(tools=[WRITE], text="done"), sandboxed=True)

    assert (tmp_path / "cwd/made.txt").exists() == is_written


@pytest.mark.parametrize("delay", ["0", "4"])
@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_tool_of_an_mcp_server_is_offered_and_can_be_called_even_if_the_server_starts_slowly(
    tmp_path: Path, name: str, delay: str
) -> None:
    server = {"command": [PYTHON, str(SERVER)], "env": [f"DELAY={delay}", "SEES=eye"]}
    rule = Rule(tools=[("mcp__echo__repeat", {"text": "4711"})], text="done")
    sent = bodies(name, tmp_path, {"mcp": {"echo": server}}, rule)

    assert "REPEATED-4711-eye" in json.dumps(sent[-1])


@pytest.mark.parametrize("name", ["claude", "codex"])
def test_a_server_runs_inside_the_sandbox(tmp_path: Path, name: str) -> None:
    """It has no network but the hosts that it names, and it sees no key."""
    needs_bubblewrap()
    project = new_project(tmp_path / "project", {"README.md": "hello\n", "server.py": SERVER.read_text()})
    server = {
        "command": [PYTHON, "server.py"],
        "env": ["SEES=eye", "TRIES=docs.example other.example"],
        "network": ["docs.example"],
    }
    (tmp_path / "flows/.podium").mkdir(parents=True)
    tools = [("mcp__echo__repeat", {"text": "4711"})]
    with ModelServer(Rule(tools=tools, text="done")) as model:
        url = f"{model.url}{PROGRAMS[name].path}"
        settings = {"command": found(name), "base_url": url, "mcp": {"echo": server}}
        (tmp_path / "flows/.podium/config.yaml").write_text(json.dumps({"agents": {name: settings}}))
        step = f"{{agent: {name}, prompt: Paint, touches: [], timeout: 90s}}"
        done = play(project, tmp_path, f"steps: {{it: {step}}}\n", built_in(name))
        sent = json.dumps([one.body for one in model.requests_to(PROGRAMS[name].calls)])

    assert done.played.ending("it").outcome == "passed"
    assert "REPEATED-4711-eye" in sent
    tried = {one["what"]: one.get("reason", "") for one in done.decisions if one["way"] == "proxy"}
    assert "is not in the network list" in tried["CONNECT other.example:443"]
    assert "is not in the network list" not in tried["CONNECT docs.example:443"]


@pytest.mark.parametrize("name", ["claude", "codex", "gemini"])
def test_instruction_files_of_the_workspace_are_not_read_and_the_system_text_is(
    tmp_path: Path, name: str
) -> None:
    """`instructions: project` is a part of the system text, which the attempt makes from the base commit."""
    (tmp_path / "cwd").mkdir()
    for file in ("AGENTS.md", "CLAUDE.md", "GEMINI.md"):
        (tmp_path / "cwd" / file).write_text("PLANTED in the workspace")
    text = "# Instructions of the project, from AGENTS.md\n\nPaint it blue 4711."
    sent = json.dumps(bodies(name, tmp_path, {"instructions": "project"}, system=text))

    assert "Paint it blue 4711." in sent
    assert "PLANTED" not in sent


PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def test_an_image_of_the_prompt_reaches_the_model_of_codex(tmp_path: Path) -> None:
    (sent,) = bodies("codex", tmp_path, {}, images=(ImageInput("docs/shed.png", "image/png", PNG),))

    text = json.dumps(sent)
    assert "Paint the shed" in text
    assert "image/png" in text
    assert base64.b64encode(PNG).decode()[:40] in text
