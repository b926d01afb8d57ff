"""The registration of an agent: only data, so that files are checked without importing its adapter.

A package outside Podium registers an `AgentType` under the entry point group `podium.agents`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias, get_args

from podium.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import Capabilities

if TYPE_CHECKING:
    from podium.ports.agent import Agent, ServiceAgent

__all__ = ["SERVER_TOOLS", "AgentCheck", "AgentType", "Capabilities", "Credentials", "LoginFile"]

ServerTool: TypeAlias = Literal[
    "web_search",
    "web_fetch",
    "code_execution",
    "files",
    "mcp",
    "computer",
    "image_generation",
    "stored",
]
"""What a vendor runs or reads on its own side: the names by which `agents.NAME.server_tools` allows it.

`files` are files stored at the vendor, `stored` its stored conversations and prompts.
"""
SERVER_TOOLS: Final[tuple[str, ...]] = get_args(ServerTool)


@dataclass(frozen=True, slots=True)
class LoginFile:
    """The file in which a program stores the user's login. Attempts get a copy; a renewed copy is written back."""

    folder: str
    """The folder of the file; `~` is the user's home."""
    name: str
    freshness: tuple[str, ...]
    """The path of keys to the time that tells which login is newer: ISO 8601, or milliseconds since 1970."""
    how: str
    """The command or instruction by which the user logs in."""
    variable: str = ""
    """The environment variable that overrides `folder`."""
    expires: tuple[str, ...] = ()
    """The path of keys to the time at which the login ends, or to a JSON Web Token that has it; empty if it does not tell."""
    renewal: tuple[str, ...] = ()
    """The path of keys to the token with which its program renews the login."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """The credentials that an agent needs. `agents.NAME.key` overrides `keys`."""

    keys: tuple[str, ...] = ()
    """The environment variables with its keys. Their values are masked in everything that Podium writes."""
    required: bool = True
    """Whether it needs all its keys; otherwise it gets those that are set."""
    keyless_at_base_url: bool = False
    """Whether it needs no key with a `base_url`, unless the settings name one."""
    login: LoginFile | None = None
    """The login that it can use instead: always with `auth: login`, otherwise if no key is set."""


class AgentCheck(NamedTuple):
    """Whether an agent could answer, as far as can be learned at no cost."""

    ok: bool | None
    """None if that cannot be told."""
    message: str
    """Why not, or why it cannot be told."""
    models: frozenset[str] = frozenset()
    """The models that the service lists."""


@dataclass(frozen=True, slots=True)
class AgentType:
    """The registration of an agent."""

    name: str
    """The value of `agents.NAME.type`."""
    make: str
    """`module:name` of a class or function without arguments that returns the adapter; imported at first use."""
    capabilities: Capabilities
    credentials: Credentials | None = None
    """None if it needs no credentials."""
    program: str = ""
    """The program to start unless `agents.NAME.command` names another one; empty if there is no default."""
    install: str = ""
    """The command that installs the program."""
    tested: str = ""
    """The version of the program that the adapter was tested with."""
    model: str = ""
    """The model to use if neither the step nor the settings name one; empty if the adapter decides."""
    preferred: int = 0
    """Its rank among the agents to use if a step names none: 1 is tried first. 0: it is used only if named."""
    listed: bool = True
    """Whether `podium agents` lists it even if it is not configured."""
    check: str = ""
    """`module:name` of an async function of the agent's settings and the environment that asks, at no cost, whether the
    agent could answer; returns an `AgentCheck`. Not called for an agent with a login."""
    local_models: str = ""
    """`module:name` of a function that returns the local models for this machine, for `podium agents --gpu`."""

    def new_adapter(self) -> Agent | ServiceAgent:
        """Import and create the adapter; raises what the import raises."""
        module, _, name = self.make.partition(":")
        adapter: Agent | ServiceAgent = getattr(import_module(module), name)()
        return adapter
