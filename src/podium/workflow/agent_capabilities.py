"""What each kind of agent can be held to, and what its calls cost. Data only; the adapters must live up to it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from podium.core.fast_dataclass import dataclass

Price: TypeAlias = Literal["reported", "priced", "free", "unknown"]
Wall: TypeAlias = Literal["limits", "bubblewrap"]
Continuity: TypeAlias = Literal["", "session", "retold", "ignored"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    tools: bool
    """A list of tools can be enforced. Text-only agents have none, so every list holds for them."""
    continuity: Continuity
    """How it goes on in an earlier conversation: by a session of its program, by being told what was said, or without a
    difference, since each answer is known beforehand; empty: it cannot."""
    price: Price
    """Without the user's own figures: its cost is told by itself, or found in a public table by its model, or there is
    none, or nobody knows."""
    needs: Wall
    """The weakest walls it may run in when nobody confirms what it does."""
    files: bool = True
    """It works in a folder and can change files; else it answers in text only."""
    max_usd: bool = False
    """Its program itself stops at a sum of money."""
    schema: bool = False
    """Its program itself holds an answer to a JSON Schema; else only the contract of the step does."""
    vendor: str = ""
    """Whose models it calls, by the name that tables of prices have for them."""
    tested: str = ""
    """The version of the program that was tried; `make live` runs it."""


CAPABILITIES: Final[Mapping[str, Capabilities]] = MappingProxyType(
    {
        "claude": Capabilities(
            tools=True,
            max_usd=True,
            schema=True,
            continuity="session",
            price="reported",
            vendor="anthropic",
            needs="bubblewrap",
            tested="2.1.197",
        ),
        # codex exec has no list of allowed tools; single features can be switched off, commands cannot.
        "codex": Capabilities(
            tools=False,
            schema=True,
            continuity="session",
            price="priced",
            vendor="openai",
            needs="bubblewrap",
            tested="0.166.0",
        ),
        "gemini": Capabilities(
            tools=True,
            continuity="session",
            price="priced",
            vendor="google",
            needs="bubblewrap",
            tested="0.61.0",
        ),
        "acp": Capabilities(tools=False, continuity="", price="unknown", needs="bubblewrap"),
        "command": Capabilities(tools=False, continuity="", price="unknown", needs="limits"),
        "ollama": Capabilities(
            tools=True, files=False, schema=True, continuity="retold", price="free", needs="limits"
        ),
        "api": Capabilities(
            tools=True,
            files=False,
            schema=True,
            continuity="retold",
            price="unknown",
            vendor="openai",
            needs="limits",
        ),
        "scripted": Capabilities(tools=True, continuity="ignored", price="reported", needs="limits"),
        "recorded": Capabilities(tools=True, continuity="ignored", price="reported", needs="limits"),
        "human": Capabilities(tools=True, continuity="", price="free", needs="limits"),
    }
)
"""By the `type` of an agent. A type that is not listed comes from a plug-in, which answers for itself."""

SANDBOX_LEVELS: Final = ("none", "limits", "bubblewrap", "container")
"""From the weakest sandbox to the strongest."""
