"""The shape of a regular expression: its repeats and choices, which determine the cost of a search.

Constructs without a bound are refused: back-references, lookaround, an unbounded repeat inside another.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, assert_never

from podium.fast_dataclass import dataclass

# The parser of `re` is private, but only it is certain to read a pattern as `re` does; a parser of our own would
# drift. We use only `parse` and the names of the operators, which have never changed.
from re import _parser  # type: ignore[attr-defined]  # isort: skip  # missing in typeshed

from podium.core.expressions.values import TooBig, WrongType

UNBOUNDED: Final = 2**62
ANYTHING: Final = r"[\s\S]"

_CATEGORIES: Final[Mapping[str, str]] = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_REFUSED: Final[Mapping[str, str]] = {
    "GROUPREF": "a back-reference",
    "GROUPREF_EXISTS": "a conditional group",
    "ASSERT": "lookahead or lookbehind",
    "ASSERT_NOT": "lookahead or lookbehind",
    "ATOMIC_GROUP": "an atomic group",
    "POSSESSIVE_REPEAT": "a possessive repeat",
}


@dataclass(frozen=True, slots=True)
class Atom:
    """One character out of a set, written as a class: `[a-z]`, `[^\\n]`."""

    source: str
    literal: str | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    at_start: bool


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repeated body.

    `simple`: the body is a single character outside a group, which `re` runs as a fast loop. `fixed`: the body contains
    no choice. `alphabet` is the class of all characters of the body, or empty if it has none.
    """

    body: Parts
    least: int
    most: int
    simple: bool
    fixed: bool
    alphabet: str


@dataclass(frozen=True, slots=True)
class Choice:
    """Alternatives. `disjoint`: each branch starts with a different character, so that at most one can match."""

    branches: tuple[Parts, ...]
    disjoint: bool


Part: TypeAlias = Atom | Anchor | Repeat | Choice
Parts: TypeAlias = tuple[Part, ...]


def shape_of(pattern: str) -> tuple[Parts, int]:
    """The parts and the flags of a pattern. Raises what `re` raises for an invalid pattern."""
    tree = _parser.parse(pattern)
    flags: int = tree.state.flags
    return _parts(tree, flags, inside_repeat=False), flags


def alphabets(parts: Parts) -> Iterable[str]:
    """The character classes of all repeats."""
    for part in parts:
        if isinstance(part, Repeat):
            yield part.alphabet
            yield from alphabets(part.body)
        elif isinstance(part, Choice):
            for branch in part.branches:
                yield from alphabets(branch)


def head(parts: Parts) -> Iterable[Atom]:
    """The first characters of every match, as far as they are certain."""
    for part in parts:
        match part:
            case Anchor():
                pass
            case Atom():
                yield part
            case Repeat(body=(Atom() as atom,), least=least) if least:
                yield atom
                return
            case _:
                return


def _parts(tree: Iterable[tuple[Any, Any]], flags: int, *, inside_repeat: bool) -> Parts:
    parts: list[Part] = []
    for operator, value in tree:
        match str(operator):
            case "LITERAL" | "NOT_LITERAL" | "ANY" | "IN":
                parts.append(_atom(str(operator), value, flags))
            case "AT":
                anchored = str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING")
                parts.append(Anchor(anchored and not flags & re.MULTILINE))
            case "SUBPATTERN":
                _, added, removed, inner = value
                if added or removed:
                    raise WrongType(
                        "flags for a part of a pattern are not allowed; write them once at the start, as in (?i)..."
                    )
                parts.extend(_parts(inner, flags, inside_repeat=inside_repeat))
            case "BRANCH":
                branches = tuple(_parts(branch, flags, inside_repeat=inside_repeat) for branch in value[1])
                parts.append(Choice(branches, _is_disjoint(branches)))
            case "MAX_REPEAT" | "MIN_REPEAT":
                parts.append(_repeat(value, flags, inside_repeat))
            case name:
                raise WrongType(f"{_REFUSED.get(name, name)} is not allowed in a pattern")
    return tuple(parts)


def _atom(operator: str, value: Any, flags: int) -> Atom:
    if operator == "ANY":
        return Atom(ANYTHING if flags & re.DOTALL else r"[^\n]")
    if operator == "NOT_LITERAL":
        return Atom(f"[^{_escape(value)}]")
    if operator == "LITERAL":
        return Atom(f"[{_escape(value)}]", None if flags & re.IGNORECASE else chr(value))
    return Atom(f"[{''.join(_member(str(kind), inner, flags) for kind, inner in value)}]")


def _member(kind: str, value: Any, flags: int) -> str:
    if kind == "NEGATE":
        return "^"
    if kind == "LITERAL":
        return _escape(value)
    if kind == "RANGE":
        # `re` folds the case of a range one character at a time when it compiles; a wide range takes seconds.
        if flags & re.IGNORECASE and value[1] - value[0] > 1000:
            raise TooBig("a range of more than 1000 characters is not allowed together with (?i)")
        return f"{_escape(value[0])}-{_escape(value[1])}"
    return _CATEGORIES[str(value)]


def _escape(code: int) -> str:
    return f"\\U{code:08x}"


def _is_disjoint(branches: tuple[Parts, ...]) -> bool:
    heads = [branch[0] for branch in branches if branch]
    chars = {first.literal for first in heads if isinstance(first, Atom) and first.literal is not None}
    return len(chars) == len(branches)


def _repeat(value: Any, flags: int, inside_repeat: bool) -> Repeat:
    least, most, tree = value
    unbounded = str(most) == "MAXREPEAT"
    if unbounded and inside_repeat:
        raise WrongType("an unbounded repeat inside another is not allowed in a pattern")
    body = _parts(tree, flags, inside_repeat=inside_repeat or unbounded)
    fixed = all(isinstance(part, Atom) for part in body)
    simple = fixed and len(body) == 1 and str(tree[0][0]) != "SUBPATTERN"
    return Repeat(body, least, UNBOUNDED if unbounded else most, simple, fixed, _alphabet(body))


def _alphabet(body: Parts) -> str:
    sources = tuple(dict.fromkeys(_sources(body)))
    if len(sources) == 1:
        return sources[0]
    if any(source.startswith("[^") for source in sources):
        return ANYTHING
    return f"[{''.join(source[1:-1] for source in sources)}]" if sources else ""


def _sources(parts: Parts) -> Iterable[str]:
    for part in parts:
        match part:
            case Atom(source):
                yield source
            case Anchor():
                pass
            case Repeat(body):
                yield from _sources(body)
            case Choice(branches):
                for branch in branches:
                    yield from _sources(branch)
            case _:
                assert_never(part)
