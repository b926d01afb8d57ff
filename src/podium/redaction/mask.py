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
from podium.redaction.encodings import SHORTEST, encodings, wrapped_encodings

MASK: Final = b"***"
# Long enough to be rare in harmless text, shorter than every encoding.
HEAD: Final = 4


# The end of a line as it is, and as JSON writes it once or twice escaped, with the indentation of the next line.
BREAK: Final = rb"(?:\r?\n|(?:\\{1,2}r)?\\{1,2}n)[ \t]{0,40}"
BEGUN_BREAK: Final = rb"(?:\r?(?:\n[ \t]{0,40})?|\\{1,2}(?:r(?:\\{1,2})?)?|(?:\\{1,2}r)?\\{1,2}n[ \t]{0,40})"
MOST_BREAK: Final = 46
# Most positions fail here, before any head is tried.
NEAR_BREAK: Final = rb"(?=[^\r\n\\]{0,2}[\r\n\\])"
_BREAK: Final = re.compile(BREAK)
_BEGUN: Final = re.compile(BEGUN_BREAK + rb"\Z")
_SOLID: Final = re.compile(rb"[!-\[\]-~\x80-\xff]+")
"""What a line break inside cannot be a part of."""


class Mask:
    """The secrets to hide; created once per run, because preparing the encodings costs far more than searching."""

    __slots__ = ("_begun_heads", "_broken_heads", "_by_head", "_heads", "_shapes", "_wrapped")

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        """Prepare a mask; `secrets` maps the name of each secret, for messages, to its value."""
        self._shapes: tuple[bytes, ...] = ()
        self._wrapped: frozenset[bytes] = frozenset()
        self.learn(secrets or {})

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Also hide these secrets from now on, including in streams that have started."""
        shapes = set(self._shapes)
        for name, value in secrets.items():
            if value:
                core = _without_stars(name, value)
                shapes |= encodings(core)
                self._wrapped |= wrapped_encodings(core)
        # The longest is tried first, so that no tail of it remains after a mask of a shorter one.
        self._shapes = tuple(sorted(shapes, key=len, reverse=True))
        self._by_head: dict[bytes, list[bytes]] = {}
        for shape in self._shapes:
            self._by_head.setdefault(shape[:HEAD], []).append(shape)
        wrapped = sorted({shape[:HEAD] for shape in self._wrapped})
        self._heads = re.compile(_first_bytes(sorted(self._by_head), wrapped)) if shapes else None
        self._broken_heads = re.compile(_any_of(wrapped, b"(?:" + BREAK + b")?"))
        self._begun_heads = re.compile(_beginning_of(wrapped) + BEGUN_BREAK + rb"\Z")

    def __repr__(self) -> str:
        return f"Mask({len(self._shapes)} shapes)"

    @property
    def is_empty(self) -> bool:
        """Whether there is no secret to hide."""
        return not self._shapes

    def stream(self) -> MaskStream:
        return MaskStream(self)

    def apply(self, data: bytes) -> bytes:
        if not self._shapes:
            return data
        stream = self.stream()
        return stream.feed(data) + stream.finish()

    def text(self, text: str) -> str:
        """Mask a text, such as a message or a prompt."""
        if not self._shapes:
            return text
        return self.apply(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def hides(self, text: str) -> bool:
        return bool(self._shapes) and self.text(text) != text

    def next_head(self, data: bytearray, *, after: int) -> int | None:
        """The next position at which a secret could start."""
        match = self._heads.search(data, after) if self._heads else None
        if match:
            return match.start()
        # Near the end there is no whole head, but an encoding may start here and continue in the next chunk.
        begun = self._begun_heads.search(data, max(after, len(data) - HEAD * (1 + MOST_BREAK)))
        last = len(data) if begun is None or not self._shapes else begun.start()
        for position in range(max(after, len(data) - HEAD + 1), last):
            if any(head.startswith(data[position:]) for head in self._by_head):
                return position
        return last if last < len(data) else None

    def length_at(self, data: bytearray, at: int) -> int | None:
        """The length of the secret that starts here; 0 if none does, None if more bytes are needed to decide."""
        if len(data) - at < HEAD or self._begun_heads.match(data, at):
            return None
        for shape in self._shapes_at(data, at):
            length = _length(shape, data, at)
            if length != 0:
                return length
        return 0

    def whole_length_at(self, data: bytearray, at: int) -> int:
        """The same when no more bytes will follow."""
        return next(
            (length for shape in self._shapes_at(data, at) if (length := _length(shape, data, at))), 0
        )

    def _shapes_at(self, data: bytearray, at: int) -> Sequence[bytes]:
        """Those that have the head at this position, as it is or with line breaks in it."""
        head = bytes(data[at : at + HEAD])
        shapes = self._by_head.get(head, [])
        match = self._broken_heads.match(data, at)
        if match is None or match[0] == head:
            return shapes
        return sorted((*shapes, *self._by_head[_BREAK.sub(b"", match[0])]), key=len, reverse=True)


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
        if self._mask.is_empty:
            unmasked = bytes(self._data)
            self._data.clear()
            return unmasked
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


def _length(shape: bytes, data: bytearray, at: int) -> int | None:
    """The length of a shape at a position, also in several lines; 0 if it is not there, None if that is not known yet."""
    if data.startswith(shape, at):
        return len(shape)
    if len(data) - at < len(shape) and shape.startswith(data[at:]):
        return None
    return _broken_length(shape, data, at) if _SOLID.fullmatch(shape) else 0


def _broken_length(shape: bytes, data: bytearray, at: int) -> int | None:
    end = at
    for number, byte in enumerate(shape):
        if number and end < len(data) and data[end] != byte:
            match = _BREAK.match(data, end)
            if match is None or match.end() == len(data):
                return None if _BEGUN.match(data, end) else 0
            end = match.end()
        if end == len(data):
            return None
        if data[end] != byte:
            return 0
        end += 1
    return end - at


NEVER: Final = b"(?!)"


def _any_of(heads: Sequence[bytes], between: bytes = b"") -> bytes:
    """A pattern that branches byte by byte, because a key of fifty lines has 600 heads, too many to try in turn."""
    if not heads:
        return NEVER
    if len(heads) == 1:
        return between.join(re.escape(heads[0][at : at + 1]) for at in range(len(heads[0])))
    groups = groupby(heads, key=lambda head: head[:1])
    branches = (
        re.escape(first) + between + _any_of([head[1:] for head in same], between) for first, same in groups
    )
    return b"(?:" + b"|".join(branches) + b")"


def _first_bytes(heads: Sequence[bytes], wrapped: Sequence[bytes]) -> bytes:
    """A pattern for a head as it is or with line breaks in it. Each branch begins with a byte: that is searched fast."""
    branches = []
    for first, same in groupby(heads, key=lambda head: head[:1]):
        rests = [_any_of([head[1:] for head in same])]
        broken = [head[1:] for head in wrapped if head[:1] == first]
        if broken:
            between = b"(?:" + BREAK + b")?"
            rests.append(NEAR_BREAK + between + _any_of(broken, between))
        branches.append(re.escape(first) + b"(?:" + b"|".join(rests) + b")")
    return b"|".join(branches)


def _beginning_of(heads: Sequence[bytes]) -> bytes:
    """A pattern for the first bytes of a head, at least one and not all, with line breaks between them."""
    if not heads:
        return NEVER
    groups = groupby(heads, key=lambda head: head[:1])
    branches = []
    for first, same in groups:
        rest = [head[1:] for head in same if len(head) > 2]
        more = b"(?:(?:" + BREAK + b")?" + _beginning_of(rest) + b")?" if rest else b""
        branches.append(re.escape(first) + more)
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
