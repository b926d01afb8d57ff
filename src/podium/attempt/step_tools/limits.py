"""How much a worker may say to its team in one attempt."""

from __future__ import annotations

from typing import Any, Final

MAX_ASKS: Final = 5
MAX_QUESTION: Final = 8_000
MAX_NOTES: Final = 20
MAX_NOTE: Final = 2_000
MAX_SO_FAR: Final = 2_000


def team_text(value: Any, name: str, most: int) -> str:
    """The text without spaces around it; raises ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name}: it must be a text")  # noqa: TRY004 (one kind of error for all faults of an answer)
    if len(value) > most:
        raise ValueError(f"{name}: it has {len(value)} characters; at most {most} are possible")
    return value.strip()
