"""Where facts about files are stored between packs: by the hash of their content, so branches and clones share them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Final, Protocol, Self

from podium.context.facts import VERSION, FileFacts

SAMPLES: Final = 20
"""Of the usage of a model; older ones say less about it."""


class FactCache(Protocol):
    """Nothing in it is ever changed, only added; it may be deleted at any time."""

    def load(self, keys: Collection[str]) -> dict[str, FileFacts]:
        """The stored facts, without their words."""

    def add(self, facts: Mapping[str, FileFacts]) -> None:
        """Keep facts with their words."""

    def postings(self, words: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, int]]:
        """For each word, how often each of these contents has it."""

    def history(self, name: str) -> bytes | None:
        """The history up to a commit, as it was stored under this name."""

    def keep_history(self, name: str, data: bytes) -> None: ...

    def add_usage(self, model: str, estimated: int, reported: int) -> None:
        """Keep how many tokens a prompt was estimated to take, and how many the model reported."""

    def usage(self, model: str) -> tuple[tuple[int, int], ...]:
        """The newest of these pairs."""


class OpenFacts(Protocol):
    """Opens the cache of a project; every pack opens its own, because packs are made in several threads."""

    def __call__(self) -> AbstractContextManager[FactCache]: ...


def key_of(blob: str, reader: str) -> str:
    """The name of the facts of a content: the same bytes have other facts as another language, or by another reader."""
    return f"{blob}:{reader}:{VERSION}"


class MemoryFacts:
    """A cache for one pack."""

    def __init__(self) -> None:
        self._facts: dict[str, FileFacts] = {}
        self._histories: dict[str, bytes] = {}
        self._usage: dict[str, list[tuple[int, int]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing to close."""

    def load(self, keys: Collection[str]) -> dict[str, FileFacts]:
        return {key: self._facts[key] for key in keys if key in self._facts}

    def add(self, facts: Mapping[str, FileFacts]) -> None:
        self._facts.update(facts)

    def postings(self, words: Iterable[str], keys: Collection[str]) -> dict[str, dict[str, int]]:
        loaded = [(key, self._facts[key].words) for key in keys if key in self._facts]
        return {word: {key: counts[word] for key, counts in loaded if word in counts} for word in set(words)}

    def history(self, name: str) -> bytes | None:
        return self._histories.get(name)

    def keep_history(self, name: str, data: bytes) -> None:
        self._histories[name] = data

    def add_usage(self, model: str, estimated: int, reported: int) -> None:
        self._usage.setdefault(model, []).append((estimated, reported))

    def usage(self, model: str) -> tuple[tuple[int, int], ...]:
        return tuple(self._usage.get(model, ())[-SAMPLES:])
