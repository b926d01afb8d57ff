"""Removes lines of hidden files from texts for a worker that may not see them: output of gates, answers of other steps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

MIN_LENGTH: Final = 8
"""A shorter line, such as `return x`, is in many files."""
HIDDEN: Final = "[a line of a hidden file]"
_MARKS: Final = re.compile(r"^[\s>|E+\-]*(?:\d+\s*[|:]?\s*)?")


class HiddenLines:
    """The lines of hidden files that no visible text has."""

    def __init__(self, contents: Iterable[bytes], shown: Iterable[str]) -> None:
        visible = {line.strip() for text in shown for line in text.splitlines()}
        every = {
            line.strip() for content in contents for line in content.decode("utf-8", "replace").splitlines()
        }
        self._lines = frozenset(line for line in every - visible if len(line) >= MIN_LENGTH)
        self._long: Sequence[str] = sorted(line for line in self._lines if len(line) >= 2 * MIN_LENGTH)

    def remove(self, text: str) -> str:
        """The text with each such line replaced by a note; marks of a diff or a traceback before it do not matter."""
        if not self._lines or not text:
            return text
        return "".join(
            self._cleaned(line) if self._has_hidden(line) else line for line in text.splitlines(keepends=True)
        )

    def _has_hidden(self, line: str) -> bool:
        plain = line.strip()
        if plain in self._lines or _MARKS.sub("", plain) in self._lines:
            return True
        return len(plain) >= 2 * MIN_LENGTH and any(hidden in plain for hidden in self._long)

    def _cleaned(self, line: str) -> str:
        return HIDDEN + ("\n" if line.endswith("\n") else "")
