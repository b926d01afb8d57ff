"""The rules of .gitignore files: which untracked names are left out of a capture.

Git's own matcher reads the rules from a work tree, and the work tree at hand is an agent's. The semantics are those
of gitignore(5); a test compares them with `git check-ignore`. A pattern may come from an agent, so matching never
backtracks over an earlier star: its cost is the product of the two lengths at worst.
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
"""Longer rule files are cut; nobody writes them by hand."""


@dataclass(frozen=True, slots=True)
class Rule:
    names: tuple[str, ...]
    """The pattern, cut at its slashes; one name without `anchored` matches in every folder below."""
    anchored: bool
    negated: bool
    only_folders: bool


Rules: TypeAlias = Mapping[str, tuple[Rule, ...]]
"""Path of a folder to the rules that its .gitignore holds."""


def parse_rules(content: bytes) -> tuple[Rule, ...]:
    lines = content[:MAX_BYTES].removeprefix(b"\xef\xbb\xbf").split(b"\n")
    parsed = (_parse(os.fsdecode(line.removesuffix(b"\r"))) for line in lines)
    return tuple(rule for rule in parsed if rule is not None)


def is_ignored(folder: str, name: str, *, is_folder: bool, rules: Rules, outer: Iterable[Rule] = ()) -> bool:
    """Whether a name in a folder that is not itself ignored is; `outer` are rules that stand in no folder."""
    path = [*folder.split("/"), name] if folder else [name]
    for depth in range(len(path) - 1, -1, -1):
        verdict = _judge(rules.get("/".join(path[:depth]), ()), path[depth:], is_folder=is_folder)
        if verdict is not None:
            return verdict
    return _judge(outer, path, is_folder=is_folder) or False


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
    bare = line.rstrip(" ")
    # A backslash keeps one space, unless it is itself escaped.
    backslashes = len(bare) - len(bare.rstrip("\\"))
    return bare + " " if backslashes % 2 and len(bare) < len(line) else bare


def _judge(rules: Iterable[Rule], path: list[str], *, is_folder: bool) -> bool | None:
    """What the last rule that matches says; None if none does."""
    verdict = None
    for rule in rules:
        if rule.only_folders and not is_folder:
            continue
        if _matches(rule.names, path) if rule.anchored else _name_test(rule.names[0]).match(path[-1]):
            verdict = not rule.negated
    return verdict


def _matches(names: tuple[str, ...], path: list[str]) -> bool:
    """Each `**` takes as little as it can; when a later name does not fit, only the last `**` takes one more."""
    at = here = 0
    retry: tuple[int, int] | None = None
    # A final `**` stands for something below, not for the folder itself.
    names = (*names, "*") if names[-1] == DEEP else names
    while here < len(path):
        if at < len(names) and names[at] == DEEP:
            at += 1
            retry = (at, here)
        elif at < len(names) and _name_test(names[at]).match(path[here]):
            at, here = at + 1, here + 1
        elif retry is not None:
            at, here = retry[0], retry[1] + 1
            retry = (at, here)
        else:
            return False
    return at == len(names)


@lru_cache(maxsize=4096)
def _name_test(pattern: str) -> re.Pattern[str]:
    pieces: list[str] = [""]
    rest = pattern
    while rest:
        sign, rest = _sign(rest)
        if sign == "*":
            pieces.append("")
        else:
            pieces[-1] += sign
    # The earliest place that fits the next piece is always good enough, so a star never has to be tried again.
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1] if piece)
    last = f".*{pieces[-1]}" if len(pieces) > 1 else ""
    return re.compile(f"(?s:{pieces[0]}{middle}{last})\\Z")


def _sign(rest: str) -> tuple[str, str]:
    """The regular expression of the first sign of a pattern ("*" for a star), and what follows it."""
    sign, rest = rest[0], rest[1:]
    match sign:
        case "*":
            return "*", rest
        case "?":
            return ".", rest
        case "\\":
            # A backslash at the end matches nothing at all.
            return (re.escape(rest[0]), rest[1:]) if rest else ("(?!)", "")
        case "[":
            return _bracket(rest)
        case _:
            return re.escape(sign), rest


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


def _bracket(rest: str) -> tuple[str, str]:
    """A set of signs; one that is never closed, or names an unknown class, matches nothing."""
    found = _IN_BRACKET.match(rest)
    if found is None:
        return "(?!)", ""
    members = []
    for member in _MEMBER.finditer(found["body"]):
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
        return ("." if found["negated"] else "(?!)"), rest[found.end() :]
    return f"[{'^' if found['negated'] else ''}{inside}]", rest[found.end() :]
