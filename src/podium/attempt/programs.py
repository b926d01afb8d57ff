"""Where the programs that play agents are, how each would log in, and what a person must do before it can work."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any, Final

from podium.ports import Agent, Agents, Caller, auth_of, lacking

PROGRAMS: Final = ("claude", "codex", "gemini")
"""Types that are programs of the same name. The first that is installed works for a role that names no agent."""


def program_of(kind: str, config: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """The path of an agent's program; None if it is not found, or if it has none."""
    said = _word(kind, config)
    return None if said is None else shutil.which(said, path=env.get("PATH", ""))


def usual_agent(there: Agents, known: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> str | None:
    """Who works where nobody is named. With none installed the first one: its absence is then said by name."""
    usable = [name for name in PROGRAMS if name in there and known.get(name, {}).get("enabled") is not False]
    installed = (name for name in usable if program_of(name, known.get(name, {}), env) is not None)
    return next(installed, next(iter(usable), None))


def with_auth(agent: Agent | Caller, config: Mapping[str, Any], env: Mapping[str, str]) -> Mapping[str, Any]:
    """The settings with the way to log in that is there, where they leave it open."""
    return {**config, "auth": "login"} if auth_of(agent, config, env) == "login" else config


def wanting(kind: str, agent: Agent | Caller, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """What a person must do before an agent with these settings can work; empty if nothing is known to be missing."""
    if kind in PROGRAMS and program_of(kind, config, env) is None:
        said = _word(kind, config)
        return f"{said} is not installed, or not on the PATH; agents.{kind}.command may name its path"
    return lacking(agent, with_auth(agent, config, env), env)


def _word(kind: str, config: Mapping[str, Any]) -> str | None:
    said = config.get("command") or (kind if kind in PROGRAMS else None)
    words = said.split() if isinstance(said, str) else list(said or ())
    return str(words[0]) if words else None
