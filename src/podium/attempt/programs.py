"""Where the programs that play agents are, how each would log in, and what a person must do before it can work."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from typing import Any, Final

from podium.credentials import auth_of, lacking
from podium.ports.agent import Agent, Agents, ServiceAgent

PROGRAMS: Final = ("claude", "codex", "gemini")
"""Types that are programs of the same name. The first that is installed works for a role that names no agent."""


def program_of(kind: str, config: Mapping[str, Any], env: Mapping[str, str]) -> str | None:
    """The path of an agent's program; None if it is not found, or if it has none."""
    said = _word(kind, config)
    return None if said is None else shutil.which(said, path=env.get("PATH", ""))


def usual_agent(there: Agents, known: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> str | None:
    """Who works where nobody is named. With none installed the first one: its absence is then said by name."""
    usable = [
        name
        for name in PROGRAMS
        if _kind(name, known) in there and _said(name, known).get("enabled") is not False
    ]
    return next((name for name in usable if _is_installed(name, known, env)), next(iter(usable), None))


def _is_installed(name: str, known: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> bool:
    """An agent of another type than its name, such as a scripted one, needs no program."""
    kind = _kind(name, known)
    return kind not in PROGRAMS or program_of(kind, _said(name, known), env) is not None


def _kind(name: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    return str(_said(name, known).get("type") or name)


def _said(name: str, known: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    return known.get(name, {})


def with_auth(
    agent: Agent | ServiceAgent, config: Mapping[str, Any], env: Mapping[str, str]
) -> Mapping[str, Any]:
    """The settings with the way to log in that is there, where they leave it open."""
    return {**config, "auth": "login"} if auth_of(agent, config, env) == "login" else config


def wanting(kind: str, agent: Agent | ServiceAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    """What a person must do before an agent with these settings can work; empty if nothing is known to be missing."""
    # Whoever stands in for a program, such as a recording of it, needs none.
    if getattr(agent, "program", None) and program_of(kind, config, env) is None:
        said = _word(kind, config)
        return f"{said} is not installed, or not on the PATH; agents.{kind}.command may name its path"
    return lacking(agent, with_auth(agent, config, env), env)


def _word(kind: str, config: Mapping[str, Any]) -> str | None:
    said = config.get("command") or (kind if kind in PROGRAMS else None)
    words = said.split() if isinstance(said, str) else list(said or ())
    return str(words[0]) if words else None
