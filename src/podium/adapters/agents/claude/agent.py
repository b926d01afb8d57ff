"""Claude Code as an agent (R061): `claude -p`, one line of JSON per message on stdin and per event on stdout.

    agents:
      claude: {type: claude, model: sonnet, max_turns: 100, max_usd: 1.5}
      mine:   {type: claude, auth: login}                      # a subscription instead of a key
      proxy:  {type: claude, base_url: "https://models.example", key: MODELS_KEY}

It reads no settings, hooks, MCP servers, skills or CLAUDE.md of the repository, because an earlier agent may have
written them. The `tools` of a role are names of claude's tools, or the words read, edit, run and web.
stream.py parses its output. Tested with 2.1.197 and 2.1.325.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.adapters.agents.claude import AGENT, CREDENTIALS, terminal
from podium.adapters.agents.claude.messages import user_message
from podium.adapters.agents.claude.session_file import without_totals
from podium.adapters.agents.claude.stream import ClaudeConversation
from podium.adapters.agents.shared.broker import DUMMY_KEY, URL, host_of, is_brokered, service
from podium.adapters.agents.shared.program_keys import (
    MCP,
    OWN_SERVER,
    check_command,
    hosts_of,
    mcp_servers,
    options,
)
from podium.adapters.agents.shared.settings import address
from podium.core.expressions.values import plain_json
from podium.credentials import key_names, missing
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.ports.sandbox import Service

(KEY,) = CREDENTIALS.keys
"""The variable from which the program reads its key, even if the user's variable has another name."""
TURNS: Final = 100
CONFIG_DIR: Final = ".claude"
SYSTEM_FILE: Final = "system.md"
HOST: Final = "api.anthropic.com"
LOGIN_HOSTS: Final = (HOST, "platform.claude.com", "console.anthropic.com")
"""A login is renewed at other hosts than the one where it is used."""
PATHS: Final = ("POST /v1/messages?beta", "POST /v1/messages/count_tokens?beta")
"""The API calls it needs for its model; not those for files, batches or the account."""
LOGIN_FILE: Final = f"{CONFIG_DIR}/.credentials.json"
SESSION_FILES: Final = (f"{CONFIG_DIR}/projects/*/*.jsonl",)
MAX_SCHEMA: Final = 100_000
"""Maximum length of a schema as an argument, which Linux limits to 128 KiB."""

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("Read", "Glob", "Grep"),
    "edit": ("Edit", "Write", "NotebookEdit"),
    "run": ("Bash",),
    "web": ("WebFetch", "WebSearch"),
}
SEARCH: Final = "WebSearch"
"""The tool that lets the vendor search the web."""
WORKER_TOOLS: Final = ("read", "edit", "run")
REVIEWER_TOOLS: Final = ("read",)

BYPASS: Final = "bypassPermissions"
MCP_FILE: Final = "mcp.json"
MCP_VARIABLES: Final[Mapping[str, str]] = {"MCP_CONNECTION_NONBLOCKING": "false", "MCP_TIMEOUT": "30000"}
OPTIONS: Final[Mapping[str, str]] = {
    "--betas=": r"[a-z0-9,-]+",
    "--disallowedTools=": r"[A-Za-z0-9_*() :./,-]+",
    "--fallback-model=": r"[A-Za-z0-9.,\[\]-]+",
}
"""What `args` may have: the beginning of each option, and a pattern for the rest."""

SAFE: Final[Mapping[str, str]] = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # Otherwise "@name" in a prompt is replaced by the file of that name, even outside the workspace.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    # A background task would continue after the answer.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    # The default of ten takes three minutes; the engine retries by itself.
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "API_TIMEOUT_MS": "300000",
    # Ends a stream that sends nothing more. The program does not keep to the time exactly: with 3000 it still waited
    # after 25 s. The timeout of the attempt limits it in any case.
    "CLAUDE_ENABLE_STREAM_WATCHDOG": "1",
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS": "120000",
}
FLAGS: Final = (
    "-p",
    "--input-format=stream-json",
    "--output-format=stream-json",
    # It prints each message when its model gets it.
    "--replay-user-messages",
    "--verbose",
    "--setting-sources=",
    "--strict-mcp-config",
    "--disable-slash-commands",
)


class Claude:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, ClaudeConversation]:
        schema = _schema(request)
        program = ProgramSpec(
            argv=(*_command(request), *FLAGS, *_flags(request, schema), *options(request, OPTIONS)),
            env={**SAFE, **_environment(request)},
            stdin=user_message(request.prompt),
            files=_files(request),
            session_files=SESSION_FILES,
            network=(*_network(request), *hosts_of(mcp_servers(request))),
            streams_progress=True,
            service=_service(request),
            login=LOGIN_FILE if _auth(request.config) == "login" else None,
        )
        missing_auth = missing(CREDENTIALS, request.config, request.env, has_login=request.login is not None)
        return program, ClaudeConversation(request, structured=schema is not None, missing_auth=missing_auth)

    def open(self, request: AgentRequest) -> ProgramSpec:
        files = {**_files(request), **terminal.files_of(request, key=_environment(request).get(KEY))}
        flags = (flag for flag in _flags(request, None) if not flag.startswith(terminal.HEADLESS_FLAGS))
        return ProgramSpec(
            argv=(
                *_command(request),
                *terminal.FLAGS,
                *(flag for flag in flags if not flag.startswith(terminal.SYSTEM_FLAG)),
                f"{terminal.SYSTEM_FLAG}={request.home / SYSTEM_FILE}",
                *options(request, OPTIONS),
            ),
            env={**SAFE, **_environment(request), **terminal.ENVIRONMENT},
            files=files,
            session_files=SESSION_FILES,
            network=(*_network(request), *hosts_of(mcp_servers(request))),
            service=_service(request),
            login=LOGIN_FILE if _auth(request.config) == "login" else None,
        )

    def read_conversation(self, files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
        return terminal.read_conversation(files, request)


def _files(request: AgentRequest) -> dict[str, bytes]:
    login = request.login if _checked_auth(request) == "login" else None
    return {
        **({SYSTEM_FILE: request.system.encode("utf-8", "replace")} if request.system else {}),
        **({LOGIN_FILE: login} if login is not None else {}),
        **_mcp_file(request),
        **_session_files(request),
    }


def _mcp_file(request: AgentRequest) -> dict[str, bytes]:
    """The MCP servers, in a file, because an argument could be read by every user of the machine."""
    servers: dict[str, dict[str, Any]] = {
        name: {
            "type": "stdio",
            "command": server.argv[0],
            "args": server.argv[1:],
            "env": dict(server.env),
            # Otherwise the first turn starts without the tools of a server that is slow to answer.
            "alwaysLoad": True,
        }
        for name, server in mcp_servers(request).items()
    }
    own = request.tool_server
    if own is not None:
        headers = {"Authorization": f"Bearer {own.token}"}
        servers[OWN_SERVER] = {"type": "http", "url": own.url, "headers": headers, "alwaysLoad": True}
    return {MCP_FILE: json.dumps({"mcpServers": servers}).encode()} if servers else {}


def _session_files(request: AgentRequest) -> dict[str, bytes]:
    """The files of the session, moved to the folder of this attempt, where the program looks for them."""
    session = request.session
    if session is None:
        return {}
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(request.cwd.resolve()))
    return {
        f"{CONFIG_DIR}/projects/{folder}/{session.id}.jsonl": without_totals(content)
        for name, content in session.files.items()
        if name.endswith(f"/{session.id}.jsonl")
    }


def _auth(config: Mapping[str, Any]) -> str:
    return str(config.get("auth") or "key")


def _checked_auth(request: AgentRequest) -> str:
    auth = _auth(request.config)
    if auth not in ("key", "login"):
        raise _wrong(request, "auth", f'is "{auth}"; it must be key or login')
    return auth


def _command(request: AgentRequest) -> tuple[str, ...]:
    command = request.config.get("command") or AGENT.program
    words = (command,) if isinstance(command, str) else tuple(command)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise _wrong(request, "command", "is not a program, or a list of a program and its arguments")
    check_command(request, words)
    return words


def _flags(request: AgentRequest, schema: str | None) -> Iterator[str]:
    tools = _offered(request)
    # File tools are not listed as allowed: without that they work in the workspace only, with it they work anywhere.
    servers = (*mcp_servers(request), *([OWN_SERVER] if request.tool_server is not None else []))
    files = (*TOOLS["read"], *TOOLS["edit"])
    allowed = [tool for tool in tools if tool not in files and tool.partition("(")[0] not in request.approve]
    allowed += [f"mcp__{name}" for name in servers]
    yield f"--model={request.model or AGENT.model}"
    yield f"--max-turns={_turns(request)}"
    yield from _budget(request)
    yield f"--permission-mode={_permission_mode(request)}"
    if request.approve:
        # Rules to ask come before every permission of the mode and of --allowedTools.
        rules = {"permissions": {"ask": list(request.approve)}}
        yield f"--settings={json.dumps(rules)}"
        yield f"--permission-prompt-tool=mcp__{OWN_SERVER}__approve"
    if request.streams:
        yield "--include-partial-messages"
    if request.config.get("effort"):
        yield f"--effort={request.config['effort']}"
    if servers:
        yield f"--mcp-config={request.home / MCP_FILE}"
    # --tools takes only names: the name in a rule like "Bash(git *)" is the part before the bracket.
    yield f"--tools={','.join(dict.fromkeys(tool.partition('(')[0] for tool in tools))}"
    if allowed:
        yield f"--allowedTools={','.join(allowed)}"
    if request.memory is not None:
        # Its file tools would refuse a folder outside the workspace.
        yield f"--add-dir={request.memory}"
    if request.session is not None:
        yield f"--resume={request.session.id}"
    elif not request.resumable:
        yield "--no-session-persistence"
    if request.system:
        yield f"--append-system-prompt-file={request.home / SYSTEM_FILE}"
    if schema is not None:
        yield f"--json-schema={schema}"


def _permission_mode(request: AgentRequest) -> str:
    if request.judge:
        return "dontAsk"
    mode = str(request.config.get("permission_mode") or "acceptEdits")
    if mode == BYPASS and not request.sandboxed:
        raise _wrong(request, "permission_mode", f"is {mode}, which needs a sandbox: sandbox: bubblewrap")
    if mode == BYPASS and request.approve:
        raise _wrong(request, "permission_mode", f"is {mode}, which would ask nobody about approve_tools")
    if mode == BYPASS and any("(" in tool for tool in request.tools or ()):
        raise _wrong(request, "permission_mode", f"is {mode}, which would ignore rules such as Bash(git *)")
    return mode


def _offered(request: AgentRequest) -> tuple[str, ...]:
    tools = tuple(_tools(request))
    # A reviewer only reads, even if its role allows other tools for other steps.
    return tuple(tool for tool in tools if tool in TOOLS["read"]) if request.judge else tools


def _tools(request: AgentRequest) -> Iterator[str]:
    default = REVIEWER_TOOLS if request.judge else WORKER_TOOLS
    for word in default if request.tools is None else request.tools:
        if word == MCP:
            continue
        if word in TOOLS:
            yield from TOOLS[word]
        elif word[:1].isupper() and "," not in word:
            yield word
        else:
            raise ConfigurationError(
                f'step "{request.step}": tools has "{word}", which is not a tool of claude',
                hint=f"use {', '.join(TOOLS)}, {MCP}, or a name such as Bash or Bash(git diff *)",
            )


def _turns(request: AgentRequest) -> int:
    turns = request.config.get("max_turns", TURNS)
    if type(turns) is not int or turns < 1:
        raise _wrong(request, "max_turns", "is not a whole number above 0")
    return turns


def _budget(request: AgentRequest) -> Iterator[str]:
    """The cost limit, which claude checks after each call of the model, so the last call may exceed it."""
    usd = request.config.get("max_usd")
    if usd is None:
        return
    if isinstance(usd, bool) or not isinstance(usd, int | float) or usd <= 0:
        raise _wrong(request, "max_usd", "is not a number above 0")
    yield f"--max-budget-usd={usd}"


def _schema(request: AgentRequest) -> str | None:
    """The schema for claude's structured output, which must be an object; other schemas are only in the prompt."""
    if request.schema is None or request.schema.get("type") != "object":
        return None
    text = json.dumps(plain_json(request.schema))
    return text if len(text) <= MAX_SCHEMA else None


def _environment(request: AgentRequest) -> dict[str, str]:
    key, url = _key(request), request.config.get("base_url")
    if is_brokered(request):
        key, url = DUMMY_KEY, URL
    return {
        "CLAUDE_CONFIG_DIR": str(request.home / CONFIG_DIR),
        **(MCP_VARIABLES if mcp_servers(request) or request.tool_server is not None else {}),
        # Otherwise the program refuses this mode to root.
        **({"IS_SANDBOX": "1"} if _permission_mode(request) == BYPASS else {}),
        **({KEY: key} if key else {}),
        **({"ANTHROPIC_BASE_URL": str(url)} if url else {}),
    }


def _key(request: AgentRequest) -> str | None:
    if _checked_auth(request) != "key":
        return None
    return next(
        (request.env[name] for name in key_names(CREDENTIALS, request.config) if name in request.env), None
    )


def _service(request: AgentRequest) -> Service | None:
    key = _key(request)
    return service(
        request,
        address(request, f"https://{HOST}"),
        PATHS,
        {"x-api-key": key} if key else {},
        tools=("web_search",) if SEARCH in _offered(request) else (),
    )


def _network(request: AgentRequest) -> tuple[str, ...]:
    if is_brokered(request):
        return ()
    if request.config.get("base_url"):
        return (host_of(address(request, "")),)
    return LOGIN_HOSTS if _auth(request.config) == "login" else (HOST,)


def _wrong(request: AgentRequest, key: str, message: str) -> ConfigurationError:
    return ConfigurationError(f"agents.{request.agent}.{key} {message}")
