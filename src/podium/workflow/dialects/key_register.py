"""What becomes of each key of another format: it is translated, it has no effect, or it is refused.

Every mapping of a file is checked against its part of a register, so no key is dropped silently. The reference page of the
formats is written from the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal

from podium.fast_dataclass import dataclass

FOR_READERS: Final = "nothing: it is for readers of the file"
"""The meaning of keys such as `version`, which no run depends on."""

Fate = Literal["translated", "no effect", "refused"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a part. `harmless` are the values with which a key without an effect loses nothing."""

    fate: Fate
    meaning: str
    """The native construct, what happens instead, or the reason of the refusal."""
    instead: str = ""
    """For a refused key: what to write."""
    harmless: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One kind of mapping of a format, such as an agent, with all its keys."""

    where: str
    """The place in a file, such as `agents.NAME`."""
    keys: Mapping[str, Key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys)


def translated(**meanings: str) -> dict[str, Key]:
    return {name: Key("translated", meaning) for name, meaning in meanings.items()}


def without_effect(meaning: str, *harmless: Any) -> Key:
    """A key whose values change nothing; those in `harmless` are not even warned about."""
    return Key("no effect", meaning, harmless=harmless)


def refused(reason: str, instead: str) -> Key:
    return Key("refused", reason, instead)


def is_harmless(key: Key, value: object) -> bool:
    """By type and value, because `1` is not `true`."""
    return any(type(value) is type(each) and value == each for each in key.harmless)
