"""Every key that an agent declares changes what is started or sent: a key without an effect has no row here, and fails."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from podium.adapters.agents.registry import BUILT_IN, built_in, built_in_types
from podium.errors import ConfigurationError
from podium.ports.agent import Agent, AgentRequest, AgentResult, ImageInput, ProgramSpec, ServiceAgent
from podium.ports.agent_type import AgentType
from podium.testing.agent_contract import finished_process
from podium.testing.models.server import ModelServer, Rule
from podium.workflow.agent_keys import COMMON_KEYS, PROGRAM_KEYS, faults_of
from podium.workflow.editor_schema import is_readable
from podium.workflow.schema.fields import keys_of
from podium.workflow.schema.file import Agent as AgentEntry

ENV = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "sk-usual-4711")
MCP = {
    "docs": {"command": ["docs-server", "--fast"], "env": ["DOCS=all"], "network": ["docs.example"]},
}
LOGIN = {"login": b"login-4711"}
BROKERED = {"brokered": True, "sandboxed": True}
ATTEMPT_KEYS = frozenset({"instructions"})
"""Honoured by the attempt for all agents alike; tests/attempt/test_instructions.py shows how."""


@dataclass(frozen=True, slots=True)
class Row:
    """A value of a key, and what the started program or the request has because of it."""

    value: Any
    effect: str
    request: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)
    """Further settings, with and without the key."""


def preset_rows(argument: str, variable: str, tool: str) -> Mapping[str, Row]:
    """What an agent with known settings has; the API is that of the key in this variable."""
    url = "http://127.0.0.1:9/x"
    return {
        "command": Row("my-agent", f'"argv": ["my-agent"{argument}]'),
        "base_url": Row(url, f"env {variable}={url}"),
        "server_tools": Row([tool], f"service tools ['{tool}']", BROKERED),
    }


ACP_PRESETS: Mapping[str, tuple[str, str, str]] = {
    "opencode": (', "acp"', "ANTHROPIC_BASE_URL", "web_fetch"),
    "qwen_code": (', "--acp"', "OPENAI_BASE_URL", "web_search"),
    "claude_agent_acp": ("", "ANTHROPIC_BASE_URL", "web_fetch"),
    "codex_acp": ("", "OPENAI_BASE_URL", "web_search"),
}
KEYED = {"env": {**ENV, "MY_KEY": "sk-own-0815"}}
ROWS: Mapping[str, Mapping[str, Row]] = {
    "claude": {
        "command": Row(["node", "my-claude.js"], "argv node my-claude.js"),
        "auth": Row("login", "file .claude/.credentials.json login-4711", LOGIN),
        "key": Row("MY_KEY", "env ANTHROPIC_API_KEY=sk-own-0815", KEYED),
        "base_url": Row("http://127.0.0.1:9/x", "env ANTHROPIC_BASE_URL=http://127.0.0.1:9/x"),
        "max_turns": Row(7, "--max-turns=7"),
        "max_usd": Row(0.5, "--max-budget-usd=0.5"),
        "effort": Row("xhigh", "--effort=xhigh"),
        "permission_mode": Row("plan", "--permission-mode=plan"),
        "mcp": Row(MCP, '"docs": {"type": "stdio", "command": "docs-server", "args": ["--fast"]'),
        "args": Row(["--betas=context-1m-2025-08-07"], "--betas=context-1m-2025-08-07"),
        "server_tools": Row(["web_fetch"], "service tools ['web_fetch']", BROKERED),
    },
    "codex": {
        "command": Row(["node", "my-codex.js"], "argv node my-codex.js"),
        "auth": Row("login", "file .codex/auth.json login-4711", LOGIN),
        "key": Row("MY_KEY", "env MY_KEY=sk-own-0815", KEYED),
        "base_url": Row("http://127.0.0.1:9/v1", 'base_url = "http://127.0.0.1:9/v1"'),
        "effort": Row("xhigh", 'model_reasoning_effort = "xhigh"'),
        "mcp": Row(MCP, '[mcp_servers.docs]\ncommand = "docs-server"\nargs = ["--fast"]'),
        "args": Row(["--config=model_verbosity=low"], "--config=model_verbosity=low"),
        "server_tools": Row(["web_search"], 'web_search = "live"'),
    },
    "gemini": {
        "command": Row("my-gemini", "argv my-gemini"),
        "key": Row("MY_KEY", "env GEMINI_API_KEY=sk-own-0815", KEYED),
        "base_url": Row("http://127.0.0.1:9", "env GOOGLE_GEMINI_BASE_URL=http://127.0.0.1:9"),
        "max_turns": Row(7, '"maxSessionTurns": 7'),
        "thinking": Row("2k", '"thinkingBudget": 2000'),
        "server_tools": Row(["web_fetch"], "service tools ['web_fetch']", BROKERED),
    },
    "acp": {
        "command": Row(["goose", "acp"], '"argv": ["goose", "acp"]'),
        "key": Row("MY_KEY", "env MY_KEY=sk-own-0815", KEYED),
        "service": Row(
            {"url": "https://own.example", "variable": "OWN_URL", "header": "x-key", "calls": ["POST /go"]},
            "service https://own.example ('POST /go',) ['x-key']",
            {**KEYED, **BROKERED},
            {"key": "ANTHROPIC_API_KEY"},
        ),
        "expose": Row(["MY_KEY"], "env MY_KEY=sk-own-0815", {**KEYED, **BROKERED}, {"key": ["MY_KEY"]}),
        "authenticate": Row("oauth", '"authenticate": "oauth"'),
        "home": Row({".x/settings": "text-4711"}, "file .x/settings text-4711"),
        "hosts": Row(["api.example"], "network api.example"),
        "server_tools": Row(["mcp"], "service tools ['mcp']", BROKERED, {"key": "ANTHROPIC_API_KEY"}),
    },
    **{kind: preset_rows(*values) for kind, values in ACP_PRESETS.items()},
    "command": {
        "command": Row(["tool", "--ask"], "argv tool --ask"),
        "args": Row(["--more"], "argv usual --more"),
        "exit_codes": Row({"9": "quota"}, "exit 9 quota"),
    },
    "recorded": {"dir": Row("tapes", "tapes")},
    "scripted": {"script": Row("cast.yaml", "I painted it 4711")},
}  # fmt: skip
USUAL: Mapping[str, Mapping[str, Any]] = {"acp": {"command": ["usual"]}, "command": {"command": ["usual"]}}
"""Settings without which a type does not start anything."""


def new_request(kind: str, project: Path, config: Mapping[str, Any], **more: Any) -> AgentRequest:
    return AgentRequest(
        agent="it", config={"type": kind, **config}, path="it", step="it", visit=1, attempt=1, nonce="4c1f",
        project=project, cwd=Path("/ws"), home=Path("/home/of/it"), **{"prompt": "Paint", "env": ENV, **more},
    )  # fmt: skip


def adapter_of(kind: str) -> Agent:
    adapter = built_in(kind).new_adapter()
    assert isinstance(adapter, Agent)
    return adapter


def describe(program: ProgramSpec) -> str:
    """Everything that is started and sent, as text."""
    service = program.service
    return "\n".join(
        [
            f"argv {' '.join(program.argv)}",
            *(f"env {name}={value}" for name, value in program.env.items()),
            *(f"file {name} {content.decode()}" for name, content in program.files.items()),
            f"stdin {(program.stdin or b'').decode()}",
            *(f"network {host}" for host in program.network),
            *(
                []
                if service is None
                else [f"service {service.upstream} {service.paths} {[*service.headers]}"]
            ),
            *([] if service is None else [f"service tools {sorted(service.server_tools)}"]),
        ]
    )


PROGRAM_ROWS = [
    pytest.param(kind, key, row, id=f"{kind}-{key}")
    for kind, rows in ROWS.items()
    for key, row in rows.items()
    if key not in ("exit_codes", "expose") and kind != "recorded"
]


@pytest.mark.parametrize(("kind", "key", "row"), PROGRAM_ROWS)
def test_each_key_changes_what_is_started(kind: str, key: str, row: Row, tmp_path: Path) -> None:
    (tmp_path / "cast.yaml").write_text("- {text: I painted it 4711}\n")
    usual = {**USUAL.get(kind, {}), **row.config}
    config = {**usual, key: row.value}
    assert [*faults_of("it", kind, built_in(kind).capabilities, config)] == []

    without, _ = adapter_of(kind).prepare(new_request(kind, tmp_path, usual, **row.request))
    program, _ = adapter_of(kind).prepare(new_request(kind, tmp_path, config, **row.request))

    assert row.effect in describe(program)
    assert row.effect not in describe(without)


def test_every_declared_key_has_a_row_and_every_row_a_key() -> None:
    services = {"api": set(API_ROWS), "ollama": set(OLLAMA_ROWS)}
    for agent_type in built_in_types():
        rows = services.get(agent_type.name) or set(ROWS[agent_type.name])
        declared = set(agent_type.capabilities.keys) - ATTEMPT_KEYS
        # What concerns its session, its prompt and its output is shown by the tests of that adapter.
        elsewhere = {"resume", "fields", "prompt_argument"} if agent_type.name == "command" else set()
        assert rows == declared - elsewhere, agent_type.name


def test_the_declarations_are_complete_and_each_agent_accepts_only_its_own() -> None:
    types = {name: built_in(name) for name in BUILT_IN}
    all_keys = {key for agent_type in types.values() for key in agent_type.capabilities.keys}
    for name, agent_type in types.items():
        capabilities = agent_type.capabilities
        assert not set(capabilities.keys) & (set(COMMON_KEYS) | set(capabilities.unsupported)), name
        assert all(key.meaning and is_readable(key.type) for key in capabilities.keys.values()), name
        assert ("instructions" in capabilities.keys) == bool(capabilities.instruction_files), name
        for key in all_keys - set(capabilities.keys):
            (fault,) = faults_of("it", name, capabilities, {key: "x"})
            assert key in fault.message
    assert {key for key in keys_of(AgentEntry) if key not in all_keys} == {*COMMON_KEYS, *PROGRAM_KEYS}


@pytest.mark.parametrize("agent_type", built_in_types(), ids=lambda agent_type: str(agent_type.name))
def test_a_value_of_no_type_at_all_is_refused_for_every_key(agent_type: AgentType) -> None:
    """No key takes a list of lists, and a key that took anything would check nothing."""
    for key in agent_type.capabilities.keys:
        if key not in keys_of(AgentEntry):
            assert [*faults_of("it", agent_type.name, agent_type.capabilities, {key: [[[]]]})], key


def test_an_exposed_key_reaches_the_agent_and_is_an_error_without(tmp_path: Path) -> None:
    row = ROWS["acp"]["expose"]
    config = {"command": ["usual"], **row.config}
    with pytest.raises(ConfigurationError, match="would get MY_KEY"):
        adapter_of("acp").prepare(new_request("acp", tmp_path, config, **row.request))
    program, _ = adapter_of("acp").prepare(
        new_request("acp", tmp_path, {**config, "expose": row.value}, **row.request)
    )
    assert row.effect in describe(program)


def test_the_folder_of_recordings_is_the_one_that_is_read(tmp_path: Path) -> None:
    for folder in ("tapes", "others"):
        (tmp_path / folder).mkdir()
        with pytest.raises(ConfigurationError, match=folder):
            adapter_of("recorded").prepare(new_request("recorded", tmp_path, {"dir": folder}))


def test_an_exit_code_means_what_the_settings_say(tmp_path: Path) -> None:
    def trouble(config: Mapping[str, Any]) -> str | None:
        _, parser = adapter_of("command").prepare(
            new_request("command", tmp_path, {"command": ["x"], **config})
        )
        return parser.finish(finished_process(exit_code=9)).trouble

    assert (trouble({}), trouble({"exit_codes": {"9": "quota"}})) == ("error", "quota")


@pytest.mark.parametrize(
    ("kind", "args"),
    [
        ("claude", ["--dangerously-skip-permissions"]),
        ("claude", ["--settings={}"]),
        ("claude", ["--betas", "x"]),
        ("claude", ["--disallowedTools=Bash\n--settings=x"]),
        ("codex", ["--config=sandbox_mode=danger-full-access"]),
        ("codex", ["--config=model_verbosity=low,sandbox_mode=x"]),
        ("codex", ["-c", "model_verbosity=low"]),
    ],
)
def test_an_option_outside_of_the_list_is_refused(kind: str, args: list[str], tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="not allowed; it may have --"):
        adapter_of(kind).prepare(new_request(kind, tmp_path, {"args": args}))


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_options_in_the_command_are_refused_because_a_workflow_may_set_it(kind: str, tmp_path: Path) -> None:
    config = {"command": ["it", "--dangerously-skip-permissions"]}
    with pytest.raises(ConfigurationError, match="write options under args"):
        adapter_of(kind).prepare(new_request(kind, tmp_path, config))


@pytest.mark.parametrize(
    ("servers", "fact"),
    [
        ({"Docs": {"command": ["x"]}}, "mcp.Docs must have only small letters"),
        ({"docs": {"command": []}}, "mcp.docs.command must be a list"),
        ({"docs": {"command": ["x"], "env": ["NAME"]}}, 'mcp.docs.env has "NAME"; write NAME=value'),
    ],
)
def test_a_server_that_cannot_be_started_is_refused(
    servers: Mapping[str, Any], fact: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=fact):
        adapter_of("claude").prepare(new_request("claude", tmp_path, {"mcp": servers}))


@pytest.mark.parametrize(
    ("more", "has_servers"),
    [({}, True), ({"judge": True}, False), ({"tools": ("read",)}, False), ({"tools": ("read", "mcp")}, True)],
)
def test_only_workers_whose_tools_allow_it_get_servers_and_their_hosts(
    more: Mapping[str, Any], has_servers: bool, tmp_path: Path
) -> None:
    program, _ = adapter_of("claude").prepare(new_request("claude", tmp_path, {"mcp": MCP}, **more))

    assert ("mcp.json" in program.files) == has_servers
    assert ("docs.example" in program.network) == has_servers
    assert any("mcp__docs" in word for word in program.argv) == has_servers


@pytest.mark.parametrize("kind", ["claude", "codex"])
def test_the_environment_of_a_server_is_not_in_the_list_of_processes(kind: str, tmp_path: Path) -> None:
    program, _ = adapter_of(kind).prepare(new_request(kind, tmp_path, {"mcp": MCP}))

    assert "DOCS" not in " ".join(program.argv)
    assert "DOCS" in describe(program)


def test_bypassed_permissions_need_a_sandbox_and_keep_no_rule_silent(tmp_path: Path) -> None:
    config = {"permission_mode": "bypassPermissions"}
    with pytest.raises(ConfigurationError, match="needs a sandbox"):
        adapter_of("claude").prepare(new_request("claude", tmp_path, config))
    with pytest.raises(ConfigurationError, match="would ignore rules"):
        adapter_of("claude").prepare(
            new_request("claude", tmp_path, config, sandboxed=True, tools=("Bash(git *)",))
        )
    program, _ = adapter_of("claude").prepare(new_request("claude", tmp_path, config, sandboxed=True))
    judge, _ = adapter_of("claude").prepare(new_request("claude", tmp_path, config, judge=True))

    assert "--permission-mode=bypassPermissions" in program.argv
    assert program.env["IS_SANDBOX"] == "1"
    assert "--permission-mode=dontAsk" in judge.argv


API_ROWS: Mapping[str, Any] = {
    "base_url": None,
    "key": "MY_KEY",
    "effort": ("high", "reasoning_effort", "high"),
    "temperature": (0.3, "temperature", 0.3),
    "max_tokens": ("2k", "max_tokens", 2000),
    "timeout": "1s",
}
OLLAMA_ROWS: Mapping[str, Any] = {
    "base_url": None,
    "temperature": (0.3, "options.temperature", 0.3),
    "max_tokens": ("2k", "options.num_predict", 2000),
    "timeout": "1s",
    "tiers": None,
}


def call(kind: str, server: ModelServer, config: Mapping[str, Any], **more: Any) -> AgentResult:
    service = built_in(kind).new_adapter()
    assert isinstance(service, ServiceAgent)
    url = server.url + ("/v1" if kind == "api" else "")
    request = new_request(kind, Path("/project"), {"base_url": url, **config}, **{"model": "m", **more})
    return anyio.run(service.call, request)


@pytest.mark.parametrize(
    ("kind", "key", "row"),
    [("api", *pair) for pair in API_ROWS.items() if isinstance(pair[1], tuple)]
    + [("ollama", *pair) for pair in OLLAMA_ROWS.items() if isinstance(pair[1], tuple)],
)
def test_each_key_of_a_service_is_in_its_request(kind: str, key: str, row: tuple[Any, str, Any]) -> None:
    value, path, expected = row
    with ModelServer(Rule(text="done")) as server:
        call(kind, server, {})
        assert call(kind, server, {key: value}).text == "done"

    without, sent = [json.loads(json.dumps(one.body)) for one in server.requests_to()]
    for part in path.split("."):
        without, sent = (without or {}).get(part), sent[part]
    assert (without, sent) == (None, expected)


@pytest.mark.parametrize("kind", ["api", "ollama"])
def test_a_call_of_a_service_ends_at_its_timeout(kind: str) -> None:
    with ModelServer(Rule(fault="hang")) as server:
        assert call(kind, server, {"timeout": "1s"}).trouble == "timeout"


def test_the_key_of_an_api_is_the_one_that_the_settings_name() -> None:
    with ModelServer(Rule(text="done")) as server:
        call("api", server, {"key": "MY_KEY"}, **KEYED)

    assert server.requests_to()[0].headers["authorization"].endswith("0815")


def test_own_tiers_choose_the_model_of_ollama() -> None:
    tier = {"writer": "own-model", "auditor": "own-model", "coder": "own-model", "fallback": "own-model"}
    with ModelServer(Rule(text="done")) as server:
        call("ollama", server, {"tiers": {"cpu": {"vram": [0, 999], "context": "4k", **tier}}}, model=None)

    assert server.requests_to()[-1].body["model"] == "own-model"


IMAGE = ImageInput("shed.png", "image/png", b"\x89PNG-4711")


def test_agents_that_take_images_send_them() -> None:
    for kind, path in (("api", "content.1.image_url.url"), ("ollama", "images.0")):
        with ModelServer(Rule(text="done")) as server:
            assert call(kind, server, {}, images=(IMAGE,)).text == "done"
        value: Any = server.requests_to()[0].body["messages"][-1]
        for part in path.split("."):
            value = value[int(part) if part.isdigit() else part]
        assert value.endswith(IMAGE.base64())
    codex, _ = adapter_of("codex").prepare(new_request("codex", Path("/p"), {}, images=(IMAGE,)))
    assert "--image=/home/of/it/.codex/images/1.png" in codex.argv
    assert codex.files[".codex/images/1.png"] == IMAGE.content
