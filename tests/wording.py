"""The words that names and texts of the project do not use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tests.syntax import syntax_of

UNCLEAR_NAMES: Final = frozenset(
    "again asked ears found given ground held kept known letter minds office ran said taken told wanted".split()
)
"""Words that tell a reader that something happened, and not what the value is."""
STORED_UNCLEAR_NAMES: Final = frozenset({("RunSource", "kept")})
"""Fields whose name is a key of stored JSON."""


def name_faults(src: Path) -> tuple[str, ...]:
    """Modules, classes, functions, parameters, fields and variables with an unclear name."""
    faults = [f"{path}: unclear name" for path in sorted(src.rglob("*.py")) if path.stem in UNCLEAR_NAMES]
    for path in sorted(src.rglob("*.py")):
        faults += [
            f"{path}:{line}: unclear name {name}"
            for line, name, cls in syntax_of(path.read_text("utf-8")).names
            if name.strip("_").lower() in UNCLEAR_NAMES and (cls, name) not in STORED_UNCLEAR_NAMES
        ]
    return tuple(faults)


NO_THING: Final = r"(?P<there>\bthere\s+)?\b(?:is|are)\s+no\s+(?!longer\b|more\b|other\b)"
"""\"is no directory\" instead of \"is not a directory\"; \"there is no directory\" is plain."""
UNCLEAR_WORDS: Final = re.compile(
    rf"\b(?:carry on|carried on|stands|walls?|whoever)\b|{NO_THING}", re.IGNORECASE
)
UNCLEAR_WORDS_OF_PAGES: Final = re.compile(rf"\b(?:stands|whoever)\b|{NO_THING}", re.IGNORECASE)
PAGE_SUFFIXES: Final = (".md", ".yaml", ".json")
OLD_PAGES: Final = ("decisions", "requirements.md")
"""Records of choices and of what was asked for, which are not written again."""


def wording_faults(src: Path) -> tuple[str, ...]:
    """Texts, docstrings included, with a translated idiom or a private word."""
    return tuple(
        f"{path}:{line}: {' '.join(match.group().split())}"
        for path in sorted(src.rglob("*.py"))
        for line, text, _ in syntax_of(path.read_text("utf-8")).texts
        for match in UNCLEAR_WORDS.finditer(text)
        if not match["there"] and not text[match.end() :].startswith(" for")  # "x stands for y"
    )


def page_faults(folders: Iterable[Path]) -> tuple[str, ...]:
    """The same for pages, examples and shipped files."""
    files = (path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in PAGE_SUFFIXES)
    return tuple(
        f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match.group().split())}"
        for path in files
        if not set(OLD_PAGES) & set(path.parts)
        for text in (path.read_text("utf-8"),)
        for match in UNCLEAR_WORDS_OF_PAGES.finditer(text)
        if not match["there"]
    )
