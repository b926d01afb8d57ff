"""What an agent says about itself when it registers: data only, so that a file is checked without importing its adapter.

A package outside Podium registers an `AgentType` under the entry point group `podium.agents`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from podium.core.fast_dataclass import dataclass
from podium.workflow.agent_capabilities import Capabilities

if TYPE_CHECKING:
    from podium.ports.agent import Agent, ServiceAgent

__all__ = ["AgentType", "Capabilities", "Credentials", "LoginFile"]


@dataclass(frozen=True, slots=True)
class LoginFile:
    """The file in which a program keeps the user's login. Attempts get a copy, and a renewed copy comes back."""

    folder: str
    """Where the program keeps it; `~` is the user's home."""
    name: str
    freshness: tuple[str, ...]
    """The keys that lead to the time by which a renewed login is the newer one: ISO 8601, or milliseconds since 1970."""
    how: str
    """What the user does to log in, as a command or an instruction."""
    variable: str = ""
    """The environment variable by which the user names another folder."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What an agent needs of the user. `agents.NAME.key` names other variables than `keys`."""

    keys: tuple[str, ...] = ()
    """The environment variables that hold its keys. Their values are masked in everything that is written."""
    required: bool = True
    """It cannot work without its keys; otherwise it gets those that are set."""
    keyless_at_base_url: bool = False
    """At a `base_url` of the user it needs no key unless the settings name one."""
    login: LoginFile | None = None
    """It can also work with the user's login: always with `auth: login`, else where no key is set."""


@dataclass(frozen=True, slots=True)
class AgentType:
    """The whole registration of an agent."""

    name: str
    """What `agents.NAME.type` says."""
    make: str
    """`module:name` of a class or function without arguments that gives the adapter; imported when the agent works."""
    capabilities: Capabilities
    credentials: Credentials | None = None
    """None: it needs nothing of the user."""
    program: str = ""
    """The program it starts unless `agents.NAME.command` names another one; empty: it has none of its own."""
    tested: str = ""
    """The version of the program that the adapter was tried with."""
    model: str = ""
    """The model it works with where neither the step nor the settings name one; empty: the adapter decides."""
    preferred: int = 0
    """Its place among the agents that work where no agent is named: 1 goes first. 0: it works only where it is named."""
    listed: bool = True
    """`podium agents` lists it also where no file has settings for it."""
    local_models: str = ""
    """`module:name` of a function that tells which local models fit this machine, for `podium agents --gpu`."""

    def new_adapter(self) -> Agent | ServiceAgent:
        """Imports the adapter; raises what the import raises."""
        module, _, name = self.make.partition(":")
        adapter: Agent | ServiceAgent = getattr(import_module(module), name)()
        return adapter
