"""The only list of built-in agents, and the lookup of agents from other packages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

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
    "opencode",
    "qwen_code",
    "claude_agent_acp",
    "codex_acp",
    "command",
    "ollama",
    "api",
    "scripted",
    "recorded",
)
"""Each is a subfolder whose `__init__` defines `AGENT`, in the order in which they are listed and proposed."""

RESERVED: Final = (*BUILT_IN, *AGENT_WORDS)
"""Names that other packages may not register."""


@cache
def built_in(name: str) -> AgentType:
    agent_type: AgentType = import_module(f"podium.adapters.agents.{name}").AGENT
    return agent_type


def built_in_types() -> tuple[AgentType, ...]:
    return tuple(map(built_in, BUILT_IN))


def find(name: str) -> AgentType | None:
    """The agent type of that name, built in or from another package; None if there is none.

    Raises ConfigurationError if the registration of a package is invalid.
    """
    if name in BUILT_IN:
        return built_in(name)
    from podium.adapters.agents import entry_points

    return entry_points.find(name, reserved=RESERVED)


def agent_types() -> AgentTypes:
    """The table of agent types for `load`, which may not import adapters."""
    return AgentTypes(BUILT_IN, _find_capabilities, _other_names)


def _find_capabilities(name: str) -> Capabilities | None:
    agent_type = find(name)
    return None if agent_type is None else agent_type.capabilities


def _other_names() -> tuple[str, ...]:
    from podium.adapters.agents import entry_points

    return tuple(name for name in entry_points.registered_names() if name not in RESERVED)


class InstalledAgents(Mapping[str, "InstalledAgent"]):
    """The agents of this machine by type; agents of other packages are added when they are looked up.

    A built-in adapter is imported at its first use. An adapter of another package is imported when it is looked up, so
    that its problems are reported before anything runs.
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
        """Look up the agents of all other packages; returns the errors of those that cannot be used."""
        from podium.adapters.agents import entry_points

        faults = []
        for name in entry_points.registered_names():
            try:
                entry_points.find(name, reserved=RESERVED)
                self[name]
            except ConfigurationError as error:
                faults.append(error)
        return tuple(faults)


async def local_models(configured: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> dict[str, Any]:
    """The GPUs of this machine, and the local models that fit them."""
    paths = (agent_type.local_models for agent_type in built_in_types())
    module, _, name = next(path for path in paths if path).partition(":")
    report: dict[str, Any] = await getattr(import_module(module), name)(configured, env)
    return report
