"""Markdown as far as the docs need it: tables to write, fenced blocks to read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

NOTICE: Final = "<!-- Written by `make docs` from the code; edit the code instead. -->"

_OPEN: Final = re.compile(r"^```(\w+)\s*$")


@dataclass(frozen=True, slots=True)
class Fenced:
    """A fenced block: its language, its lines, and the number of its first line, from 1."""

    language: str
    lines: tuple[str, ...]
    line: int

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def first(self) -> str:
        return self.lines[0] if self.lines else ""


def fenced(text: str) -> Iterator[Fenced]:
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        opening = _OPEN.match(lines[number])
        number += 1
        if opening is None:
            continue
        end = lines.index("```", number)
        yield Fenced(opening[1], tuple(lines[number:end]), number + 1)
        number = end + 1


def page(title: str, *parts: str) -> str:
    return "\n\n".join([f"# {title}", NOTICE, *(part.strip("\n") for part in parts if part)]) + "\n"


def noticed(text: str) -> str:
    """A page that was made elsewhere, with the word that it is generated."""
    title, rest = text.split("\n", 1)
    return f"{title}\n\n{NOTICE}\n{rest}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row(heads), "|" + "---|" * len(heads), *map(_row, rows)]
    return "\n".join(lines)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def code(word: str) -> str:
    return f"`{word}`" if word else ""


def codes(words: Iterable[str]) -> str:
    return ", ".join(map(code, words))
