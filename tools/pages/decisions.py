"""docs/decisions/README.md: every decision record by its number, under the title that the record has."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tools.pages.markdown import noticed

FOLDER: Final = Path(__file__).parents[2] / "docs" / "decisions"

_INTRODUCTION: Final = """# Decisions

Short records of choices that a reader may want to question: the context, what was decided, what it costs, and what
would change it. A record is superseded by a later one, not rewritten.

"""


def page() -> str:
    return noticed(_INTRODUCTION + "".join(_line(path) for path in sorted(FOLDER.glob("[0-9]*.md"))))


def _line(path: Path) -> str:
    title = path.read_text("utf-8").splitlines()[0].removeprefix("# ")
    number, _, sentence = title.partition(". ")
    return f"- {number}: [{sentence}]({path.name})\n"
