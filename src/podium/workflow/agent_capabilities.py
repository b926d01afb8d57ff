"""What a workflow may ask of a type of agent. `load` gets the table of all types from its caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass

Price: TypeAlias = Literal["reported", "priced", "free", "unknown"]
Wall: TypeAlias = Literal["limits", "bubblewrap"]
Continuity: TypeAlias = Literal["", "session", "retold", "ignored"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What holds for every agent of one type; the adapter must keep what is promised here."""

    tools: bool
    """A list of tools can be enforced. Text-only agents have none, so every list holds for them."""
    continuity: Continuity
    """How it resumes an earlier conversation: by a session of its program, by getting the earlier turns again, or without
    a difference, since each answer is known in advance; empty: it cannot."""
    price: Price
    """Where the user names no price: the agent reports its cost, or a public table has it, or there is none, or it is not
    known."""
    needs: Wall
    """The weakest sandbox it may run in without a person who confirms what it does."""
    files: bool = True
    """It works in a folder and can change files; otherwise it answers in text only."""
    max_usd: bool = False
    """Its program itself stops at a sum of money."""
    schema: bool = False
    """Its program itself enforces a JSON Schema for the answer; otherwise only the contract of the step does."""
    vendor: str = ""
    """Whose models it calls, by the name that tables of prices have for them."""
    any_vendor: bool = False
    """A `base_url` names the vendor instead, and with it the prices."""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The settings that only agents of this type have: a JSON Schema for the value of each."""


@dataclass(frozen=True, slots=True)
class AgentTypes:
    """The table of agent types that files are checked against."""

    built_in: tuple[str, ...]
    """Those that every Podium has, the ones to propose first."""
    find: Callable[[str], Capabilities | None]
    """Looks a type up. For one that is not built in, it may import the package that provides it."""
    other_names: Callable[[], tuple[str, ...]] = tuple
    """The names of the types that are not built in."""

    def __contains__(self, name: str) -> bool:
        return name in self.built_in or self.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        """The built-in ones first: a caller that finds what it needs among them does not wait for the others."""
        yield from self.built_in
        yield from self.other_names()


HUMAN: Final = "human"
AUTO: Final = "auto"
AGENT_WORDS: Final = (HUMAN, AUTO)
"""Words of the language in place of an agent's name: a person works; the first candidate of the role works."""
PERSON: Final = Capabilities(tools=True, continuity="", price="free", needs="limits")
"""What holds where `agent: human` makes a person do the work."""

SANDBOX_LEVELS: Final = ("none", "limits", "bubblewrap", "container")
"""From the weakest sandbox to the strongest."""
