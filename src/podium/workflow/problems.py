"""Problems of a file as shown to a person: location, message, hint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from podium.errors import ConfigurationError, PathViolation
from podium.fast_dataclass import dataclass

MAX_WORD: Final = 80
STEP_NAME: Final = re.compile(r'"[a-z][a-z0-9_]*"|steps\.[a-z][a-z0-9_]*')
EFFECT_RULE: Final = 43
"""The validation rule of keys of another format that have no effect."""


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """A problem of a file; `rule` is its number in the table of validation rules. Problems sort by place."""

    file: str
    line: int
    col: int
    rule: int
    message: str
    hint: str = ""
    warning: bool = False

    def render(self) -> str:
        kind = "warning: " if self.warning else ""
        hint = f"\n  hint: {self.hint}" if self.hint else ""
        return f"{self.file}:{self.line}:{self.col}: {kind}{self.message}{hint}"

    def data(self) -> dict[str, object]:
        """A row of `podium validate --json`."""
        return {
            "file": self.file,
            "line": self.line,
            "col": self.col,
            "rule": self.rule,
            "message": self.message,
            "hint": self.hint,
            "warning": self.warning,
        }


def with_labels(problem: Problem, labels: Mapping[str, str]) -> Problem:
    """The problem with the names that the author of a translated file uses for steps."""
    message, hint = (
        STEP_NAME.sub(lambda match: _labelled(match[0], labels), text)
        for text in (problem.message, problem.hint)
    )
    return replace(problem, message=message, hint=hint)


def _labelled(name: str, labels: Mapping[str, str]) -> str:
    start = "steps." if name.startswith("steps.") else '"'
    plain = name.removeprefix(start).rstrip('"')
    return name.replace(plain, labels.get(plain, plain)) if plain else name


def mistakes(
    problems: Iterable[Problem], kind: type[ConfigurationError | PathViolation] = ConfigurationError
) -> ConfigurationError | PathViolation:
    """An error that lists these problems."""
    listed = tuple(problems)
    error = kind("\n".join(problem.render() for problem in listed))
    error.code = error.code if kind is PathViolation else "invalid_file"
    error.problems = tuple(problem.data() for problem in listed)
    return error


def in_order(problems: Iterable[Problem]) -> tuple[Problem, ...]:
    """Sorted by place, without duplicates."""
    return tuple(sorted(set(problems)))


def nearest(word: str, candidates: Iterable[str]) -> str | None:
    """The candidate that the user probably meant."""
    import difflib

    # The comparison is quadratic in the length, and a mistyped word is never a thousand letters long.
    close = difflib.get_close_matches(word[:MAX_WORD], list(candidates), n=1)
    return close[0] if close else None


def did_you_mean(word: str, candidates: Iterable[str]) -> str:
    """A hint with the nearest candidate, or an empty text."""
    meant = nearest(word, candidates)
    return f'did you mean "{meant}"?' if meant else ""


def join_words(words: Sequence[str], last: str) -> str:
    """The words as `a, b or c`; `last` is the conjunction."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
