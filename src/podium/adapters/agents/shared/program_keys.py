"""Keys that several programs have: options for their command line, and MCP servers that they start."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from podium.adapters.agents.shared.settings import wrong
from podium.fast_dataclass import dataclass
from podium.ports.agent import AgentRequest
from podium.workflow.problems import join_words
from podium.workflow.schema.scalars import NAME

MCP: Final = "mcp"
"""The word in `tools` of a role that stands for the tools of the agent's MCP servers."""


OWN_SERVER: Final = "podium"
"""The name of the MCP server with the tools of the step."""


@dataclass(frozen=True, slots=True)
class McpServer:
    """An MCP server that the program starts in its sandbox, and talks to by standard input and output."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    hosts: tuple[str, ...]


def mcp_servers(request: AgentRequest) -> dict[str, McpServer]:
    """The servers of this request: none for a reviewer, who only reads, nor for a role whose `tools` omit `mcp`."""
    if request.judge or (request.tools is not None and MCP not in request.tools):
        return {}
    servers = request.config.get("mcp") or {}
    return {str(name): _server(request, str(name), entry) for name, entry in servers.items()}


def _server(request: AgentRequest, name: str, entry: Mapping[str, object]) -> McpServer:
    key = f"mcp.{name}"
    if not NAME.fullmatch(name):
        raise wrong(request, key, "must have only small letters, digits and _, and begin with a letter")
    argv, pairs, hosts = (_texts(entry.get(word)) for word in ("command", "env", "network"))
    if not argv:
        raise wrong(request, f"{key}.command", "must be a list of a program and its arguments")
    unset = [pair for pair in pairs if "=" not in pair]
    if unset:
        raise wrong(request, f"{key}.env", f'has "{unset[0]}"; write NAME=value')
    env = {word: value for word, _, value in (pair.partition("=") for pair in pairs)}
    return McpServer(argv, env, hosts)


def _texts(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def hosts_of(servers: Mapping[str, McpServer]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(host for server in servers.values() for host in server.hosts))


def check_command(request: AgentRequest, words: Sequence[str]) -> None:
    """Refuses options in `command`, which a workflow may set; `args` has a list of those that are allowed."""
    named = [word for word in words[1:] if word.startswith("-")]
    if named:
        raise wrong(request, "command", f'has the option "{named[0]}"; write options under args')


def options(request: AgentRequest, allowed: Mapping[str, str]) -> tuple[str, ...]:
    """`args`, each of which must match one of the allowed patterns, by the beginning of the option."""
    args = _texts(request.config.get("args"))
    for arg in args:
        if not any(re.fullmatch(re.escape(start) + value, arg) for start, value in allowed.items()):
            forms = join_words([f"{start}..." for start in allowed], "or")
            raise wrong(request, "args", f'has "{arg}", which is not allowed; it may have {forms}')
    return args
