"""Claude Code as an agent (R061): `claude -p`, the prompt on stdin, one line of JSON for all that happens.

    agents:
      claude: {type: claude, model: sonnet, max_turns: 100, max_usd: 1.5}
      mine:   {type: claude, auth: login}                      # a subscription instead of a key
      proxy:  {type: claude, base_url: "https://models.example", key: MODELS_KEY}

Nothing of the repository configures it: no settings, hooks, MCP servers, skills or CLAUDE.md are read, for an earlier
agent may have written them. `tools` of a role are its own list, or the words read, edit, run and web.
Its answers are understood in stream.py. Tried with 2.1.197.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.adapters.agents.claude import AGENT, CREDENTIALS
from podium.adapters.agents.claude.stream import ClaudeConversation
from podium.adapters.agents.shared.broker import DUMMY_KEY, URL, host_of, is_brokered, service
from podium.adapters.agents.shared.settings import address
from podium.core.expressions.values import plain_json
from podium.credentials import key_names, missing
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.ports.sandbox import Service

(KEY,) = CREDENTIALS.keys
"""Also the variable from which the program reads its key, whatever the user's is called."""
TURNS: Final = 100
CONFIG_DIR: Final = ".claude"
SYSTEM_FILE: Final = "system.md"
HOST: Final = "api.anthropic.com"
LOGIN_HOSTS: Final = (HOST, "platform.claude.com", "console.anthropic.com")
"""A login is renewed at another place than where it is used."""
PATHS: Final = ("POST /v1/messages?beta", "POST /v1/messages/count_tokens?beta")
"""The calls of a model that it makes; not those for files, batches or the account."""
LOGIN_FILE: Final = f"{CONFIG_DIR}/.credentials.json"
MAX_SCHEMA: Final = 100_000
"""One argument of a program holds 128 KiB."""

TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "read": ("Read", "Glob", "Grep"),
    "edit": ("Edit", "Write", "NotebookEdit"),
    "run": ("Bash",),
    "web": ("WebFetch", "WebSearch"),
}
USUAL: Final = ("read", "edit", "run")
JUDGES: Final = ("read",)

SAFE: Final[Mapping[str, str]] = {
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    # An "@name" in a prompt would be replaced by that file, wherever it lies.
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",
    # What runs in the background outlives the answer.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    # Ten by default, three minutes of them; the engine has retries of its own.
    "CLAUDE_CODE_MAX_RETRIES": "2",
    "API_TIMEOUT_MS": "300000",
    # Against a stream that falls silent. How soon it is given up is the program's own affair: with 3000 nothing was seen
    # to happen for 25 s. The attempt's timeout bounds it in any case.
    "CLAUDE_ENABLE_STREAM_WATCHDOG": "1",
    "CLAUDE_STREAM_IDLE_TIMEOUT_MS": "120000",
}
FLAGS: Final = (
    "-p",
    "--output-format=stream-json",
    "--verbose",
    "--setting-sources=",
    "--strict-mcp-config",
    "--disable-slash-commands",
)


class Claude:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, ClaudeConversation]:
        schema = _schema(request)
        program = ProgramSpec(
            argv=(*_command(request), *FLAGS, *_flags(request, schema)),
            env={**SAFE, **_environment(request)},
            stdin=_said(request.prompt),
            files=_files(request),
            session_files=(f"{CONFIG_DIR}/projects/*/*.jsonl",),
            network=_network(request),
            streams_progress=True,
            service=_service(request),
            login=LOGIN_FILE if _auth(request.config) == "login" else None,
        )
        lacking = missing(CREDENTIALS, request.config, request.env, has_login=request.login is not None)
        return program, ClaudeConversation(request, structured=schema is not None, lacking=lacking)


def _files(request: AgentRequest) -> dict[str, bytes]:
    login = request.login if _checked_auth(request) == "login" else None
    return {
        **({SYSTEM_FILE: request.system.encode("utf-8", "replace")} if request.system else {}),
        **({LOGIN_FILE: login} if login is not None else {}),
        **_remembered(request),
    }


def _remembered(request: AgentRequest) -> dict[str, bytes]:
    """A conversation is looked for under the name of the folder it was in, and each attempt has another folder."""
    session = request.session
    if session is None:
        return {}
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(request.cwd.resolve()))
    return {
        f"{CONFIG_DIR}/projects/{folder}/{session.id}.jsonl": content
        for name, content in session.files.items()
        if name.endswith(f"/{session.id}.jsonl")
    }


def _said(prompt: str) -> bytes:
    # A prompt that begins with a slash is taken for a command of claude's own, which answers without any model.
    return (f"\n{prompt}" if prompt.startswith("/") else prompt).encode("utf-8", "replace")


def _auth(config: Mapping[str, Any]) -> str:
    return str(config.get("auth") or "key")


def _checked_auth(request: AgentRequest) -> str:
    auth = _auth(request.config)
    if auth not in ("key", "login"):
        raise _wrong(request, "auth", f'is "{auth}"; it is key or login')
    return auth


def _command(request: AgentRequest) -> tuple[str, ...]:
    said = request.config.get("command") or AGENT.program
    words = (said,) if isinstance(said, str) else tuple(said)
    if not words or not all(isinstance(word, str) and word for word in words):
        raise _wrong(request, "command", "is not a program, or a list of a program and its arguments")
    return words


def _flags(request: AgentRequest, schema: str | None) -> Iterator[str]:
    tools = tuple(_tools(request))
    if request.judge:
        # Whatever its role may use elsewhere: a reviewer does not write, run or ask around.
        tools = tuple(tool for tool in tools if tool in TOOLS["read"])
    # Its files are free to it within the folder and nowhere else; a tool that is listed as allowed is free anywhere.
    free = [tool for tool in tools if tool not in (*TOOLS["read"], *TOOLS["edit"])]
    yield f"--model={request.model or AGENT.model}"
    yield f"--max-turns={_turns(request)}"
    yield from _budget(request)
    yield f"--permission-mode={'dontAsk' if request.judge else 'acceptEdits'}"
    # Of a rule like "Bash(git *)" only the name says which tool it is.
    yield f"--tools={','.join(dict.fromkeys(tool.partition('(')[0] for tool in tools))}"
    if free:
        yield f"--allowedTools={','.join(free)}"
    if request.session is not None:
        yield f"--resume={request.session.id}"
    elif not request.resumable:
        yield "--no-session-persistence"
    if request.system:
        yield f"--append-system-prompt-file={request.home / SYSTEM_FILE}"
    if schema is not None:
        yield f"--json-schema={schema}"


def _tools(request: AgentRequest) -> Iterator[str]:
    said = request.tools if request.tools is not None else (JUDGES if request.judge else USUAL)
    for word in said:
        if word in TOOLS:
            yield from TOOLS[word]
        elif word[:1].isupper() and "," not in word:
            yield word
        else:
            known = ", ".join(TOOLS)
            raise ConfigurationError(
                f'step "{request.step}": tools has "{word}", which claude does not know',
                hint=f"use {known}, or a name of its own such as Bash or Bash(git diff *)",
            )


def _turns(request: AgentRequest) -> int:
    turns = request.config.get("max_turns", TURNS)
    if type(turns) is not int or turns < 1:
        raise _wrong(request, "max_turns", "is not a whole number above 0")
    return turns


def _budget(request: AgentRequest) -> Iterator[str]:
    """It looks after each call of the model, so that the last one may go beyond."""
    usd = request.config.get("max_usd")
    if usd is None:
        return
    if isinstance(usd, bool) or not isinstance(usd, int | float) or usd <= 0:
        raise _wrong(request, "max_usd", "is not a number above 0")
    yield f"--max-budget-usd={usd}"


def _schema(request: AgentRequest) -> str | None:
    """For claude's own mechanism, a tool that gives the value: so it must be an object. Others are asked for in words."""
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
    return service(request, address(request, f"https://{HOST}"), PATHS, {"x-api-key": key} if key else {})


def _network(request: AgentRequest) -> tuple[str, ...]:
    if is_brokered(request):
        return ()
    if request.config.get("base_url"):
        return (host_of(address(request, "")),)
    return LOGIN_HOSTS if _auth(request.config) == "login" else (HOST,)


def _wrong(request: AgentRequest, key: str, message: str) -> ConfigurationError:
    return ConfigurationError(f"agents.{request.agent}.{key} {message}")
