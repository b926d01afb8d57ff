"""Agents that other packages register under the entry point group `podium.agents`.

Reading the metadata of all installed packages takes tens of milliseconds, so this module is imported only to look
up a name that is not built in. Messages name the package, the problem and what the user can do.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from podium.errors import ConfigurationError
from podium.ports.agent import Agent, ServiceAgent
from podium.ports.agent_type import AgentType
from podium.workflow.agent_keys import COMMON_KEYS, AgentKey
from podium.workflow.editor_schema import is_readable
from podium.workflow.schema.scalars import NAME

GROUP: Final = "podium.agents"


@cache
def _entries() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def registered_names() -> tuple[str, ...]:
    """The names of all registered agents; imports none of the packages."""
    return tuple(dict.fromkeys(entry.name for entry in _entries()))


def find(name: str, *, reserved: Collection[str]) -> AgentType | None:
    """The agent type that a package registers under a name; None if no package does.

    Raises ConfigurationError if the registration is invalid. `reserved` are names that packages may not register.
    """
    entries = [entry for entry in _entries() if entry.name == name]
    if not entries:
        return None
    if len(entries) > 1:
        packages = " and ".join(_package(entry) for entry in entries)
        raise ConfigurationError(
            f'the agent "{name}" is registered by {packages}',
            hint=f"remove all but one: pip uninstall {_distribution(entries[0])}",
        )
    (entry,) = entries
    if name in reserved:
        raise _unusable(entry, "Podium itself has an agent or a word of that name")
    return _check(entry, _load(entry))


def _load(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise _unusable(entry, f"importing {entry.value} failed: {_describe(error)}") from error


def _check(entry: EntryPoint, value: Any) -> AgentType:
    if not isinstance(value, AgentType):
        raise _unusable(entry, f"{entry.value} must be an AgentType, not {type(value).__name__}")
    if value.name != entry.name:
        raise _unusable(entry, f'{entry.value} calls itself "{value.name}"')
    if not NAME.fullmatch(value.name):
        raise _unusable(entry, "the name must have only small letters, digits and _, and begin with a letter")
    if value.preferred:
        raise _unusable(entry, "preferred must be 0: installing a package must not change the default agent")
    for name, key in value.capabilities.keys.items():
        if not isinstance(key, AgentKey) or not is_readable(key.type):
            raise _unusable(entry, f"its key {name} must be an AgentKey with a type that files can have")
        if name in COMMON_KEYS:
            raise _unusable(entry, f"its key {name} is a key of every agent; leave it out")
    return value


def new_adapter(agent_type: AgentType) -> Agent | ServiceAgent:
    """The adapter of an agent type that a package registers; raises ConfigurationError if it cannot be used."""
    entry = next(entry for entry in _entries() if entry.name == agent_type.name)
    try:
        adapter = agent_type.new_adapter()
    except Exception as error:
        raise _unusable(entry, f"making {agent_type.make} failed: {_describe(error)}") from error
    if not isinstance(adapter, Agent | ServiceAgent):
        raise _unusable(
            entry, f"{agent_type.make} gives {type(adapter).__name__}, without prepare() or call()"
        )
    return adapter


def _unusable(entry: EntryPoint, fact: str) -> ConfigurationError:
    package = _distribution(entry)
    return ConfigurationError(
        f'package {_package(entry)}: its agent "{entry.name}" cannot be used: {fact}',
        hint=f"update it: pip install --upgrade {package}; or remove it: pip uninstall {package}",
    )


def _describe(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _distribution(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0] if entry.dist is None else entry.dist.name
