"""Finds the programs of agents, the default agent, and what the user must do before an agent can work."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from typing import Any

from podium.credentials import expired_login, missing, with_auth
from podium.ports.agent import Agents, InstalledAgent
from podium.ports.agent_type import AgentType

Configured = Mapping[str, Mapping[str, Any]]
"""The settings of agents by name: `agents` of a workflow."""


def program_of(agent_type: AgentType, config: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """The path of an agent's program; None if it is not found, or if it has none."""
    word = _word(agent_type, config)
    return None if word is None else shutil.which(word, path=env.get("PATH", ""))


def default_agent(agents: Agents, configured: Configured, env: Mapping[str, str]) -> str | None:
    """The default agent: the first one that is installed.

    If none is installed, the first one, so that the error message names it.
    """
    usable = [
        name
        for name in preferred_names(agents)
        if _type(name, configured) in agents and _config(name, configured).get("enabled") is not False
    ]
    return next(
        (name for name in usable if _is_installed(name, agents, configured, env)), next(iter(usable), None)
    )


def preferred_names(agents: Agents) -> tuple[str, ...]:
    """The types that can be the default agent, in order of preference."""
    ranked = sorted((agent.type.preferred, name) for name, agent in agents.items() if agent.type.preferred)
    return tuple(name for _, name in ranked)


def _is_installed(name: str, agents: Agents, configured: Configured, env: Mapping[str, str]) -> bool:
    """An agent of another type than its name, such as a scripted one, needs no program."""
    agent_type = agents[_type(name, configured)].type
    return not agent_type.program or program_of(agent_type, _config(name, configured), env) is not None


def _type(name: str, configured: Configured) -> str:
    return str(_config(name, configured).get("type") or name)


def _config(name: str, configured: Configured) -> Mapping[str, Any]:
    return configured.get(name, {})


def wanting(agent: InstalledAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """What the user must do before an agent with these settings can work; empty if nothing is known to be missing."""
    agent_type = agent.type
    if agent_type.program and program_of(agent_type, config, env) is None:
        word = _word(agent_type, config)
        install = (
            f"install it: {agent_type.install}, or "
            if agent_type.install and not config.get("command")
            else ""
        )
        return (
            f"{word} is not installed, or not on the PATH; {install}"
            f"write its path into agents.{agent_type.name}.command"
        )
    login, settings = agent.login(), with_auth(agent, config, env)
    lacks = missing(agent_type.credentials, settings, env, has_login=login is not None)
    if lacks or agent_type.credentials is None or settings.get("auth") != "login":
        return lacks
    return expired_login(agent_type.credentials.login, login, time.time())


def _word(agent_type: AgentType, config: Mapping[str, Any]) -> str | None:
    command = config.get("command") or agent_type.program
    words = command.split() if isinstance(command, str) else list(command)
    return str(words[0]) if words else None
