"""The `gemini` program (tested: 0.61.0), headless: the prompt on stdin, lines of JSON on stdout, a home per attempt.

    agents:
      gemini: {type: gemini, model: gemini-2.5-pro, max_turns: 40}
      proxy:  {type: gemini, base_url: "https://models.example", key: MODELS_KEY}

The workspace is never trusted. In a trusted one the program would read `.gemini/settings.json` (hooks, MCP servers) and
`.gemini/.env` (proxies, headers, commands to start), and an earlier agent may have written both. Instead, a policy file
in the home of the attempt allows tools by name. The program then refuses git in its shell, which agents do not need.

The prompt follows a custom command, because the program replaces each "@name" in a plain prompt by the content of that
file and adds spaces, which would change a diff.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from podium.adapters.agents.gemini import AGENT, CREDENTIALS, terminal
from podium.adapters.agents.gemini.stream import GeminiConversation
from podium.adapters.agents.shared.broker import DUMMY_KEY, URL, host_of, is_brokered, service
from podium.adapters.agents.shared.handover import task_context
from podium.adapters.agents.shared.program_keys import OWN_SERVER
from podium.adapters.agents.shared.settings import address, count, wrong
from podium.credentials import key_names, missing
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.ports.sandbox import Service

BASE_URL: Final = "https://generativelanguage.googleapis.com"
(KEY,) = CREDENTIALS.keys
"""The variable from which the program reads its key, even if the user's variable has another name."""
PATHS: Final = (
    "POST /v1beta/models/*:generateContent",
    "POST /v1beta/models/*:streamGenerateContent?alt",
    "POST /v1beta/models/*:countTokens",
)
"""The API calls it needs for its model; not those for files or caches."""
MAX_TURNS: Final = 100
REPORT: Final = ".gemini/calls.log"
"""Where the program writes records about its calls; only they say that an answer was cut off."""
REPORT_LIMITS: Final = (
    "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT",
    "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT",
)
"""Variables that keep the texts of the conversation out of these records."""
MAX_REPORTED: Final = "100"
PROJECT_NAME: Final = "podium"
"""The program's name for the folder it works in."""
TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("list_directory", "read_file", "glob", "grep_search"),
    "edit": ("replace", "write_file"),
    "run": ("run_shell_command",),
    "web": ("web_fetch", "google_web_search"),
}
SERVER_TOOLS: Final[Mapping[str, str]] = {"google_web_search": "web_search", "web_fetch": "web_fetch"}
"""The tools that the vendor runs on its side, and their names in `server_tools`."""
TOOL_NAMES: Final = frozenset(tool for tools in TOOLS.values() for tool in tools)
WORKER_TOOLS: Final = ("read", "edit", "run")
REVIEWER_TOOLS: Final = ("read",)
# Variables that a planted `.env` file could set; the program does not override variables that exist.
CLEARED: Final = (
    "GEMINI_CLI_CUSTOM_HEADERS",
    "GOOGLE_API_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_GENAI_USE_GCA",
    "GOOGLE_GENAI_USE_VERTEXAI",
)


class Gemini:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, GeminiConversation]:
        tools = _tools(request)
        command = f"podium-{request.nonce}"
        model = request.model or AGENT.model
        system = _system_file(request)
        texts = {
            **_files(request, tools, _settings(request, tools, system)),
            f".gemini/commands/{command}.toml": 'prompt = "What follows the next line is the request."\n',
            **({f".gemini/{system}": request.system} if request.system else {}),
        }
        program = replace(
            _program_of(request, tools, texts),
            stdin=f"/{command}\n{request.prompt}".encode("utf-8", "surrogateescape"),
            streams_progress=True,
            report=REPORT,
        )
        program = replace(program, argv=(program.argv[0], "--output-format=stream-json", *program.argv[1:]))
        missing_key = missing(CREDENTIALS, request.config, request.env)
        wants_value = request.schema is not None
        return program, GeminiConversation(model, wants_value=wants_value, missing_key=missing_key)

    def open(self, request: AgentRequest) -> ProgramSpec:
        tools, system = _tools(request), _system_file(request)
        settings = terminal.settings_of(_settings(request, tools, system))
        texts = {**_files(request, tools, settings), f".gemini/{system}": task_context(request)}
        program = _program_of(request, tools, texts)
        return replace(program, env={**program.env, "NO_COLOR": ""})

    def read_conversation(self, files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
        return terminal.read_conversation(files, request)


def _system_file(request: AgentRequest) -> str:
    """Its name contains the nonce, so no file of the tree has it: the program reads this text and no GEMINI.md."""
    return f"system-{request.nonce}.md"


def _files(request: AgentRequest, tools: tuple[str, ...], settings: Mapping[str, Any]) -> dict[str, str]:
    return {
        ".gemini/settings.json": json.dumps(settings, indent=1),
        ".gemini/allowed.toml": _policy(tools, own=_uses_tools(request)),
        # A fixed project name: the program finds conversations by it, and each attempt has another folder.
        ".gemini/projects.json": json.dumps({"projects": {str(request.cwd.resolve()): PROJECT_NAME}}),
        f".gemini/tmp/{PROJECT_NAME}/.project_root": str(request.cwd.resolve()),
    }


def _program_of(request: AgentRequest, tools: tuple[str, ...], texts: Mapping[str, str]) -> ProgramSpec:
    session = request.session
    return ProgramSpec(
        argv=(
            _program(request),
            f"--model={request.model or AGENT.model}",
            f"--policy={request.home / '.gemini/allowed.toml'}",
            "--extensions=none",
            *((f"--allowed-mcp-server-names={OWN_SERVER}",) if _uses_tools(request) else ()),
            *(() if request.memory is None else (f"--include-directories={request.memory}",)),
            *(() if session is None else (f"--resume={session.id}",)),
        ),
        env=_environment(request),
        network=() if is_brokered(request) else (host_of(_base_url(request)),),
        service=_service(request, tools),
        files={
            **{name: text.encode("utf-8", "surrogateescape") for name, text in texts.items()},
            **({} if session is None else session.files),
        },
        session_files=(f".gemini/tmp/{PROJECT_NAME}/chats/session-*.jsonl",),
    )


def _key(config: Mapping[str, Any]) -> str:
    (name,) = key_names(CREDENTIALS, config)
    return name


def _settings(request: AgentRequest, tools: tuple[str, ...], system: str) -> dict[str, Any]:
    return {
        "security": {
            # With a custom base URL the program would choose a login method that it then rejects.
            "auth": {"selectedType": "gemini-api-key"},
            # Otherwise it exits in an untrusted folder; the environment says that the folder is untrusted.
            "folderTrust": {"enabled": False},
            # Commands in its shell must not get the key.
            "environmentVariableRedaction": {"enabled": True, "blocked": [KEY, *REPORT_LIMITS]},
        },
        "privacy": {"usageStatisticsEnabled": False},
        # To a file only: nothing is sent.
        "telemetry": {
            "enabled": True,
            "target": "local",
            "outfile": str(request.home / REPORT),
            "logPrompts": False,
        },
        # The run retries by itself, because it knows the limits.
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1},
        "model": {"maxSessionTurns": _number(request, "max_turns", MAX_TURNS), "skipNextSpeakerCheck": True},
        **_thinking(request),
        "tools": {"core": list(tools)},
        "context": {"fileName": system},
        "advanced": {"ignoreLocalEnv": True},
        "hooksConfig": {"enabled": False},
        "skills": {"enabled": False},
        "experimental": {"enableAgents": False},
        **_mcp(request),
    }


def _uses_tools(request: AgentRequest) -> bool:
    """Whether it calls the tools of its step as an MCP server, for which it has to trust the workspace.

    A trusted workspace with settings could start hooks and servers; there the tools are called by `podium-step` only.
    """
    return request.tool_server is not None and not request.has_settings


def _mcp(request: AgentRequest) -> dict[str, Any]:
    """The tools of the step are its only MCP server."""
    server = request.tool_server
    if server is None or not _uses_tools(request):
        return {"mcp": {"allowed": []}}
    headers = {"Authorization": f"Bearer {server.token}"}
    entry = {"httpUrl": server.url, "headers": headers, "trust": True}
    return {"mcp": {"allowed": [OWN_SERVER]}, "mcpServers": {OWN_SERVER: entry}}


def _thinking(request: AgentRequest) -> dict[str, Any]:
    budget = count(request, "thinking")
    if budget is None:
        return {}
    config = {"generateContentConfig": {"thinkingConfig": {"thinkingBudget": budget}}}
    override = {"match": {"model": request.model or AGENT.model}, "modelConfig": config}
    return {"modelConfigs": {"customOverrides": [override]}}


def _policy(tools: tuple[str, ...], *, own: bool) -> str:
    names = ", ".join(f'"{name}"' for name in tools)
    # A second rule, because `allowRedirection` is valid for the shell only; without it a ">" would ask a person.
    rule = f'[[rule]]\ntoolName = [{names}]\ndecision = "allow"\npriority = 900\n'
    if own:
        rule += f'\n[[rule]]\nmcpName = "{OWN_SERVER}"\ntoolName = "*"\ndecision = "allow"\npriority = 900\n'
    if "run_shell_command" not in tools:
        return rule
    return f'{rule}\n[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 901\nallowRedirection = true\n'


def _environment(request: AgentRequest) -> dict[str, str]:
    home = request.home
    return {
        **dict.fromkeys(CLEARED, ""),
        **dict.fromkeys(REPORT_LIMITS, MAX_REPORTED),
        KEY: DUMMY_KEY if is_brokered(request) else request.env.get(_key(request.config), ""),
        "GEMINI_CLI_HOME": str(home),
        # It starts no MCP server in a folder that it does not trust.
        "GEMINI_CLI_TRUST_WORKSPACE": "true" if _uses_tools(request) else "false",
        # Otherwise it starts a second process, which signals do not reach.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / ".gemini/none.json"),
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": str(home / ".gemini/none.json"),
        "GOOGLE_GEMINI_BASE_URL": URL if is_brokered(request) else _base_url(request),
        "NO_COLOR": "1",
    }


def _service(request: AgentRequest, tools: tuple[str, ...]) -> Service | None:
    key = request.env.get(_key(request.config))
    return service(
        request,
        _base_url(request),
        PATHS,
        {"x-goog-api-key": key} if key else {},
        tools=[SERVER_TOOLS[tool] for tool in tools if tool in SERVER_TOOLS],
    )


def _program(request: AgentRequest) -> str:
    command = request.config.get("command") or AGENT.program
    if not isinstance(command, str):
        raise wrong(request, "command", f"must be one program name or path, not {command!r}")
    return command


def _tools(request: AgentRequest) -> tuple[str, ...]:
    default = REVIEWER_TOOLS if request.judge else WORKER_TOOLS
    words = default if request.tools is None else request.tools
    unknown = [word for word in words if word not in TOOLS and word not in TOOL_NAMES]
    if unknown:
        raise ConfigurationError(
            f'step "{request.step}": tools has "{unknown[0]}", which is not a tool of gemini',
            hint=f"use {', '.join(TOOLS)}, or a name such as read_file",
        )
    tools = [tool for word in words for tool in TOOLS.get(word, (word,))]
    if request.judge:
        # A reviewer only reads, even if its role allows other tools for other steps.
        tools = [tool for tool in tools if tool in TOOLS["read"]]
    # An empty list would mean all tools.
    return tuple(dict.fromkeys(tools)) or ("none",)


def _base_url(request: AgentRequest) -> str:
    return address(request, BASE_URL)


def _number(request: AgentRequest, key: str, default: int) -> int:
    number = request.config.get(key, default)
    if type(number) is not int or number < 1:
        raise wrong(request, key, "is not a whole number above zero")
    return number
