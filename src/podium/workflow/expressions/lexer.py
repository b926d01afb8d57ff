"""Splits an expression into tokens and masks it for Python's parser.

The masked text has the same length and contains only ASCII letters: the contents of strings and the words that
Python reserves (`with.coverage`, `steps.import`) are replaced by `x`. So positions stay correct, no escape makes
Python warn, and names and strings are read from the original text by position.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from typing import Final

from podium.fast_dataclass import dataclass

MAX_LENGTH: Final = 2000
MAX_BRACKETS: Final = 50


class LexerError(Exception):
    """A fault at an offset of the text; becomes an ExpressionError once line and column are known."""

    def __init__(self, message: str, offset: int, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


# Words that have the same meaning in Python; all other keywords are ordinary names.
_OPERATORS: Final = frozenset(
    {"and", "or", "not", "in", "if", "else", "is", "for", "lambda", "True", "False", "None"}
)
_MASKED_KEYWORDS: Final = frozenset(keyword.kwlist) - _OPERATORS

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
_ALLOWED_SIGNS: Final = frozenset("== != <= >= < > + - * / // % ( ) [ ] , . :".split())
_HINTS: Final[Mapping[str, str]] = {
    "&&": 'write "and"',
    "&": 'write "and"',
    "||": 'write "or"',
    "|": "call a function instead: len(x), default(x, y), join(x, y)",
    "!": 'write "not"',
    "=": 'write "==" to compare',
    "===": 'write "=="',
    "<>": 'write "!="',
    ":=": "an expression cannot assign a value",
    "?": 'write "a if condition else b"',
    "{{": "remove the braces",
    "}}": "remove the braces",
    "$": "remove the braces",
    "{": "maps cannot be written in an expression",
    "#": "put comments after the value in the YAML file",
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
        raise LexerError(f"this expression has {len(text)} characters; at most {MAX_LENGTH} are allowed", 0)
    if not text.strip():
        raise LexerError("the expression is empty", 0)
    masked: list[str] = []
    last = ""
    open_brackets = 0
    for token in _TOKEN.finditer(text):
        kind, word = str(token.lastgroup), token[0]
        masked.append(_mask_token(kind, word, last, token.start()))
        open_brackets += (word in "([") - (word in ")]") if kind == "sign" else 0
        if open_brackets > MAX_BRACKETS:
            raise LexerError(f"brackets are nested more than {MAX_BRACKETS} deep", token.start())
        last = last if kind == "space" else ("'" if kind == "string" else word)
    return Source(text, "".join(masked))


def unquote(literal: str, offset: int) -> str:
    """The text of a string literal. Raw literals (r'...') keep their backslashes, which helps with patterns."""
    if literal.startswith("r"):
        return literal[2:-1]
    inner = literal[1:-1]
    if "\\" not in inner:
        return inner
    return re.sub(r"\\(.)", lambda match: _unescape(match, offset + 1), inner, flags=re.DOTALL)


def _mask_token(kind: str, word: str, last: str, offset: int) -> str:
    match kind:
        case "string":
            return _mask_string(word, last, offset)
        case "quote":
            raise LexerError("this quote is not closed on the same line", offset)
        case "number":
            if not _NUMBER.fullmatch(word):
                raise LexerError(f'"{word}" is not a decimal number', offset)
            return word
        case "word":
            is_masked = keyword.iskeyword(word) if last == "." else word in _MASKED_KEYWORDS
            return "x" * len(word) if is_masked else word
        case "space":
            return " " * len(word)
        case _:
            if word not in _ALLOWED_SIGNS:
                raise LexerError(f'"{word}" has no meaning in an expression', offset, _HINTS.get(word, ""))
            return word


def _mask_string(word: str, last: str, offset: int) -> str:
    prefix = re.match("[A-Za-z]*", word)
    if prefix is not None and prefix[0] not in ("", "r"):
        raise LexerError(f'the prefix "{prefix[0]}" of a text is not allowed', offset)
    if last == "'":
        raise LexerError("two texts follow each other", offset, "a comma may be missing")
    return f"'{'x' * (len(word) - 2)}'"


def _unescape(match: re.Match[str], offset: int) -> str:
    if match[1] not in _ESCAPES:
        raise LexerError(
            f'"{match[0]}" is not a valid escape',
            offset + match.start(),
            "write r'...' to keep backslashes",
        )
    return _ESCAPES[match[1]]
