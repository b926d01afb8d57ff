"""The only list of built-in agents, and the way to those of other packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Final

from podium.workflow.agent_capabilities import AgentTypes, Capabilities

if TYPE_CHECKING:
    from podium.ports.agent import Agents, InstalledAgent
    from podium.ports.agent_type import AgentType

BUILT_IN: Final = (
    "claude",
    "codex",
    "gemini",
    "acp",
    "command",
    "ollama",
    "api",
    "scripted",
    "recorded",
)
"""Each is a folder here whose `__init__` has an `AGENT`; in the order in which they are listed and proposed."""


@cache
def built_in(name: str) -> AgentType:
    agent_type: AgentType = import_module(f"podium.adapters.agents.{name}").AGENT
    return agent_type


def built_in_types() -> tuple[AgentType, ...]:
    return tuple(map(built_in, BUILT_IN))


def find(name: str) -> AgentType | None:
    """The agent type of that name; None if there is none."""
    return built_in(name) if name in BUILT_IN else None


class _Capabilities(Mapping[str, Capabilities]):
    """Imports the registration of a type when it is asked for."""

    def __getitem__(self, name: str) -> Capabilities:
        agent_type = find(name)
        if agent_type is None:
            raise KeyError(name)
        return agent_type.capabilities

    def __contains__(self, name: object) -> bool:
        return name in BUILT_IN or (isinstance(name, str) and find(name) is not None)

    def __iter__(self) -> Iterator[str]:
        return iter(BUILT_IN)

    def __len__(self) -> int:
        return len(BUILT_IN)


def capabilities() -> AgentTypes:
    """For `load`, which may not import adapters."""
    return _Capabilities()


class _Installed(Mapping[str, "InstalledAgent"]):
    """The agents of this machine by type; an adapter is imported when its agent works."""

    def __init__(self, logins: Mapping[str, bytes]) -> None:
        self._logins = logins
        self._agents: dict[str, InstalledAgent] = {}

    def __getitem__(self, name: str) -> InstalledAgent:
        if name not in self._agents:
            self._agents[name] = self._install(name)
        return self._agents[name]

    def _install(self, name: str) -> InstalledAgent:
        from podium.ports.agent import InstalledAgent

        agent_type = find(name)
        if agent_type is None:
            raise KeyError(name)
        return InstalledAgent(agent_type, cache(agent_type.new_adapter), lambda: self._logins.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*BUILT_IN, *self._agents)))

    def __len__(self) -> int:
        return len({*BUILT_IN, *self._agents})


def installed(logins: Mapping[str, bytes] | None = None) -> Agents:
    """All built-in agents, and every other one that is asked for by its type. `logins` are contents of login files."""
    return _Installed({} if logins is None else logins)
