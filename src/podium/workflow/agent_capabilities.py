"""What a workflow may require of a type of agent. `load` gets the table of all types from its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass

Price: TypeAlias = Literal["reported", "priced", "free", "unknown"]
StepToolsBy: TypeAlias = Literal["mcp", "command"]
RequiredSandbox: TypeAlias = Literal["limits", "bubblewrap"]
Continuity: TypeAlias = Literal["", "session", "retold", "ignored"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What holds for every agent of one type; the adapter must keep what is promised here."""

    tools: bool
    """A list of tools can be enforced; text-only agents have no tools, so every list is enforced."""
    continuity: Continuity
    """How it continues an earlier conversation: by a session of its program, by repeating the messages, or without a
    difference because its answers are predetermined; empty: not at all."""
    price: Price
    """How its cost is known without prices from the user: reported by the agent, found in a public table by its model,
    free, or unknown."""
    needs: RequiredSandbox
    """The weakest sandbox it may run in without a person confirming its actions."""
    files: bool = True
    """Whether it works in a folder and can change files; otherwise it answers only in text."""
    images: bool = False
    """Whether it takes images next to its prompt."""
    schema: bool = False
    """Whether its program can enforce a JSON Schema for the answer; otherwise only the step's contract is checked."""
    vendor: str = ""
    """The vendor of its models, as named in price tables."""
    quota: bool = False
    """Whether it reports, at least with a login, how much of its quota window is used."""
    any_vendor: bool = False
    """Whether a `base_url` names the vendor instead, and with it the prices."""
    keys: Mapping[str, Any] = field(default_factory=dict)
    """The keys of its entries under `agents`, besides those of every type: an `AgentKey` for each."""
    instruction_files: tuple[str, ...] = ()
    """The files that `instructions: project` looks for in each folder, the first that exists; it needs that key."""
    asks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The tools about which its program can ask before it uses them: its own names, by `run`, `edit`, `read` and `web`."""
    asks_s: int | None = None
    """How many seconds its program waits for an answer before it gives up; None: as long as it takes."""
    step_tools: StepToolsBy | None = None
    """How it calls the tools of its step: as an MCP server, or by the command `podium-step`; None: not at all."""
    settings_files: tuple[str, ...] = ()
    """Files and folders of a workspace by which its program is configured if it trusts the workspace."""
    unsupported: Mapping[str, str] = field(default_factory=dict)
    """Keys that other agents have and this one cannot honour, each with the reason."""


@dataclass(frozen=True, slots=True)
class AgentTypes:
    """The table of agent types that files are checked against."""

    built_in: tuple[str, ...]
    """The types that every Podium has, in the order to propose them."""
    find: Callable[[str], Capabilities | None]
    """Looks up a type. For a type that is not built in, it may import the package that provides it."""
    other_names: Callable[[], tuple[str, ...]] = tuple
    """The names of the types that are not built in."""

    def __contains__(self, name: str) -> bool:
        return name in self.built_in or self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        """The built-in types first, so that a caller that finds its type among them does not wait for the others."""
        yield from self.built_in
        yield from self.other_names()


HUMAN: Final = "human"
AUTO: Final = "auto"
AGENT_WORDS: Final = (HUMAN, AUTO)
"""Words of the language in place of an agent's name: a person works; the first candidate of the role works."""
PERSON: Final = Capabilities(tools=True, continuity="", price="free", needs="limits")
"""The capabilities of a person who does the work of a step with `agent: human`."""

SANDBOX_LEVELS: Final = ("none", "limits", "bubblewrap", "container")
"""From the weakest sandbox to the strongest."""
