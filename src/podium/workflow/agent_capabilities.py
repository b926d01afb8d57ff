"""What a workflow may ask of a type of agent. `load` gets the table of all types from its caller."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias

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


AgentTypes: TypeAlias = Mapping[str, Capabilities]
"""By the `type` of an agent. Asking for a type may load the package that provides it."""

HUMAN: Final = "human"
AUTO: Final = "auto"
AGENT_WORDS: Final = (HUMAN, AUTO)
"""Words of the language in place of an agent's name: a person works; the first candidate of the role works."""
PERSON: Final = Capabilities(tools=True, continuity="", price="free", needs="limits")
"""What holds where `agent: human` makes a person do the work."""

SANDBOX_LEVELS: Final = ("none", "limits", "bubblewrap", "container")
"""From the weakest sandbox to the strongest."""
