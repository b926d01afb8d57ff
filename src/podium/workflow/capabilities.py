"""What each kind of agent can be held to, and what its calls cost. Data only; the adapters must live up to it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from podium.core.records import dataclass

Price: TypeAlias = Literal["reported", "priced", "free", "unknown"]
Wall: TypeAlias = Literal["limits", "bubblewrap"]


@dataclass(frozen=True, slots=True)
class Capabilities:
    tools: bool
    """A list of tools can be enforced. Text-only agents have none, so every list holds for them."""
    continuity: bool
    """It can go on in an earlier conversation."""
    price: Price
    """Without the user's own figures: its cost is told by itself, or found in a public table by its model, or there is
    none, or nobody knows."""
    needs: Wall
    """The weakest walls it may run in when nobody confirms what it does."""
    vendor: str = ""
    """Whose models it calls, by the name that tables of prices have for them."""
    tested: str = ""
    """The version of the program that was tried; `make live` runs it."""


CAPABILITIES: Final[Mapping[str, Capabilities]] = MappingProxyType(
    {
        "claude": Capabilities(
            tools=True,
            continuity=True,
            price="reported",
            vendor="anthropic",
            needs="bubblewrap",
            tested="2.1.197",
        ),
        # codex exec has no list of allowed tools; single features can be switched off, commands cannot.
        "codex": Capabilities(
            tools=False,
            continuity=True,
            price="priced",
            vendor="openai",
            needs="bubblewrap",
            tested="0.166.0",
        ),
        "gemini": Capabilities(
            tools=True, continuity=True, price="priced", vendor="google", needs="bubblewrap", tested="0.61.0"
        ),
        "acp": Capabilities(tools=False, continuity=False, price="unknown", needs="bubblewrap"),
        "command": Capabilities(tools=False, continuity=False, price="unknown", needs="limits"),
        "ollama": Capabilities(tools=True, continuity=True, price="free", needs="limits"),
        "api": Capabilities(tools=True, continuity=True, price="unknown", vendor="openai", needs="limits"),
        "scripted": Capabilities(tools=True, continuity=True, price="reported", needs="limits"),
        "recorded": Capabilities(tools=True, continuity=True, price="reported", needs="limits"),
        "human": Capabilities(tools=True, continuity=False, price="free", needs="limits"),
    }
)
"""By the `type` of an agent. A type that is not listed comes from a plug-in, which answers for itself."""

LADDER: Final = ("none", "limits", "bubblewrap", "container")
"""From the weakest sandbox to the strongest."""
