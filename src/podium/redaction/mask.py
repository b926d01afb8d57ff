"""Replaces every declared secret by three stars, in whatever pieces and encodings it passes by.

Rule 1: what leaves a mask contains no shape of any secret, however the bytes were cut into chunks.
Rule 2: what is held back is only a tail that may still become a secret, so live output stays live.
Rule 3: a secret of fewer than six characters is refused, as is one that contains the mask itself; an empty one hides
nothing. Stars at the ends of a secret are not looked for: next to a mask they would complete it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from podium.errors import ConfigurationError
from podium.redaction.encodings import SHORTEST, variants

MASK: Final = b"***"
# Long enough to be rare in harmless text, shorter than every shape.
HEAD: Final = 4


class Mask:
    """What to hide; made once for a run, since preparing the shapes costs far more than looking for them."""

    __slots__ = ("_by_head", "_heads", "_shapes")

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """`secrets` maps the name of each secret, for messages, to its value."""
        self._shapes: tuple[bytes, ...] = ()
        self.learn(secrets or {})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Hide these from now on as well, in streams that have begun too."""
        found = set(self._shapes)
        for name, value in secrets.items():
            if value:
                found |= variants(_core(name, value))
        # Where several begin alike the longest is tried first, so that its end does not stay behind the mask.
        self._shapes = tuple(sorted(found, key=len, reverse=True))
        self._by_head: dict[bytes, list[bytes]] = {}
        for shape in self._shapes:
            self._by_head.setdefault(shape[:HEAD], []).append(shape)
        self._heads = re.compile(_any_of(sorted(self._by_head))) if found else None

    def __repr__(self) -> str:
        return f"Mask({len(self._shapes)} shapes)"

    def stream(self) -> MaskStream:
        return MaskStream(self)

    def apply(self, data: bytes) -> bytes:
        stream = self.stream()
        return stream.feed(data) + stream.finish()

    def text(self, text: str) -> str:
        """For messages, prompts and whatever else is written from memory."""
        return self.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def hides(self, text: str) -> bool:
        return self.text(text) != text

    def next_head(self, data: bytearray, *, after: int) -> int | None:
        """Where the next place begins at which a secret could start."""
        found = self._heads.search(data, after) if self._heads else None
        if found:
            return found.start()
        # Too close to the end for a whole head: a shape may begin here and go on in the next chunk.
        for at in range(max(after, len(data) - HEAD + 1), len(data)):
            if any(head.startswith(data[at:]) for head in self._by_head):
                return at
        return None

    def length_at(self, data: bytearray, at: int) -> int | None:
        """How long the secret is that begins here; 0: none does; None: more bytes are needed to know."""
        rest = len(data) - at
        if rest < HEAD:
            return None
        for shape in self._by_head[bytes(data[at : at + HEAD])]:
            if data.startswith(shape, at):
                return len(shape)
            if rest < len(shape) and shape.startswith(data[at:]):
                return None
        return 0

    def whole_length_at(self, data: bytearray, at: int) -> int:
        """The same when no more bytes will come."""
        return next((len(shape) for shape in self._shapes if data.startswith(shape, at)), 0)


class MaskStream:
    """One stream on its way through a mask."""

    __slots__ = ("_covered", "_data", "_mask")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._data = bytearray()
        # So many leading bytes of _data lie under a mask that went out; they stay because another secret may begin
        # among them and reach further.
        self._covered = 0

    def feed(self, data: bytes) -> bytes:
        self._data += data
        return self._pass(final=False)

    def finish(self) -> bytes:
        return self._pass(final=True)

    def _pass(self, *, final: bool) -> bytes:
        data, covered, out = self._data, self._covered, bytearray()
        at, end = 0, len(data)
        while (start := self._mask.next_head(data, after=at)) is not None:
            length = self._mask.length_at(data, start)
            if length is None and not final:
                end = start
                break
            if length is None:
                length = self._mask.whole_length_at(data, start)
            if length:
                if start >= covered:
                    out += data[covered:start]
                    out += MASK
                covered = max(covered, start + length)
            at = start + 1
        if covered < end:
            out += data[covered:end]
            covered = end
        del data[:end]
        self._covered = covered - end
        return bytes(out)


def _any_of(heads: Sequence[bytes]) -> bytes:
    """A pattern that branches byte by byte: a key of fifty lines has 600 heads, too many to try one after the other."""
    if len(heads) == 1:
        return re.escape(heads[0])
    groups = groupby(heads, key=lambda head: head[:1])
    branches = (re.escape(first) + _any_of([head[1:] for head in same]) for first, same in groups)
    return b"(?:" + b"|".join(branches) + b")"


def _core(name: str, value: str) -> str:
    core = value.strip("*")
    if len(core) < SHORTEST:
        raise ConfigurationError(
            f'secret "{name}" is only {len(core)} characters long; values under {SHORTEST} cannot be masked safely',
            hint="use a longer secret, or pass the value as an ordinary variable if it is none",
        )
    if MASK.decode() in core:
        raise ConfigurationError(
            f'secret "{name}" contains {MASK.decode()}, which is what secrets are replaced by',
            hint="choose another value",
        )
    return core
