"""The change of a file as coloured lines: unidiff reads git's text, pygments knows the languages. No markup is made here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from pygments.lexer import Lexer  # type: ignore[import-untyped]  # it has no types
from pygments.lexers import get_lexer_for_filename  # type: ignore[import-untyped]  # it has no types
from pygments.token import Comment, Keyword, Literal, Name, Number, String, _TokenType  # type: ignore[import-untyped]  # it has no types
from pygments.util import ClassNotFound  # type: ignore[import-untyped]  # it has no types
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk, PatchSet

MOST_COLOURED: Final = 60_000
"""Characters of a file's change; a longer one is shown without colours."""
LONGEST: Final = 2_000
"""Characters of a line that are shown."""
KINDS: Final = (
    (Comment, "com"),
    (String, "str"),
    (Number, "lit"),
    (Literal, "lit"),
    (Keyword, "key"),
    (Name.Function, "fun"),
    (Name.Class, "fun"),
)


class Piece(NamedTuple):
    kind: str
    """The class of its colour; empty for plain text."""
    text: str


class DiffLine(NamedTuple):
    sign: str
    """`+`, `-`, a space, or `@` for the head of a hunk."""
    old: int | None
    new: int | None
    pieces: tuple[Piece, ...]


class FileView(NamedTuple):
    path: str
    lines: tuple[DiffLine, ...]
    note: str = ""
    """Why lines are missing: the file is binary, or the change was cut."""


def file_view(path: str, text: str, *, cut: bool) -> FileView:
    try:
        files = PatchSet(text)
    except (UnidiffParseError, UnicodeError):
        return FileView(path, tuple(_plain(text)), "the change could not be read as a diff; this is its text")
    if not files or files[0].is_binary_file:
        return FileView(path, (), "a binary file or a change of its mode" if text else "no change")
    lexer = _lexer(path, text)
    lines = tuple(line for patched in files for hunk in patched for line in _hunk(hunk, lexer))
    return FileView(path, lines, "the rest of the change is left out; podium diff prints it" if cut else "")


def _lexer(path: str, text: str) -> Lexer | None:
    if len(text) > MOST_COLOURED:
        return None
    try:
        lexer: Lexer = get_lexer_for_filename(path.rpartition("/")[2], stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return lexer


def _hunk(hunk: Hunk, lexer: Lexer | None) -> Iterator[DiffLine]:
    place = f"line {hunk.target_start}" + (
        f", {hunk.section_header.strip()}" if hunk.section_header.strip() else ""
    )
    yield DiffLine("@", None, None, (Piece("", place),))
    lines = [
        (line.line_type, line.source_line_no, line.target_line_no, line.value.rstrip("\n")[:LONGEST])
        for line in hunk
    ]
    coloured = _coloured([text for *_, text in lines], lexer)
    for (sign, old, new, _), pieces in zip(lines, coloured, strict=True):
        if sign in ("+", "-", " "):
            yield DiffLine(sign, old, new, pieces)


def _coloured(lines: Sequence[str], lexer: Lexer | None) -> list[tuple[Piece, ...]]:
    """Each line with its colours. Lines of both versions are read together, which is right for nearly all code."""
    if lexer is None:
        return [(Piece("", line),) for line in lines]
    rows: list[list[Piece]] = [[]]
    for token, value in lexer.get_tokens("\n".join(lines)):
        for number, part in enumerate(value.split("\n")):
            if number:
                rows.append([])
            if part:
                rows[-1].append(Piece(_kind(token), part))
    if ["".join(piece.text for piece in row) for row in rows[: len(lines)]] != list(lines):
        return [(Piece("", line),) for line in lines]  # The lexer changed something, such as a line end.
    return [tuple(row) for row in rows[: len(lines)]]


def _kind(token: _TokenType) -> str:
    return next((name for kind, name in KINDS if token in kind), "")


def _plain(text: str) -> Iterator[DiffLine]:
    for line in text.splitlines()[:2_000]:
        yield DiffLine(" ", None, None, (Piece("", line[:LONGEST]),))
