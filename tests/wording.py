"""The words that names and texts of the project do not use."""

from __future__ import annotations

import re
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


UNCLEAR_WORDS: Final = re.compile(r"\b(?:carry on|carried on|stands|walls?|whoever)\b", re.IGNORECASE)


def wording_faults(src: Path) -> tuple[str, ...]:
    """Texts, docstrings included, with a translated idiom or a private word."""
    return tuple(
        f"{path}:{line}: {match.group()}"
        for path in sorted(src.rglob("*.py"))
        for line, text, _ in syntax_of(path.read_text("utf-8")).texts
        for match in UNCLEAR_WORDS.finditer(text)
        if not text[match.end() :].startswith(" for")  # "x stands for y"
    )
