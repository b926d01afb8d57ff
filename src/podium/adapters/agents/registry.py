"""The only list of built-in agents, and the way to those of other packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

from podium.errors import ConfigurationError
from podium.workflow.agent_capabilities import AGENT_WORDS, AgentTypes, Capabilities

if TYPE_CHECKING:
    from podium.ports.agent import InstalledAgent
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

TAKEN: Final = (*BUILT_IN, *AGENT_WORDS)
"""Names that no other package may register."""


@cache
def built_in(name: str) -> AgentType:
    agent_type: AgentType = import_module(f"podium.adapters.agents.{name}").AGENT
    return agent_type


def built_in_types() -> tuple[AgentType, ...]:
    return tuple(map(built_in, BUILT_IN))


def find(name: str) -> AgentType | None:
    """The agent type of that name, built in or of another package; None if there is none.

    Raises ConfigurationError if a package registers it in a way that cannot be used.
    """
    if name in BUILT_IN:
        return built_in(name)
    from podium.adapters.agents import entry_points

    return entry_points.find(name, taken=TAKEN)


def agent_types() -> AgentTypes:
    """For `load`, which may not import adapters."""
    return AgentTypes(BUILT_IN, _find_capabilities, _other_names)


def _find_capabilities(name: str) -> Capabilities | None:
    agent_type = find(name)
    return None if agent_type is None else agent_type.capabilities


def _other_names() -> tuple[str, ...]:
    from podium.adapters.agents import entry_points

    return tuple(name for name in entry_points.registered_names() if name not in TAKEN)


class InstalledAgents(Mapping[str, "InstalledAgent"]):
    """The agents of this machine by type: the built-in ones, and each other one from when it is looked up.

    An adapter of Podium is imported when its agent works. One of another package is imported when it is looked up, so that
    what is wrong with it is told before anything runs.
    """

    def __init__(self, logins: Mapping[str, bytes] | None = None) -> None:
        self._logins = logins or {}
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
        make = cache(agent_type.new_adapter)
        if name not in BUILT_IN:
            from podium.adapters.agents import entry_points

            make = cache(partial(entry_points.new_adapter, agent_type))
            make()
        return InstalledAgent(agent_type, make, lambda: self._logins.get(name))

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys((*BUILT_IN, *self._agents)))

    def __len__(self) -> int:
        return len({*BUILT_IN, *self._agents})

    def look_up_all(self) -> tuple[ConfigurationError, ...]:
        """Looks up the agents of all other packages; returns what is wrong with those that cannot be used."""
        from podium.adapters.agents import entry_points

        faults = []
        for name in entry_points.registered_names():
            try:
                entry_points.find(name, taken=TAKEN)
                self[name]
            except ConfigurationError as error:
                faults.append(error)
        return tuple(faults)
