"""Facts of one file from its bytes: the language by its name, and the reader for it."""

from __future__ import annotations

import re
import sys
from functools import cache
from importlib.util import find_spec
from typing import Final

from podium.context.extract.python_ast import python_facts
from podium.context.facts import MAX_FILE_BYTES, FileFacts
from podium.context.words import words_of
from podium.fast_dataclass import replace

EXTENSIONS: Final = {
    **dict.fromkeys((".py", ".pyi"), "python"),
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), "javascript"),
    **dict.fromkeys((".ts", ".mts", ".cts"), "typescript"),
    ".tsx": "tsx",
    ".go": "go",
    ".rs": "rust",
    ".java": "java",
}
"""The grammar for each ending of a name."""
NO_GRAMMAR: Final = "its grammar is not installed"
_GENERATED: Final = re.compile(
    rb"(?im)^\W*(?:code generated .*do not edit|@generated\b|this file (?:is|was) (?:auto-?)?generated)"
)


def grammar_of(path: str) -> str:
    """The grammar that reads a file with this path; empty if it is not code that we read."""
    name = path.rpartition("/")[2]
    dot = name.rfind(".")
    return EXTENSIONS.get(name[dot:].lower(), "") if dot > 0 else ""


@cache
def reader_of(grammar: str) -> str:
    """The name of what reads a language on this machine, as part of the name of its facts."""
    has_grammar = bool(grammar) and is_installed(grammar)
    version = f"{sys.version_info.minor}" if grammar == "python" else ""
    return f"{grammar or 'words'}{version}{'+' if has_grammar else ''}"


@cache
def is_installed(grammar: str) -> bool:
    """Whether the packages of the extra `context` can read this language."""
    from podium.context.extract.grammars import GRAMMARS

    return all(find_spec(name) is not None for name in ("tree_sitter", GRAMMARS[grammar].package))


def is_binary(content: bytes) -> bool:
    return b"\0" in content[:8000]


def is_generated(content: bytes) -> bool:
    """Whether the first lines say that a program wrote the file."""
    return _GENERATED.search(content[:2_000]) is not None


def read_facts(grammar: str, content: bytes) -> FileFacts:
    """The facts of a file; one that cannot be parsed has only words, and the reason."""
    size = len(content)
    if is_binary(content) or size > MAX_FILE_BYTES:
        return FileFacts("", fault="binary" if is_binary(content) else "too large", size=size)
    words = words_of(content.decode("utf-8", "replace"))
    facts = FileFacts("") if not grammar else _code_facts(grammar, content)
    fault = facts.fault or ("generated" if is_generated(content) else "")
    return replace(facts, words=words, fault=fault, size=size)


def _code_facts(grammar: str, content: bytes) -> FileFacts:
    fault = ""
    if grammar == "python":
        try:
            return python_facts(content)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            # The interpreter that runs Podium may be older than the one the project is written for.
            fault = f"not parsed: {type(error).__name__}"
    try:
        from podium.context.extract.tree_sitter_facts import tree_sitter_facts

        facts = tree_sitter_facts(grammar, content)
    except (ImportError, ValueError, RecursionError, MemoryError) as error:
        return FileFacts(grammar, fault=fault or f"not parsed: {type(error).__name__}")
    language = "typescript" if grammar == "tsx" else grammar
    return facts if facts is not None else FileFacts(language, fault=fault or NO_GRAMMAR)
