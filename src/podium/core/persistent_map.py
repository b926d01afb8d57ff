"""A persistent map that keeps insertion order: a large shared base and a small overlay that is copied on write.

`set` copies only the overlay, which is merged into a new base once it outgrows SMALL + sqrt(n): a write costs
O(sqrt n) with a small constant, a read one or two dict look-ups. A MapDraft is a map that `put` and `discard` change
in place; a turn works on drafts and freezes them at its end, so that all its writes cost one copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Generic, TypeVar, cast

K = TypeVar("K")
V = TypeVar("V")

_GONE: Final = object()

SMALL: Final = 24
"""An overlay up to this size is never merged."""


class PersistentMap(Generic[K, V]):
    __slots__ = ("_base", "_over")

    def __init__(self, base: dict[K, V] | None = None, over: dict[K, V] | None = None) -> None:
        self._base: dict[K, V] = {} if base is None else base
        self._over: dict[K, V] = {} if over is None else over

    def get(self, key: K) -> V | None:
        value = self._over.get(key)
        if value is None:
            return self._base.get(key)
        return None if value is _GONE else value

    def __getitem__(self, key: K) -> V:
        value = self._over.get(key)
        if value is None:
            return self._base[key]
        if value is _GONE:
            raise KeyError(key)
        return value

    def __contains__(self, key: K) -> bool:
        value = self._over.get(key)
        return key in self._base if value is None else value is not _GONE

    def set(self, key: K, value: V) -> PersistentMap[K, V]:
        over = self._over.copy()
        over[key] = value
        return PersistentMap(self._base, over).settled()

    def drop(self, key: K) -> PersistentMap[K, V]:
        return self.set(key, cast(V, _GONE)) if key in self else self

    def put(self, key: K, value: V) -> None:
        raise TypeError("only a MapDraft can be changed in place")

    def discard(self, key: K) -> None:
        raise TypeError("only a MapDraft can be changed in place")

    def settled(self) -> PersistentMap[K, V]:
        """The same map; an overlay that has grown too large is merged into a new base."""
        size = len(self._over) - SMALL
        if size <= 0 or size * size <= len(self._base):
            return self
        merged = {**self._base, **self._over}
        for key, value in self._over.items():
            if value is _GONE:
                del merged[key]
        return PersistentMap(merged)

    def keys(self) -> Iterator[K]:
        return (key for key, _ in self.items())

    def values(self) -> Iterator[V]:
        return (value for _, value in self.items())

    def items(self) -> Iterator[tuple[K, V]]:
        for key, value in self._base.items():
            value = self._over.get(key, value)
            if value is not _GONE:
                yield key, value
        for key, value in self._over.items():
            if key not in self._base and value is not _GONE:
                yield key, value

    def draft(self) -> PersistentMap[K, V]:
        return MapDraft(self)

    def freeze(self) -> PersistentMap[K, V]:
        return self

    def __len__(self) -> int:
        return sum(1 for _ in self.items())

    def __bool__(self) -> bool:
        return any(True for _ in self.items())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PersistentMap) and dict(self.items()) == dict(other.items())

    def __hash__(self) -> int:
        raise TypeError("a PersistentMap is compared by value and cannot be hashed")

    def __repr__(self) -> str:
        return f"PersistentMap({dict(self.items())!r})"


class MapDraft(PersistentMap[K, V]):
    """A map that its only owner may change in place until `freeze`. The first write copies the overlay."""

    __slots__ = ("origin",)

    def __init__(self, origin: PersistentMap[K, V]) -> None:
        self._base = origin._base  # noqa: SLF001 (the same class)
        self._over = origin._over  # noqa: SLF001 (same)
        self.origin: PersistentMap[K, V] | None = origin
        """The map it was made from, until the first change."""

    def put(self, key: K, value: V) -> None:
        if self.origin is not None:
            self._over = self._over.copy()
            self.origin = None
        self._over[key] = value

    def discard(self, key: K) -> None:
        value = self._over.get(key)
        if value is not _GONE and (value is not None or key in self._base):
            self.put(key, cast(V, _GONE))

    def set(self, key: K, value: V) -> PersistentMap[K, V]:
        self.put(key, value)
        return self

    def freeze(self) -> PersistentMap[K, V]:
        if self.origin is not None:
            return self.origin
        frozen = PersistentMap(self._base, self._over)
        return frozen if len(self._over) <= SMALL else frozen.settled()
