"""Agents of other packages: what those register under the entry point group `podium.agents`.

Reading the metadata of all installed packages takes tens of milliseconds, so this module is imported only where a name is
looked up that is not built in. A message names the package, what is wrong with it, and what the user can do.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from podium.errors import ConfigurationError
from podium.ports.agent import Agent, ServiceAgent
from podium.ports.agent_type import AgentType
from podium.workflow.contracts.schema_check import schema_fault
from podium.workflow.schema.scalars import NAME

GROUP: Final = "podium.agents"


@cache
def _entries() -> tuple[EntryPoint, ...]:
    return tuple(entry_points(group=GROUP))


def registered_names() -> tuple[str, ...]:
    """Without importing any of the packages."""
    return tuple(dict.fromkeys(entry.name for entry in _entries()))


def find(name: str, *, taken: Collection[str]) -> AgentType | None:
    """The agent type that a package registers; None if no package does.

    Raises ConfigurationError if its registration cannot be used. `taken` are names that packages may not register.
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
    if name in taken:
        raise _unusable(entry, "Podium itself has an agent or a word of that name")
    return _checked(entry, _loaded(entry))


def _loaded(entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except Exception as error:
        raise _unusable(entry, f"importing {entry.value} failed: {_described(error)}") from error


def _checked(entry: EntryPoint, value: Any) -> AgentType:
    if not isinstance(value, AgentType):
        raise _unusable(entry, f"{entry.value} must be an AgentType, not {type(value).__name__}")
    if value.name != entry.name:
        raise _unusable(entry, f'{entry.value} calls itself "{value.name}"')
    if not NAME.fullmatch(value.name):
        raise _unusable(entry, "the name must have only small letters, digits and _, and begin with a letter")
    if value.preferred:
        raise _unusable(entry, "preferred must be 0: an installed package does not change who works unnamed")
    for key, schema in value.capabilities.settings.items():
        fault = schema_fault(schema)
        if fault is not None:
            raise _unusable(entry, f"the schema of its setting {key} cannot be used: {fault}")
    return value


def new_adapter(agent_type: AgentType) -> Agent | ServiceAgent:
    """The adapter of an agent type that was found here; raises ConfigurationError if it cannot be used."""
    entry = next(entry for entry in _entries() if entry.name == agent_type.name)
    try:
        adapter = agent_type.new_adapter()
    except Exception as error:
        raise _unusable(entry, f"making {agent_type.make} failed: {_described(error)}") from error
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


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _package(entry: EntryPoint) -> str:
    return entry.value if entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _distribution(entry: EntryPoint) -> str:
    return entry.module.partition(".")[0] if entry.dist is None else entry.dist.name
