"""A parsed prompt, what it reads, and its errors; importable without Jinja."""

from __future__ import annotations

from typing import TypeAlias

from podium.core.expressions.values import MAX_TEXT
from podium.errors import ConfigurationError
from podium.fast_dataclass import dataclass

Chain: TypeAlias = tuple[str, ...]


class PromptError(ConfigurationError):
    """`file` is the prompt or the included file, `line` counts from 1."""

    def __init__(self, message: str, line: int, hint: str = "", *, file: str = "") -> None:
        super().__init__(message, hint=hint or None)
        self.line = line
        self.file = file


@dataclass(frozen=True, slots=True)
class PromptReference:
    """A name that a prompt reads, like `Reference` in expressions, and its place."""

    chain: Chain
    optional: bool
    line: int
    file: str


@dataclass(frozen=True, slots=True)
class Prompt:
    """`files` holds the text itself under its name, and all files that it includes."""

    name: str
    files: tuple[tuple[str, str], ...]
    references: tuple[PromptReference, ...]


def plain_prompt(text: str, *, name: str) -> Prompt | None:
    """The prompt for a text without any tag; None if the text may contain one and must be parsed."""
    return None if "{" in text or len(text) > MAX_TEXT else Prompt(name, ((name, text),), ())
