"""Replaces every declared secret with three stars, in any encoding and across chunks.

Rule 1: masked output contains no encoding of any secret, however the bytes were split into chunks.
Rule 2: only a tail that may still become a secret is held back, so live output stays live.
Rule 3: a secret of fewer than six characters, or one that contains the mask itself, is refused; an empty one hides
nothing. Stars at the ends of a secret are ignored, because stars next to a mask would otherwise complete it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from podium.errors import ConfigurationError
from podium.redaction.encodings import SHORTEST, encodings

MASK: Final = b"***"
# Long enough to be rare in harmless text, shorter than every encoding.
HEAD: Final = 4


class Mask:
    """The secrets to hide; created once per run, because preparing the encodings costs far more than searching."""

    __slots__ = ("_by_head", "_heads", "_shapes")

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """Prepare a mask; `secrets` maps the name of each secret, for messages, to its value."""
        self._shapes: tuple[bytes, ...] = ()
        self.learn(secrets or {})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Also hide these secrets from now on, including in streams that have started."""
        shapes = set(self._shapes)
        for name, value in secrets.items():
            if value:
                shapes |= encodings(_without_stars(name, value))
        # The longest is tried first, so that no tail of it remains after a mask of a shorter one.
        self._shapes = tuple(sorted(shapes, key=len, reverse=True))
        self._by_head: dict[bytes, list[bytes]] = {}
        for shape in self._shapes:
            self._by_head.setdefault(shape[:HEAD], []).append(shape)
        self._heads = re.compile(_any_of(sorted(self._by_head))) if shapes else None

    def __repr__(self) -> str:
        return f"Mask({len(self._shapes)} shapes)"

    def stream(self) -> MaskStream:
        return MaskStream(self)

    def apply(self, data: bytes) -> bytes:
        if not self._shapes:
            return data
        stream = self.stream()
        return stream.feed(data) + stream.finish()

    def text(self, text: str) -> str:
        """Mask a text, such as a message or a prompt."""
        return self.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def hides(self, text: str) -> bool:
        return bool(self._shapes) and self.text(text) != text

    def next_head(self, data: bytearray, *, after: int) -> int | None:
        """The next position at which a secret could start."""
        match = self._heads.search(data, after) if self._heads else None
        if match:
            return match.start()
        # Near the end there is no whole head, but an encoding may start here and continue in the next chunk.
        for position in range(max(after, len(data) - HEAD + 1), len(data)):
            if any(head.startswith(data[position:]) for head in self._by_head):
                return position
        return None

    def length_at(self, data: bytearray, at: int) -> int | None:
        """The length of the secret that starts here; 0 if none does, None if more bytes are needed to decide."""
        available = len(data) - at
        if available < HEAD:
            return None
        for shape in self._by_head[bytes(data[at : at + HEAD])]:
            if data.startswith(shape, at):
                return len(shape)
            if available < len(shape) and shape.startswith(data[at:]):
                return None
        return 0

    def whole_length_at(self, data: bytearray, at: int) -> int:
        """The same when no more bytes will follow."""
        return next((len(shape) for shape in self._shapes if data.startswith(shape, at)), 0)


class MaskStream:
    """Masks one stream, piece by piece."""

    __slots__ = ("_covered", "_data", "_mask")

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._data = bytearray()
        # The number of leading bytes of _data that have already been masked; they are kept because another secret may
        # start among them and extend further.
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
    """A pattern that branches byte by byte, because a key of fifty lines has 600 heads, too many to try in turn."""
    if len(heads) == 1:
        return re.escape(heads[0])
    groups = groupby(heads, key=lambda head: head[:1])
    branches = (re.escape(first) + _any_of([head[1:] for head in same]) for first, same in groups)
    return b"(?:" + b"|".join(branches) + b")"


def _without_stars(name: str, value: str) -> str:
    core = value.strip("*")
    if len(core) < SHORTEST:
        raise ConfigurationError(
            f'secret "{name}" is only {len(core)} characters long; values under {SHORTEST} cannot be masked safely',
            hint="use a longer secret, or pass the value as an ordinary variable if it is not secret",
        )
    if MASK.decode() in core:
        raise ConfigurationError(
            f'secret "{name}" contains {MASK.decode()}, the text that replaces secrets',
            hint="use another value",
        )
    return core
