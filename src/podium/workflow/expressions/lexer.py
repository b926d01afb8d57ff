"""Reads the text of an expression word by word and prepares it for Python's parser.

What comes out has the same length and only ASCII letters: contents of strings and words that Python reserves
(`with.coverage`, `steps.import`) are covered by `x`. So positions stay true, no escape makes Python warn, and
names and strings are taken from the original text by their place.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Final

from podium.core.fast_dataclass import dataclass

MAX_LENGTH: Final = 2000
MAX_BRACKETS: Final = 50


class LexerError(Exception):
    """What is wrong at this offset of the text; becomes an ExpressionError where line and column are known."""

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


# The words that mean to Python what they mean here; all other keywords are ordinary names.
_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "if", "else", "is", "for", "lambda", "True", "False", "None"}
)
_COVERED: Final = frozenset(keyword.kwlist) - _OPERATORS

_TOKEN: Final = re.compile(
    r"""
    (?P<string> [A-Za-z]* (?: '(?:[^'\\\n]|\\[^\n])*' | "(?:[^"\\\n]|\\[^\n])*" ) )
  | (?P<quote> ['"] )
  | (?P<number> [0-9] (?: [\w.] | (?<=[eE]) [+-] (?=[0-9]) )* )
  | (?P<word> [A-Za-z_]\w* )
  | (?P<space> [ \t\r\n]+ )
  | (?P<sign> && | \|\| | === | == | != | <= | >= | <> | \*\* | // | << | >> | := | -> | => | \{\{ | \}\} | . )
    """,
    re.VERBOSE | re.ASCII | re.DOTALL,
)
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_GOOD_SIGNS: Final = frozenset("== != <= >= < > + - * / % ( ) [ ] , . :".split())
_HINTS: Final[Mapping[str, str]] = {
    "&&": 'write "and"',
    "&": 'write "and"',
    "||": 'write "or"',
    "|": "functions are called: len(x), default(x, y), join(x, y)",
    "!": 'write "not"',
    "=": 'write "==" to compare',
    "===": 'write "=="',
    "<>": 'write "!="',
    ":=": "nothing can be assigned in an expression",
    "?": 'write "a if condition else b"',
    "{{": "leave out the brackets",
    "}}": "leave out the brackets",
    "$": "leave out the brackets",
    "{": "maps cannot be written in an expression",
    "#": "comments belong behind the value in the YAML file",
}
_ESCAPES: Final[Mapping[str, str]] = {"\\": "\\", "'": "'", '"': '"', "n": "\n", "t": "\t"}


@dataclass(frozen=True, slots=True)
class Source:
    text: str
    masked: str

    def original(self, start: int, end: int) -> str:
        return self.text[start:end]


def mask(text: str) -> Source:
    if len(text) > MAX_LENGTH:
        raise LexerError(f"an expression of {len(text)} characters; at most {MAX_LENGTH}", 0)
    if not text.strip():
        raise LexerError("the expression is empty", 0)
    masked: list[str] = []
    last = ""
    open_brackets = 0
    for token in _TOKEN.finditer(text):
        kind, word = str(token.lastgroup), token[0]
        masked.append(_masked(kind, word, last, token.start()))
        open_brackets += (word in "([") - (word in ")]") if kind == "sign" else 0
        if open_brackets > MAX_BRACKETS:
            raise LexerError(f"brackets are nested more than {MAX_BRACKETS} deep", token.start())
        last = last if kind == "space" else ("'" if kind == "string" else word)
    return Source(text, "".join(masked))


def unquote(literal: str, offset: int) -> str:
    """The text a string literal stands for. Raw ones (r'...') keep their backslashes: good for patterns."""
    if literal.startswith("r"):
        return literal[2:-1]
    inner = literal[1:-1]
    if "\\" not in inner:
        return inner
    return re.sub(r"\\(.)", lambda found: _escaped(found, offset + 1), inner, flags=re.DOTALL)


def _masked(kind: str, word: str, last: str, offset: int) -> str:
    match kind:
        case "string":
            return _masked_string(word, last, offset)
        case "quote":
            raise LexerError("a text is opened here and not closed on its line", offset)
        case "number":
            if not _NUMBER.fullmatch(word):
                raise LexerError(f'"{word}" is not a decimal number', offset)
            return word
        case "word":
            covered = keyword.iskeyword(word) if last == "." else word in _COVERED
            return "x" * len(word) if covered else word
        case "space":
            return " " * len(word)
        case _:
            if word not in _GOOD_SIGNS:
                raise LexerError(f'"{word}" has no meaning in an expression', offset, _HINTS.get(word, ""))
            return word


def _masked_string(word: str, last: str, offset: int) -> str:
    prefix = re.match("[A-Za-z]*", word)
    if prefix is not None and prefix[0] not in ("", "r"):
        raise LexerError(f'"{prefix[0]}" before a text is not allowed', offset)
    if last == "'":
        raise LexerError("two texts stand side by side", offset, "a comma may be missing")
    return f"'{'x' * (len(word) - 2)}'"


def _escaped(found: re.Match[str], offset: int) -> str:
    if found[1] not in _ESCAPES:
        raise LexerError(
            f'"{found[0]}" is not an escape',
            offset + found.start(),
            "write r'...' to keep backslashes as they are",
        )
    return _ESCAPES[found[1]]
