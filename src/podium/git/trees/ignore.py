"""The rules of .gitignore files, which exclude untracked files from a capture.

We do not use git's matcher, because it would read the rules from the agent's work tree. The semantics are those of
gitignore(5), by bytes as in git; a property compares them with `git check-ignore`. A pattern may come from an agent, so
matching never backtracks past an earlier star; its cost is at most the product of the two lengths.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from podium.fast_dataclass import dataclass

DEEP: Final = b"**"
MAX_BYTES: Final = 1 << 20
"""Rule files are truncated to this length, which no hand-written file reaches."""
MAX_RULES: Final = 2_000
"""Further rules of a file do not count: each is tried on every untracked file."""
MAX_COST: Final = 150_000
"""Wildcards are compiled, so rules behind too many of them do not count either; a thousand usual rules cost 30,000."""
LONGEST_LINE: Final = 8_192
"""Twice the longest path; longer lines do not count."""
LONGEST_NAME: Final = 255
"""Bytes of a name on Linux; a pattern that demands more matches nothing."""


_WILDCARD: Final = re.compile(rb"[*?\[\\]")


@dataclass(frozen=True, slots=True)
class Rule:
    names: tuple[bytes, ...]
    """The pattern, split at its slashes; a single name that is not `anchored` matches in every folder below."""
    anchored: bool
    negated: bool
    only_folders: bool


Rules: TypeAlias = Mapping[str, tuple[Rule, ...]]
"""The rules of each .gitignore, by the path of its folder."""


def parse_rules(content: bytes) -> tuple[Rule, ...]:
    lines = content[:MAX_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    rules: list[Rule] = []
    cost = 0
    for line in lines:
        cost += _cost(line)
        if len(rules) == MAX_RULES or cost > MAX_COST:
            break
        rule = _parse(line.removesuffix(b"\r")) if len(line) <= LONGEST_LINE else None
        if rule is not None:
            rules.append(rule)
    return tuple(rules)


def _cost(line: bytes) -> int:
    """What a line costs to parse and to compile, in characters; a bracket takes as long as twenty of them."""
    if len(line) > LONGEST_LINE or _WILDCARD.search(line) is None:
        return 0
    return len(line) + 10 * line.count(b"*") + 20 * line.count(b"[")


def is_ignored(folder: str, name: str, *, is_folder: bool, rules: Rules, outer: Iterable[Rule] = ()) -> bool:
    """Whether a name is ignored in a folder that is not ignored; `outer` are rules from outside .gitignore files."""
    folders = folder.split("/") if folder else []
    path = os.fsencode(f"{folder}/{name}" if folder else name).split(b"/")
    for depth in range(len(folders), -1, -1):
        verdict = _last_match(rules.get("/".join(folders[:depth]), ()), path[depth:], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return _last_match(outer, path, is_folder=is_folder) or False


def _parse(line: bytes) -> Rule | None:
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith(b"!")
    line = line.removeprefix(b"!")
    only_folders = line.endswith(b"/")
    line = line.removesuffix(b"/")
    anchored = b"/" in line
    names = _split(line.removeprefix(b"/"))
    return Rule(names, anchored, negated, only_folders) if line and names else None


def _without_trailing_spaces(line: bytes) -> bytes:
    stripped = line.rstrip(b" ")
    # A backslash keeps one space, unless it is itself escaped.
    backslashes = len(stripped) - len(stripped.rstrip(b"\\"))
    return stripped + b" " if backslashes % 2 and len(stripped) < len(line) else stripped


def _split(pattern: bytes) -> tuple[bytes, ...] | None:
    """The pattern split at its slashes, except within brackets; None for a pattern that git never matches."""
    is_simple = b"[" not in pattern and b"\\" not in pattern
    names = pattern.split(b"/") if is_simple else _split_at_elements(pattern)
    if not names:
        return None
    if len(names) > 1 and _is_deep(names[-1]):
        # A final `**` matches what is below the folder, not the folder itself.
        names.append(b"*")
    return tuple(DEEP if _is_deep(name) else name for name in names)


def _split_at_elements(pattern: bytes) -> list[bytes]:
    """Empty for a pattern that git never matches."""
    names: list[bytes] = []
    start = at = 0
    while at < len(pattern):
        end = _end_of_element(pattern, at)
        if end is None:
            return []
        if pattern[at:end] in (b"/", b"\\/"):
            names.append(pattern[start:at])
            if end - at == 2 and _is_deep(names[-1]):
                # Before an escaped slash, `**` matches at least one folder.
                names.append(b"*")
            start = end
        at = end
    return [*names, pattern[start:]]


def _is_deep(name: bytes) -> bool:
    return len(name) > 1 and not name.strip(b"*")


def _end_of_element(pattern: bytes, at: int) -> int | None:
    """The end of the element at this index; None for a final backslash or an unclosed bracket."""
    match pattern[at : at + 1]:
        case b"\\":
            return at + 2 if at + 2 <= len(pattern) else None
        case b"[":
            char_set = _read_set(pattern, at)
            return None if char_set is None else char_set[1]
        case _:
            return at + 1


def _last_match(rules: Iterable[Rule], path: list[bytes], *, is_folder: bool) -> bool | None:
    """The verdict of the last matching rule; None if no rule matches."""
    verdict = None
    for rule in rules:
        if rule.only_folders and not is_folder:
            continue
        if _matches(rule.names, path) if rule.anchored else _matches_name(rule.names[0], path[-1]):
            verdict = not rule.negated
    return verdict


def _matches(names: tuple[bytes, ...], path: list[bytes]) -> bool:
    """Each `**` matches as little as possible; if a later name does not match, the last `**` takes one name more."""
    name_index = path_index = 0
    retry: tuple[int, int] | None = None
    while path_index < len(path):
        if name_index < len(names) and names[name_index] == DEEP:
            name_index += 1
            retry = (name_index, path_index)
        elif name_index < len(names) and _matches_name(names[name_index], path[path_index]):
            name_index, path_index = name_index + 1, path_index + 1
        elif retry is not None:
            name_index, path_index = retry[0], retry[1] + 1
            retry = (name_index, path_index)
        else:
            return False
    return name_index == len(names)


def _matches_name(pattern: bytes, name: bytes) -> bool:
    if _WILDCARD.search(pattern) is None:
        return pattern == name
    return _name_test(pattern).match(name) is not None


@lru_cache(maxsize=4096)
def _name_test(pattern: bytes) -> re.Pattern[bytes]:
    pieces: list[list[bytes]] = [[]]
    at = 0
    while at < len(pattern):
        end = _end_of_element(pattern, at)
        assert end is not None, "such a pattern makes no rule"
        if pattern[at:end] == b"*":
            pieces.append([])
        else:
            pieces[-1].append(_element(pattern, at, end))
        at = end
    if sum(map(len, pieces)) > LONGEST_NAME:
        # Compiling a pattern of a megabyte would take minutes.
        return re.compile(b"(?!)")
    first, *others = (b"".join(piece) for piece in pieces)
    # The earliest match of the next piece is always good enough, so a star never needs to be retried.
    middle = b"".join(b"(?>.*?%s)" % piece for piece in others[:-1] if piece)
    last = b".*" + others[-1] if others else b""
    return re.compile(b"(?s:" + first + middle + last + b")\\Z")


def _element(pattern: bytes, at: int, end: int) -> bytes:
    """The regular expression of one element other than a star."""
    match pattern[at : at + 1]:
        case b"?":
            return b"."
        case b"[":
            char_set = _read_set(pattern, at)
            assert char_set is not None
            return b"[" + b"".join(_ranges(char_set[0])) + b"]" if char_set[0] else b"(?!)"
        case _:
            return re.escape(pattern[end - 1 : end])


def _ranges(members: frozenset[int]) -> Iterator[bytes]:
    """The bytes as ranges of a regular expression."""
    for low in sorted(byte for byte in members if byte - 1 not in members):
        high = next(byte for byte in range(low, 256) if byte + 1 not in members)
        yield b"\\x%02x-\\x%02x" % (low, high)


_CLASSES: Final = {
    name: frozenset(re.findall(b"[%s]" % signs, bytes(range(256))))
    for name, signs in {
        b"alnum": b"a-zA-Z0-9",
        b"alpha": b"a-zA-Z",
        b"blank": b" \\t",
        b"cntrl": b"\\x00-\\x1f\\x7f",
        b"digit": b"0-9",
        b"graph": b"!-~",
        b"lower": b"a-z",
        b"print": b" -~",
        b"punct": b"!-/:-@\\[-`{-~",
        b"space": b"\\s",
        b"upper": b"A-Z",
        b"xdigit": b"0-9a-fA-F",
    }.items()
}
_MEMBER: Final = re.compile(
    rb"\[:(?P<cls>[^]]{0,32}):\]|(?P<low>\\.|[^\\])(?:-(?P<high>\\.|[^]\\]))?",
    re.DOTALL,
)


def _read_set(pattern: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """The bytes that a bracket matches, and its end; None if it is not closed or names an unknown class."""
    start = at + 2 if pattern[at + 1 : at + 2] in (b"!", b"^") else at + 1
    members: set[int] = set()
    here = start
    while here == start or pattern[here : here + 1] != b"]":
        member = _MEMBER.match(pattern, here)
        if member is None or (member["cls"] is not None and member["cls"] not in _CLASSES):
            return None
        if member["cls"] is not None:
            members.update(sign[0] for sign in _CLASSES[member["cls"]])
        else:
            low, high = member["low"][-1], (member["high"] or member["low"])[-1]
            # The lower bound counts even if the range is empty.
            members.update((low, *range(low, high + 1)))
        here = member.end()
    is_negated = start == at + 2
    return frozenset(range(256)) - members if is_negated else frozenset(members), here + 1
