"""The rules of .gitignore files, which exclude untracked files from a capture.

We do not use git's matcher, because it would read the rules from the agent's work tree. The semantics are those of
gitignore(5); a test compares them with `git check-ignore`. A pattern may come from an agent, so matching never
backtracks past an earlier star; its cost is at most the product of the two lengths.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

DEEP: Final = "**"
MAX_BYTES: Final = 1 << 20
"""Rule files are truncated to this length, which no hand-written file reaches."""


@dataclass(frozen=True, slots=True)
class Rule:
    names: tuple[str, ...]
    """The pattern, split at its slashes; a single name that is not `anchored` matches in every folder below."""
    anchored: bool
    negated: bool
    only_folders: bool


Rules: TypeAlias = Mapping[str, tuple[Rule, ...]]
"""The rules of each .gitignore, by the path of its folder."""


def parse_rules(content: bytes) -> tuple[Rule, ...]:
    lines = content[:MAX_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    parsed = (_parse(os.fsdecode(line.removesuffix(b"\r"))) for line in lines)
    return tuple(rule for rule in parsed if rule is not None)


def is_ignored(folder: str, name: str, *, is_folder: bool, rules: Rules, outer: Iterable[Rule] = ()) -> bool:
    """Whether a name is ignored in a folder that is not ignored; `outer` are rules from outside .gitignore files."""
    path = [*folder.split("/"), name] if folder else [name]
    for depth in range(len(path) - 1, -1, -1):
        verdict = _last_match(rules.get("/".join(path[:depth]), ()), path[depth:], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return _last_match(outer, path, is_folder=is_folder) or False


def _parse(line: str) -> Rule | None:
    if line.startswith("#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith("!")
    line = line.removeprefix("!")
    only_folders = line.endswith("/")
    line = line.removesuffix("/")
    if not line:
        return None
    anchored = "/" in line
    return Rule(tuple(line.removeprefix("/").split("/")), anchored, negated, only_folders)


def _without_trailing_spaces(line: str) -> str:
    stripped = line.rstrip(" ")
    # A backslash keeps one space, unless it is itself escaped.
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    return stripped + " " if backslashes % 2 and len(stripped) < len(line) else stripped


def _last_match(rules: Iterable[Rule], path: list[str], *, is_folder: bool) -> bool | None:
    """The verdict of the last matching rule; None if no rule matches."""
    verdict = None
    for rule in rules:
        if rule.only_folders and not is_folder:
            continue
        if _matches(rule.names, path) if rule.anchored else _name_test(rule.names[0]).match(path[-1]):
            verdict = not rule.negated
    return verdict


def _matches(names: tuple[str, ...], path: list[str]) -> bool:
    """Each `**` matches as little as possible; if a later name does not match, the last `**` takes one name more."""
    name_index = path_index = 0
    retry: tuple[int, int] | None = None
    # A final `**` matches what is below the folder, not the folder itself.
    names = (*names, "*") if names[-1] == DEEP else names
    while path_index < len(path):
        if name_index < len(names) and names[name_index] == DEEP:
            name_index += 1
            retry = (name_index, path_index)
        elif name_index < len(names) and _name_test(names[name_index]).match(path[path_index]):
            name_index, path_index = name_index + 1, path_index + 1
        elif retry is not None:
            name_index, path_index = retry[0], retry[1] + 1
            retry = (name_index, path_index)
        else:
            return False
    return name_index == len(names)


@lru_cache(maxsize=4096)
def _name_test(pattern: str) -> re.Pattern[str]:
    pieces: list[str] = [""]
    remaining = pattern
    while remaining:
        part, remaining = _first_element(remaining)
        if part == "*":
            pieces.append("")
        else:
            pieces[-1] += part
    # The earliest match of the next piece is always good enough, so a star never needs to be retried.
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1] if piece)
    last = f".*{pieces[-1]}" if len(pieces) > 1 else ""
    return re.compile(f"(?s:{pieces[0]}{middle}{last})\\Z")


def _first_element(pattern: str) -> tuple[str, str]:
    """The regular expression of the first element of a pattern ("*" for a star), and the rest of the pattern."""
    char, pattern = pattern[0], pattern[1:]
    match char:
        case "*":
            return "*", pattern
        case "?":
            return ".", pattern
        case "\\":
            # A backslash at the end matches nothing at all.
            return (re.escape(pattern[0]), pattern[1:]) if pattern else ("(?!)", "")
        case "[":
            return _bracket(pattern)
        case _:
            return re.escape(char), pattern


_CLASSES: Final = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "blank": " \\t",
    "cntrl": "\\x00-\\x1f\\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": "!-/:-@\\[-`{-~",
    "space": "\\s",
    "upper": "A-Z",
    "xdigit": "0-9a-fA-F",
}
_IN_BRACKET: Final = re.compile(
    r"(?P<negated>[!^])?"
    r"(?P<body>\]?(?:\[:[a-z]+:\]|\\.|[^\]\\])*)\]",
    re.DOTALL,
)
_MEMBER: Final = re.compile(
    r"\[:(?P<cls>[a-z]+):\]|(?P<low>\\.|.)(?:-(?P<high>\\.|[^\]]))?",
    re.DOTALL,
)


def _bracket(pattern: str) -> tuple[str, str]:
    """A set of characters; one without a closing bracket or with an unknown class matches nothing."""
    match = _IN_BRACKET.match(pattern)
    if match is None:
        return "(?!)", ""
    members = []
    for member in _MEMBER.finditer(match["body"]):
        if member["cls"]:
            if member["cls"] not in _CLASSES:
                return "(?!)", ""
            members.append(_CLASSES[member["cls"]])
        else:
            low, high = member["low"][-1], (member["high"] or member["low"])[-1]
            if low <= high:
                members.append(f"{re.escape(low)}-{re.escape(high)}")
    inside = "".join(members)
    if not inside:
        return ("." if match["negated"] else "(?!)"), pattern[match.end() :]
    return f"[{'^' if match['negated'] else ''}{inside}]", pattern[match.end() :]
