"""The forms in which files are shown: whole, by signatures, by public signatures, by name, and folders with counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, Literal, TypeAlias

from podium.context.facts import Cut, FileFacts

Form: TypeAlias = Literal["whole", "signatures", "public", "named", "cut"]
MAX_DEPTH: Final = 6
_BLANK_LINES: Final = re.compile(r"\n(?:[ \t]*\n){2,}")


def signatures(content: bytes, facts: FileFacts, keep: Collection[str] = ()) -> str | None:
    """The file without the bodies of its functions, except those that mention a word of `keep`; None if it has no form.

    A file that was not parsed has none.
    """
    if not facts.cuts and not facts.definitions:
        return None
    cuts = [cut for cut in facts.cuts if not cut.private]
    if keep:
        cuts = [cut for cut in cuts if not _mentions(content[cut.start : cut.end], keep)]
    return _apply(content, cuts)


def public_signatures(content: bytes, facts: FileFacts) -> str | None:
    """The signatures without private members and without any body; None for a file that was not parsed."""
    if not facts.cuts and not facts.definitions:
        return None
    return _apply(content, facts.cuts)


def _mentions(piece: bytes, words: Collection[str]) -> bool:
    text = piece.decode("utf-8", "replace").lower()
    return any(word in text for word in words)


def _apply(content: bytes, cuts: Collection[Cut]) -> str:
    pieces = b"".join(_pieces(content, cuts))
    text = pieces.decode("utf-8", "replace").replace("\r\n", "\n")
    return _BLANK_LINES.sub("\n\n", text).strip("\n") + "\n"


def _pieces(content: bytes, cuts: Collection[Cut]) -> Iterator[bytes]:
    """The outermost cut wins, so what is inside a body or a private class is gone with it."""
    position = 0
    for cut in sorted(cuts, key=lambda each: (each.start, -each.end)):
        if cut.start < position or cut.end > len(content):
            continue
        yield content[position : cut.start]
        yield cut.text.encode()
        position = cut.end
    yield content[position:]


def tree_lines(paths: Iterable[str], room: int, count: Callable[[str], int]) -> str:
    """One line per folder; empty if there is no room even for those at the top."""
    files = list(paths)
    best = ""
    for depth in range(1, MAX_DEPTH + 1):
        text = _lines(files, depth)
        if text == best:
            break
        if count(text) > room:
            break
        best = text
    return best


def _lines(paths: Iterable[str], depth: int) -> str:
    counts: Counter[str] = Counter()
    for path in paths:
        folders = path.split("/")[:-1]
        for end in range(min(len(folders), depth) + 1):
            counts["/".join(folders[:end])] += 1
    lines = []
    for folder in sorted(counts):
        level = folder.count("/") if folder else 0
        name = f"{folder.rpartition('/')[2]}/" if folder else "./"
        indent = "  " * (level + 1) if folder else ""
        number = counts[folder]
        lines.append(f"{indent}{name}  {number} file{'s' if number != 1 else ''}")
    return "\n".join(lines)
