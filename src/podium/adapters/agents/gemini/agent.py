"""The `gemini` program (tried: 0.61.0), headless: the prompt on stdin, lines of JSON on stdout, a home of its own.

    agents:
      gemini: {type: gemini, model: gemini-2.5-pro, max_turns: 40}
      proxy:  {type: gemini, base_url: "https://models.example", key: MODELS_KEY}

The workspace is never trusted. A trusted one would lend the program its `.gemini/settings.json` (hooks, MCP servers)
and its `.gemini/.env` (proxies, headers, commands to start), and an earlier agent may have written both. What trust
would allow, a policy file in the home of the attempt allows by the name of the tool; the program refuses git in its
shell there, and git is the host's business anyway.

The prompt is the text after a command of our own, since the program takes each "@name" of a plain prompt for a file,
reads it in and puts spaces around it: no diff would arrive as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from podium.adapters.agents.gemini import AGENT, CREDENTIALS
from podium.adapters.agents.gemini.stream import GeminiConversation
from podium.adapters.agents.shared.broker import DUMMY_KEY, URL, host_of, is_brokered, service
from podium.adapters.agents.shared.settings import address, wrong
from podium.credentials import key_names, missing
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.ports.sandbox import Service

BASE_URL: Final = "https://generativelanguage.googleapis.com"
(KEY,) = CREDENTIALS.keys
"""Also the variable from which the program reads its key, whatever the user's is called."""
PATHS: Final = (
    "POST /v1beta/models/*:generateContent",
    "POST /v1beta/models/*:streamGenerateContent?alt",
    "POST /v1beta/models/*:countTokens",
)
"""The calls of a model that it makes; not those for files or caches."""
MAX_TURNS: Final = 100
PLACE: Final = "podium"
"""What the program calls the folder it works in."""
TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("list_directory", "read_file", "glob", "grep_search"),
    "edit": ("replace", "write_file"),
    "run": ("run_shell_command",),
    "web": ("web_fetch", "google_web_search"),
}
OWN: Final = frozenset(tool for tools in TOOLS.values() for tool in tools)
USUAL: Final = ("read", "edit", "run")
JUDGES: Final = ("read",)
# Whatever the program reads from its environment and a planted file might set; one that is set is not set again.
CLOSED: Final = (
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
        system = f"system-{request.nonce}.md"
        model = request.model or AGENT.model
        files = {
            ".gemini/settings.json": json.dumps(_settings(request, tools, system), indent=1),
            ".gemini/allowed.toml": _policy(tools),
            f".gemini/commands/{command}.toml": 'prompt = "What follows the next line is the request."\n',
            **({f".gemini/{system}": request.system} if request.system else {}),
            # Under a name of ours: it looks for conversations of the folder it works in, and each attempt has another.
            ".gemini/projects.json": json.dumps({"projects": {str(request.cwd.resolve()): PLACE}}),
            f".gemini/tmp/{PLACE}/.project_root": str(request.cwd.resolve()),
        }
        argv = (
            _program(request),
            "--output-format=stream-json",
            f"--model={model}",
            f"--policy={request.home / '.gemini/allowed.toml'}",
            "--extensions=none",
            *(() if request.session is None else (f"--resume={request.session.id}",)),
        )
        program = ProgramSpec(
            argv=argv,
            env=_environment(request),
            stdin=f"/{command}\n{request.prompt}".encode("utf-8", "surrogateescape"),
            network=() if is_brokered(request) else (host_of(_base_url(request)),),
            service=_service(request),
            files={
                **{name: text.encode("utf-8", "surrogateescape") for name, text in files.items()},
                **({} if request.session is None else request.session.files),
            },
            session_files=(f".gemini/tmp/{PLACE}/chats/session-*.jsonl",),
            streams_progress=True,
        )
        lacking = missing(CREDENTIALS, request.config, request.env)
        return program, GeminiConversation(model, wants_value=request.schema is not None, lacking=lacking)


def _key(config: Mapping[str, Any]) -> str:
    (name,) = key_names(CREDENTIALS, config)
    return name


def _settings(request: AgentRequest, tools: tuple[str, ...], system: str) -> dict[str, Any]:
    return {
        "security": {
            # With a base URL of its own the program would choose a way to log in that it then refuses.
            "auth": {"selectedType": "gemini-api-key"},
            # Else it ends where it is not trusted; that it is not is said by the environment.
            "folderTrust": {"enabled": False},
            # What its shell starts does not get the key.
            "environmentVariableRedaction": {"enabled": True, "blocked": [KEY]},
        },
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        # Trying again is the run's business, which knows the limits, and not hidden in a process.
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "maxAttempts": 1},
        "model": {"maxSessionTurns": _number(request, "max_turns", MAX_TURNS), "skipNextSpeakerCheck": True},
        "tools": {"core": list(tools)},
        # A name that no file of the tree can have: the role's text and no GEMINI.md.
        "context": {"fileName": system},
        "advanced": {"ignoreLocalEnv": True},
        "hooksConfig": {"enabled": False},
        "skills": {"enabled": False},
        "experimental": {"enableAgents": False},
        "mcp": {"allowed": []},
    }


def _policy(tools: tuple[str, ...]) -> str:
    names = ", ".join(f'"{name}"' for name in tools)
    # Several rules: `allowRedirection` is known for the shell only, and there a ">" would else ask a person.
    rule = f'[[rule]]\ntoolName = [{names}]\ndecision = "allow"\npriority = 900\n'
    if "run_shell_command" not in tools:
        return rule
    return f'{rule}\n[[rule]]\ntoolName = "run_shell_command"\ndecision = "allow"\npriority = 901\nallowRedirection = true\n'


def _environment(request: AgentRequest) -> dict[str, str]:
    home = request.home
    return {
        **dict.fromkeys(CLOSED, ""),
        KEY: DUMMY_KEY if is_brokered(request) else request.env.get(_key(request.config), ""),
        "GEMINI_CLI_HOME": str(home),
        "GEMINI_CLI_TRUST_WORKSPACE": "false",
        # Two processes else, of which a signal reaches one.
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GEMINI_CLI_SYSTEM_SETTINGS_PATH": str(home / ".gemini/none.json"),
        "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": str(home / ".gemini/none.json"),
        "GOOGLE_GEMINI_BASE_URL": URL if is_brokered(request) else _base_url(request),
        "NO_COLOR": "1",
    }


def _service(request: AgentRequest) -> Service | None:
    key = request.env.get(_key(request.config))
    return service(request, _base_url(request), PATHS, {"x-goog-api-key": key} if key else {})


def _program(request: AgentRequest) -> str:
    said = request.config.get("command") or AGENT.program
    if not isinstance(said, str):
        raise wrong(request, "command", f"must be one program name or path, not {said!r}")
    return said


def _tools(request: AgentRequest) -> tuple[str, ...]:
    said = request.tools if request.tools is not None else (JUDGES if request.judge else USUAL)
    unknown = [word for word in said if word not in TOOLS and word not in OWN]
    if unknown:
        raise ConfigurationError(
            f'step "{request.step}": tools has "{unknown[0]}", which gemini does not know',
            hint=f"use {', '.join(TOOLS)}, or a name of its own such as read_file",
        )
    found = [tool for word in said for tool in TOOLS.get(word, (word,))]
    if request.judge:
        # Whatever its role may use elsewhere: a reviewer does not write, run or ask around.
        found = [tool for tool in found if tool in TOOLS["read"]]
    # An empty list would mean all of them.
    return tuple(dict.fromkeys(found)) or ("none",)


def _base_url(request: AgentRequest) -> str:
    return address(request, BASE_URL)


def _number(request: AgentRequest, key: str, usual: int) -> int:
    said = request.config.get(key, usual)
    if type(said) is not int or said < 1:
        raise wrong(request, key, "is not a whole number above zero")
    return said
