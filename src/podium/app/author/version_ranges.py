"""Ranges of versions: `>=1.0.0`, `<2`, `==1.2`, `^1.2` (same first number), `~1.2` (same first two), joined by commas."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from podium.errors import ConfigurationError

Version = tuple[int, ...]
_RULE: Final = re.compile(r"\s*(>=|<=|==|!=|>|<|\^|~|)\s*v?(\d+(?:\.\d+)*)\s*")
_TESTS: Final[Mapping[str, Callable[[Version, Version], bool]]] = {
    ">=": lambda own, bound: own >= bound,
    "<=": lambda own, bound: own <= bound,
    ">": lambda own, bound: own > bound,
    "<": lambda own, bound: own < bound,
    "==": lambda own, bound: own == bound,
    "": lambda own, bound: own == bound,
    "!=": lambda own, bound: own != bound,
    "^": lambda own, bound: own >= bound and own[:1] == bound[:1],
    "~": lambda own, bound: own >= bound and own[:2] == bound[:2],
}


def satisfies(version: str, range_: str) -> bool:
    """Whether a version is in a range; raises if either cannot be read."""
    own = _version(version)
    for part in filter(None, map(str.strip, range_.split(","))):
        rule = _RULE.fullmatch(part)
        if rule is None:
            raise ConfigurationError(
                f'"{range_}" is not a range of versions', hint='write for example ">=1.0, <2"'
            )
        if not _TESTS[rule[1]](own, _version(rule[2])):
            return False
    return True


def _version(text: str) -> Version:
    numbers = re.match(r"v?(\d+(?:\.\d+)*)", text)
    if numbers is None:
        raise ConfigurationError(f'"{text}" is not a version', hint="write for example 1.2.0")
    parts = [int(part) for part in numbers[1].split(".")]
    return tuple([*parts, 0, 0, 0][: max(3, len(parts))])
