"""The keys of the entries under `agents`: each type of agent declares its own, and files are checked against them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from podium.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import Capabilities
from podium.workflow.problems import did_you_mean, join_words
from podium.workflow.schema.fields import DocPath, keys_of
from podium.workflow.schema.file import Agent
from podium.workflow.schema.reader import FieldFault, faults_of_value
from podium.workflow.schema.scalars import INSERT

UNKNOWN_RULE: Final = 3
UNSUPPORTED_RULE: Final = 22

COMMON_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "type": "the type of the agent; without it, the name of the entry is the type",
        "enabled": "`false` makes it unavailable",
        "description": "for people",
        "model": "a model; `model` of a step or a role overrides it",
        "context_window": "how many tokens its model can read; shows how full the window is",
        "price": "dollars per million tokens, for an agent that reports its tokens but not its cost",
        "estimate": "what is reserved for a call without a better estimate",
        "stall": "the longest silence",
    }
)
"""Keys of every type with their meaning, which Podium itself honours; their types are in the schema of files."""
PROGRAM_KEYS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "env": "`NAME` passes on a variable of your environment, `NAME=value` sets it",
        "step_tools": "`true`: it gets the tools of its step outside of a team too; `false`: never",
    }
)
"""Keys of every type that is a program."""


REASONS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "tools": "tools belong to a role or a step",
        "prompt": "a prompt belongs to a role or a step",
        "system": "the system text belongs to a role",
        "max_usd": "its program has no cost limit; set the reserved amount with estimate: {usd: ...}",
    }
)
"""Why a type lacks a key, unless it gives another reason."""


@dataclass(frozen=True, slots=True)
class AgentKey:
    """One key of a type of agent."""

    type: Any
    """The type of its value, as in the schema of files: `str`, a `Literal`, `Duration`, `tuple[str, ...]`, a map."""
    meaning: str
    """One line for the reference."""
    default: str = ""
    """What applies without the key, if that is not nothing."""
    trusted: bool = False
    """Whether a workflow, a template or a role may not set it: only the configuration of the user or of the project, and
    the command line."""


def names_of(capabilities: Capabilities) -> tuple[str, ...]:
    """The keys that an agent of this type may have."""
    programs = tuple(PROGRAM_KEYS) if capabilities.files else ()
    return (*COMMON_KEYS, *programs, *capabilities.keys)


def faults_of(
    agent: str, kind: str, capabilities: Capabilities, config: Mapping[str, Any]
) -> Iterator[FieldFault]:
    """The keys that the type does not have, and values that its keys do not take.

    A value with an expression is known only at run time; the attempt checks it then.
    """
    for key, value in config.items():
        path: DocPath = ("agents", agent, key)
        declared: AgentKey | None = capabilities.keys.get(key)
        if key not in names_of(capabilities):
            yield _unknown(agent, kind, key, capabilities)
        elif (
            declared is not None and key not in keys_of(Agent) and value is not None and not has_insert(value)
        ):
            yield from faults_of_value(declared.type, value, path)


def untrusted_fault(agent: str, kind: str, key: str, capabilities: Capabilities) -> FieldFault | None:
    """The fault of a key that a workflow, a template or a role sets, and may not set."""
    declared: AgentKey | None = capabilities.keys.get(key)
    if declared is None or not declared.trusted:
        return None
    message = f"agents.{agent}.{key} of {kind} must not be set by a workflow or a template"
    hint = f"set it in .podium/config.yaml or your own configuration, or type --set agents.{agent}.{key}=..."
    return FieldFault(UNSUPPORTED_RULE, ("agents", agent, key), message, hint)


def _unknown(agent: str, kind: str, key: str, capabilities: Capabilities) -> FieldFault:
    path, reason = ("agents", agent, key), {**REASONS, **capabilities.unsupported}.get(key)
    if reason is not None:
        return FieldFault(UNSUPPORTED_RULE, path, f"{kind} cannot honour {key}: {reason}")
    names = names_of(capabilities)
    hint = did_you_mean(key, names) or f"its keys are {join_words(names, 'and')}"
    return FieldFault(UNKNOWN_RULE, path, f'agent "{agent}" of type {kind} has an unknown key "{key}"', hint)


def has_insert(value: Any) -> bool:
    """Whether the value contains an expression that is evaluated at run time."""
    if isinstance(value, str):
        return INSERT in value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(has_insert, inner))
