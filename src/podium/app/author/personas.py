"""Personas as Markdown files, such as those of the states format: which there are, and whether each has its sections."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from podium.app.author.load import Checked
from podium.errors import ConfigurationError
from podium.files.inside import MAX_TEXT_FILE, read_file
from podium.workflow.problems import Problem, in_order

RULE: Final = 21
_HEADING: Final = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)


def persona_files(paths: Sequence[Path]) -> tuple[Path, ...]:
    """The Markdown files among these paths and in these folders."""
    files: list[Path] = []
    for path in paths:
        if path.is_dir():
            files += sorted(path.rglob("*.md"))
        elif path.is_file():
            files.append(path)
        else:
            raise ConfigurationError(f"{path} does not exist", hint="name a persona file or a folder of them")
    if not files:
        raise ConfigurationError("there are no persona files", hint="personas are *.md files")
    return tuple(dict.fromkeys(files))


def check_personas(paths: Sequence[Path], sections: Sequence[str]) -> tuple[Checked, ...]:
    """Each persona with what it lacks: any text, or one of the sections, which are headings in any case."""
    return tuple(Checked(file, in_order(_problems(file, sections))) for file in persona_files(paths))


def _problems(file: Path, sections: Sequence[str]) -> Iterator[Problem]:
    words = read_file(file, MAX_TEXT_FILE).decode("utf-8", "replace")
    if not words.strip():
        yield Problem(str(file), 1, 1, RULE, "the persona is empty", "say who plays, and how")
        return
    headings = {heading.casefold() for heading in _HEADING.findall(words)}
    for section in sections:
        if section.casefold() not in headings:
            message, hint = f'the persona has no section "{section}"', f"add a heading: ## {section}"
            yield Problem(str(file), 1, 1, RULE, message, hint)
