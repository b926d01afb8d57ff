"""Finds and removes what looks like a secret in text for a prompt, in addition to other defences.

It works by patterns: a secret without a known form or a revealing name is not found.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from podium.redaction.rules import KEYS, NAMED, NAMES, PLACEHOLDER, UUID, read_rules

PASSWORD_LENGTH: Final = 8
KEY_LENGTH: Final = 16
"""Shorter values with a name like token or key are mostly names, numbers and words."""
ENTROPY: Final = 3.0
"""Bits per character; words and program paths have less than a generated key of the same length."""
LINE: Final = 4_000
"""Longer lines are minified code or data, where a name before a value means little."""
_WORDS: Final = re.compile(
    r"[A-Za-z]+(?:[._/-][A-Za-z]+)*|/?(?:[A-Za-z_.-]+\d{0,2}/)+[A-Za-z_.-]*\d{0,2}|v?\d[\d.]*"
)
_CODE: Final = re.compile(r"[A-Za-z_]+\d{0,3}[A-Za-z]*(?:[._=-][A-Za-z_]*\d{0,3}[A-Za-z]*)*")
"""An identifier in code, which without quotes is more likely than a key."""

_LOWER: Final = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


class SecretMatch(NamedTuple):
    rule: str
    start: int
    end: int


class ScrubbedText(NamedTuple):
    text: str
    counts: dict[str, int]
    """The number of matches of each rule."""


def scrub(text: str) -> ScrubbedText:
    """The text with each match replaced by a note that names the rule."""
    parts: list[str] = []
    counts: Counter[str] = Counter()
    position = 0
    for match in find(text):
        parts += (text[position : match.start], f"[removed: {match.rule}]")
        counts[match.rule] += 1
        position = match.end
    return ScrubbedText("".join((*parts, text[position:])) if counts else text, dict(counts))


def find(text: str) -> tuple[SecretMatch, ...]:
    """The matches in order, without overlaps; of two with the same start the longer one."""
    every = sorted(
        (*_vendor_matches(text), *_named_matches(text)), key=lambda match: (match.start, -match.end)
    )
    matches: list[SecretMatch] = []
    for match in every:
        if not matches or match.start >= matches[-1].end:
            matches.append(match)
    return tuple(matches)


def _vendor_matches(text: str) -> Iterator[SecretMatch]:
    for rule in read_rules():
        for at in _positions(text, rule.literals):
            match = rule.pattern.match(text, at)
            if match is None:
                continue
            group = "value" if "value" in rule.pattern.groupindex and match["value"] else 0
            if not PLACEHOLDER.search(match[group]):
                yield SecretMatch(rule.name, match.start(group), match.end(group))


def _named_matches(text: str) -> Iterator[SecretMatch]:
    lower = text.lower()
    if len(lower) != len(text):
        # A few letters become two in lower case, which would shift positions.
        lower = text.translate(_LOWER)
    for at in _positions(lower, NAMES):
        strong = lower.startswith(("secret", "credential"), at)
        if lower.startswith("key", at) and not (strong := bool(KEYS.search(text, max(0, at - 12), at))):
            continue
        match = NAMED.match(text, at)
        if match and _is_secret(match, strong=strong) and not _is_in_long_line(text, at):
            yield SecretMatch("named_secret", match.start("value"), match.end("value"))


def _positions(text: str, words: Iterable[str]) -> Iterator[int]:
    for word in words:
        at = text.find(word)
        while at >= 0:
            yield at
            at = text.find(word, at + 1)


def _is_in_long_line(text: str, at: int) -> bool:
    before, after = text.rfind("\n", max(0, at - LINE), at), text.find("\n", at, at + LINE)
    return (before < 0 and at > LINE) or (after < 0 and at + LINE < len(text))


def _is_secret(match: re.Match[str], *, strong: bool) -> bool:
    name, value = match["name"].casefold(), match["value"].rstrip(".:")
    is_password = name.startswith(("passw", "passphrase", "pwd"))
    if len(value) < (PASSWORD_LENGTH if is_password else KEY_LENGTH) or PLACEHOLDER.search(value):
        return False
    if value.startswith(("$", "%", "&", "@", "#", "/", "--")) or _WORDS.fullmatch(value):
        return False
    if not match["quote"] and not is_password and _CODE.fullmatch(value):
        return False
    if UUID.fullmatch(value):
        return strong
    has_digit = any(character.isdigit() for character in value)
    if not has_digit and not (match["quote"] and any(not character.isalnum() for character in value)):
        return False
    return _entropy(value) >= (ENTROPY if not is_password else 2.5)


def _entropy(value: str) -> float:
    counts = Counter(value)
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts.values())
