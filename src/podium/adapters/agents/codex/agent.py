"""Codex as an agent: `codex exec --json`, the prompt on stdin, a new CODEX_HOME for each attempt.

    agents:
      codex: {type: codex, model: gpt-5.5, effort: high}
      proxy: {type: codex, base_url: "https://models.example/v1", key: MODELS_KEY}
      mine:  {type: codex, auth: login}                        # a subscription instead of a key

The folder is never trusted, so its `.codex/` (MCP servers, instructions), AGENTS.md and skills are not read, because an
earlier agent may have written them. A worker can write only in its folder, a reviewer nowhere; the commands of neither
have network access. stream.py parses its output. Tested with 0.166.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from podium.adapters.agents.codex import AGENT, CREDENTIALS, EFFORTS, terminal
from podium.adapters.agents.codex.stream import CodexConversation
from podium.adapters.agents.codex.strict_schema import strict
from podium.adapters.agents.shared.broker import (
    DUMMY_KEY,
    URL,
    host_of,
    is_brokered,
    server_tools,
    service,
)
from podium.adapters.agents.shared.handover import task_context
from podium.adapters.agents.shared.program_keys import (
    OWN_SERVER,
    check_command,
    hosts_of,
    mcp_servers,
    options,
)
from podium.adapters.agents.shared.settings import address, seconds, wrong
from podium.core.expressions.values import plain_json
from podium.credentials import key_names, missing
from podium.ports.agent import AgentRequest, AgentResult, ProgramSpec
from podium.ports.sandbox import Service

BASE_URL: Final = "https://api.openai.com/v1"
LOGIN_URL: Final = "https://chatgpt.com/backend-api/codex"
LOGIN_HOSTS: Final = ("chatgpt.com", "auth.openai.com")
"""A login is renewed at another host than the one where it is used."""
FOLDER: Final = ".codex"
LOGIN_FILE: Final = f"{FOLDER}/auth.json"
PATHS: Final = ("POST /responses", "POST /responses/compact")
"""The API calls it needs for its model; not those for files or the account."""
SESSION_FILES: Final = (f"{FOLDER}/sessions/*/*/*/*.jsonl",)
SCHEMA_FILE: Final = f"{FOLDER}/answer.schema.json"
REQUEST_RETRIES: Final = 1
STREAM_RETRIES: Final = 2
SILENCE_MS: Final = 180_000
"""codex ends a stream after this time without an event; until the first event only the attempt's timeout applies."""

FEATURES: Final = (
    "apps",
    # With a login it would compress requests, so that a proxy could not read them.
    "enable_request_compression",
    "goals",
    "hooks",
    "image_generation",
    "memories",
    "multi_agent",
    "plugins",
    "shell_snapshot",
    "skill_mcp_dependency_install",
    "tool_suggest",
    # Otherwise it retries a refused connection forever.
    "unbounded_connection_retries",
)
"""Disabled: plug-ins and apps call three hosts at each start, others call models without counting, or run hooks."""
FLAGS: Final = (
    "exec",
    "--json",
    # Fail on an unknown setting; otherwise codex would silently ignore it.
    "--strict-config",
    "--ignore-rules",
    "--skip-git-repo-check",
    "--color=never",
)


OPTIONS: Final[Mapping[str, str]] = {
    "--config=model_verbosity=": r"(low|medium|high)",
    "--config=model_reasoning_summary=": r"(auto|concise|detailed|none)",
    "--config=service_tier=": r"(default|flex|priority)",
}
"""What `args` may have: the beginning of each option, and a pattern for the rest."""
PROXY_VARIABLES: Final = ("HTTPS_PROXY", "NO_PROXY")
MCP_START_S: Final = 30
TOKEN_VARIABLE: Final = "PODIUM_TOOLS_TOKEN"  # noqa: S105 (the name of a variable)


class Codex:
    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, CodexConversation]:
        schema = None if request.schema is None else strict(request.schema)
        files = {f"{FOLDER}/config.toml": write_config(request)}
        if schema is not None:
            files[SCHEMA_FILE] = json.dumps(plain_json(schema), ensure_ascii=False, indent=1)
        session = request.session
        resume = () if session is None else ("resume", session.id)
        program = ProgramSpec(
            argv=(
                *_program(request),
                *FLAGS,
                *options(request, OPTIONS),
                *_flags(request, structured=schema is not None),
                *resume,
                "-",
            ),
            env=_environment(request),
            stdin=_bytes(request.prompt),
            network=_hosts(request),
            service=_service(request),
            login=LOGIN_FILE if _auth(request) == "login" else None,
            files={
                **{name: _bytes(text) for name, text in files.items()},
                **_login_file(request),
                **_images(request),
                **({} if session is None else session.files),
            },
            session_files=SESSION_FILES,
            streams_progress=True,
        )
        return program, CodexConversation(request, auth_hint=_auth_hint(request))

    def open(self, request: AgentRequest) -> ProgramSpec:
        session = request.session
        config = write_config(replace(request, system=task_context(request)), **terminal.TABLES)
        return ProgramSpec(
            argv=(
                *_program(request),
                *(() if session is None else ("resume", session.id)),
                *terminal.FLAGS,
                *options(request, OPTIONS),
                *(flag for flag in _flags(request, structured=False) if flag != "--ephemeral"),
            ),
            env=_environment(request),
            files={
                f"{FOLDER}/config.toml": _bytes(config),
                **_login_file(request),
                **_images(request),
                **({} if session is None else session.files),
            },
            session_files=SESSION_FILES,
            network=_hosts(request),
            service=_service(request),
            login=LOGIN_FILE if _auth(request) == "login" else None,
        )

    def read_conversation(self, files: Mapping[str, bytes], request: AgentRequest) -> AgentResult:
        return terminal.read_conversation(files, request)


def _hosts(request: AgentRequest) -> tuple[str, ...]:
    return (*(() if is_brokered(request) else _network(request)), *hosts_of(mcp_servers(request)))


def _environment(request: AgentRequest) -> dict[str, str]:
    keys = _keys(request)
    if is_brokered(request):
        keys = dict.fromkeys(key_names(CREDENTIALS, request.config), DUMMY_KEY)
    return {"CODEX_HOME": str(request.home / FOLDER), **keys}


def _keys(request: AgentRequest) -> dict[str, str]:
    names = key_names(CREDENTIALS, request.config)
    return {name: request.env[name] for name in names if request.env.get(name)}


def _service(request: AgentRequest) -> Service | None:
    key = next(iter(_keys(request).values()), None)
    return service(request, _base_url(request), PATHS, {"Authorization": f"Bearer {key}"} if key else {})


def _login_file(request: AgentRequest) -> dict[str, bytes]:
    login = request.login if _auth(request) == "login" else None
    return {} if login is None else {LOGIN_FILE: login}


def _images(request: AgentRequest) -> dict[str, bytes]:
    return {
        f"{FOLDER}/images/{number}.{image.media_type.partition('/')[2]}": image.content
        for number, image in enumerate(request.images, start=1)
    }


def _auth_hint(request: AgentRequest) -> str:
    """What the user has to do if the vendor does not accept the login or the key."""
    if _auth(request) == "login":
        return "log in with: codex login"
    name = _key_name(request)
    return missing(CREDENTIALS, request.config, request.env) or f"the key in {name} was not accepted"


def _key_name(request: AgentRequest) -> str:
    (name,) = key_names(CREDENTIALS, request.config)
    return name


def _auth(request: AgentRequest) -> str:
    auth = request.config.get("auth") or "key"
    if auth not in ("key", "login"):
        raise wrong(request, "auth", f'is "{auth}"; it must be key or login')
    return str(auth)


def _program(request: AgentRequest) -> tuple[str, ...]:
    command = request.config.get("command")
    words = (command,) if isinstance(command, str) else tuple(command or (AGENT.program,))
    if not all(isinstance(word, str) and word for word in words):
        raise wrong(request, "command", "must be a program name, or a list of a program and its arguments")
    check_command(request, words)
    return words


def _flags(request: AgentRequest, *, structured: bool) -> Iterator[str]:
    # Without the flag the mode would depend on the configuration that earlier runs wrote.
    yield f"--sandbox={_sandbox(request)}"
    yield f"--model={request.model or AGENT.model}"
    yield f"--cd={request.cwd}"
    if request.memory is not None and not request.sandboxed:
        yield f"--add-dir={request.memory}"
    if not request.resumable:
        yield "--ephemeral"
    yield from (f"--image={request.home / name}" for name in _images(request))
    if structured:
        yield f"--output-schema={request.home / SCHEMA_FILE}"


def _sandbox(request: AgentRequest) -> str:
    """The mode of codex's own sandbox: off inside ours, which denies the namespaces that every command would need."""
    if request.sandboxed:
        return "danger-full-access"
    return "read-only" if request.judge else "workspace-write"


def write_config(request: AgentRequest, **tables: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in _settings(request).items()]
    for title, table in {**_tables(request), **tables}.items():
        lines += ["", f"[{title}]", *(f"{key} = {_toml(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _settings(request: AgentRequest) -> dict[str, Any]:
    effort = request.config.get("effort")
    if effort is not None and effort not in EFFORTS:
        raise wrong(request, "effort", f'is "{effort}"; it must be one of {", ".join(EFFORTS)}')
    return {
        "model": request.model or AGENT.model,
        "model_provider": "podium",
        "approval_policy": "never",
        "check_for_update_on_startup": False,
        "web_search": "live" if "web_search" in server_tools(request) else "disabled",
        "project_doc_max_bytes": 0,
        "project_root_markers": [],
        # A login shell would put the machine's PATH before that of the project's tools.
        "allow_login_shell": False,
        "cli_auth_credentials_store": "file",
        # With a login it also sends account requests here, so that the login goes to no other host.
        **({"chatgpt_base_url": _api_url(request)} if request.config.get("base_url") else {}),
        **({"model_reasoning_effort": effort} if effort is not None else {}),
        **({"developer_instructions": request.system} if request.system else {}),
    }


def _tables(request: AgentRequest) -> dict[str, dict[str, Any]]:
    # List every path of the folder: codex trusts an unlisted folder as soon as it may write there, and starts the MCP
    # servers that the configuration in the folder names.
    folders = dict.fromkeys((str(request.cwd), str(request.cwd.resolve())))
    keys = list(key_names(CREDENTIALS, request.config))
    return {
        "analytics": {"enabled": False},
        "otel": {"exporter": "none"},
        "history": {"persistence": "none"},
        "features": dict.fromkeys(FEATURES, False),
        "skills": {"include_instructions": False},
        "skills.bundled": {"enabled": False},
        # Commands that the model runs must not get the key.
        "shell_environment_policy": {"ignore_default_excludes": False, "exclude": keys},
        "sandbox_workspace_write": {"network_access": False, "exclude_slash_tmp": True},
        "model_providers.podium": _provider(request),
        **_mcp(request),
        **{f"projects.{_toml(folder)}": {"trust_level": "untrusted"} for folder in folders},
    }


def _mcp(request: AgentRequest) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {}
    for name, server in mcp_servers(request).items():
        tables[f"mcp_servers.{name}"] = {
            "command": server.argv[0],
            "args": list(server.argv[1:]),
            # A server gets only what is named here.
            "env_vars": [word for name in PROXY_VARIABLES for word in (name, name.lower())],
            # Otherwise codex would refuse each call, because there is no one to approve it.
            "default_tools_approval_mode": "approve",
            # Otherwise the first turn starts without the tools of a server that is slow to answer.
            "required": True,
            "startup_timeout_sec": MCP_START_S,
        }
        tables[f"mcp_servers.{name}.env"] = dict(server.env)
    if request.tool_server is not None:
        tables[f"mcp_servers.{OWN_SERVER}"] = {
            "url": request.tool_server.url,
            "bearer_token_env_var": TOKEN_VARIABLE,
            "default_tools_approval_mode": "approve",
            "required": True,
            "startup_timeout_sec": MCP_START_S,
        }
    return tables


def _provider(request: AgentRequest) -> dict[str, Any]:
    """A custom provider, because the retries of the built-in one cannot be limited."""
    is_login = _auth(request) == "login"
    silence = seconds(request, "stall")
    return {
        "name": "OpenAI",
        "base_url": _api_url(request),
        **({"requires_openai_auth": True} if is_login else {"env_key": _key_name(request)}),
        "wire_api": "responses",
        "request_max_retries": REQUEST_RETRIES,
        "stream_max_retries": STREAM_RETRIES,
        # A little less than `stall`, so that codex can report the reason before it is ended.
        "stream_idle_timeout_ms": SILENCE_MS if silence is None else int(silence * 800),
    }


def _base_url(request: AgentRequest) -> str:
    return address(request, LOGIN_URL if _auth(request) == "login" else BASE_URL)


def _api_url(request: AgentRequest) -> str:
    return URL if is_brokered(request) else _base_url(request)


def _network(request: AgentRequest) -> tuple[str, ...]:
    hosts = (host_of(_base_url(request)),)
    return tuple(dict.fromkeys((*hosts, *LOGIN_HOSTS))) if _auth(request) == "login" else hosts


def _toml(value: Any) -> str:
    """TOML for a value: the same as JSON, except for one character that must be escaped."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
