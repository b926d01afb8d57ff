"""The words that names and texts of the project do not use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

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
        tree = ast.parse(path.read_text("utf-8"))
        stored = {
            id(field.target)
            for cls in ast.walk(tree)
            if isinstance(cls, ast.ClassDef)
            for field in cls.body
            if isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and (cls.name, field.target.id) in STORED_UNCLEAR_NAMES
        }
        faults += [
            f"{path}:{node.lineno}: unclear name {name}"
            for node in ast.walk(tree)
            if id(node) not in stored
            and (name := _defined_name(node)).strip("_").lower() in UNCLEAR_NAMES
            and hasattr(node, "lineno")
        ]
    return tuple(faults)


def _defined_name(node: ast.AST) -> str:
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name
        case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
            return name
        case _:
            return ""


UNCLEAR_WORDS: Final = re.compile(r"\b(?:carry on|carried on|stands|walls?|whoever)\b", re.IGNORECASE)


def wording_faults(src: Path) -> tuple[str, ...]:
    """Texts, docstrings included, with a translated idiom or a private word."""
    return tuple(
        f"{path}:{line}: {match.group()}"
        for path in sorted(src.rglob("*.py"))
        for line, text in _texts(path.read_text("utf-8"))
        for match in UNCLEAR_WORDS.finditer(text)
        if not text[match.end() :].startswith(" for")  # "x stands for y"
    )


def _texts(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value
