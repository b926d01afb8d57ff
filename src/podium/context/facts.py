"""What is known about one file from its content alone: imports, definitions, what its signatures leave out, words.

Facts depend on the bytes and the extractor's version only, so they are chosen by the hash of the content.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from podium.fast_dataclass import dataclass, replace

VERSION: Final = 1
"""Of the extractor; raise it whenever the same bytes give other facts."""
MAX_FILE_BYTES: Final = 400_000
"""Larger files are data or generated."""

ImportKind: TypeAlias = Literal["load", "lazy", "types", "export", "package"]
"""`lazy` is inside a function, `types` for a type checker only, `export` passes names on; `package` needs no statement."""


@dataclass(frozen=True, slots=True)
class ImportFact:
    module: str
    """As the language names it; relative Python imports begin with dots."""
    names: tuple[str, ...]
    """The imported names; `*` for all, () for the module itself."""
    line: int
    kind: ImportKind = "load"


@dataclass(frozen=True, slots=True)
class Definition:
    name: str
    kind: str
    line: int
    public: bool = True
    abstract: bool = False
    """A type that others implement or pass around: an interface, trait, protocol or type alias."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A piece of a file that a shorter form leaves out, in bytes."""

    start: int
    end: int
    text: str
    """What takes its place."""
    private: bool = False
    """Left out of the public form only: a private member, or a body so short that signatures may keep it."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    language: str
    """Empty for a file that is not code."""
    package: str = ""
    """The package that the file declares, in languages that have such a line."""
    imports: tuple[ImportFact, ...] = ()
    definitions: tuple[Definition, ...] = ()
    cuts: tuple[Cut, ...] = ()
    uses: tuple[str, ...] = ()
    """Names of types and functions that it mentions, for languages whose imports do not name them."""
    words: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    fault: str = ""
    """Why it could not be read as code."""
    size: int = 0
    """In bytes."""


def encode_facts(facts: FileFacts) -> bytes:
    """The facts without their words, which are stored on their own."""
    parts = [
        facts.language,
        facts.package,
        [[each.module, each.names, each.line, each.kind] for each in facts.imports],
        [[each.name, each.kind, each.line, each.public, each.abstract] for each in facts.definitions],
        [[each.start, each.end, each.text, each.private] for each in facts.cuts],
        facts.uses,
        facts.fault,
        facts.size,
    ]
    return zlib.compress(json.dumps(parts, separators=(",", ":")).encode("utf-8", "surrogatepass"), 1)


def decode_facts(data: bytes) -> FileFacts:
    return _facts(json.loads(zlib.decompress(data)))


def facts_to_line(facts: FileFacts) -> str:
    """One line of JSON with everything, from the process that reads foreign code."""
    return json.dumps([encode_facts(facts).hex(), dict(facts.words)], separators=(",", ":"))


def facts_from_line(line: str) -> FileFacts:
    body, words = json.loads(line)
    return with_words(decode_facts(bytes.fromhex(body)), words)


def with_words(facts: FileFacts, words: Mapping[str, int]) -> FileFacts:
    return replace(facts, words=words)


def _facts(parts: list[Any]) -> FileFacts:
    language, package, imports, definitions, cuts, uses, fault, size = parts
    return FileFacts(
        language,
        package,
        tuple(ImportFact(module, tuple(names), line, kind) for module, names, line, kind in imports),
        tuple(Definition(*each) for each in definitions),
        tuple(Cut(*each) for each in cuts),
        tuple(uses),
        fault=fault,
        size=size,
    )
