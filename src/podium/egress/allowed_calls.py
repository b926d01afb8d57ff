"""Which calls of an API are let through: by method, path and the names of parameters, and nothing that needs decoding.

POST /v1/messages?beta              # this path, with the parameter `beta` or without it
POST /v1beta/models/*:countTokens   # `*` is one name, without `/` and `:`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from podium.egress.request_head import Refused

# Without "%": what is spelled in two ways is understood in two ways.
_PATH: Final = re.compile(r"(?:/[A-Za-z0-9._~!$&'()*+,;=:@-]+)+|/")
_PARAMETER: Final = re.compile(r"([A-Za-z0-9_.-]+)(?:=[A-Za-z0-9._~:@,+%-]*)?")


@dataclass(frozen=True, slots=True)
class Rule:
    method: str
    path: re.Pattern[str]
    parameters: frozenset[str]


def rules(patterns: Iterable[str]) -> tuple[Rule, ...]:
    return tuple(_rule(pattern) for pattern in patterns)


def _rule(pattern: str) -> Rule:
    method, _, target = pattern.partition(" ")
    path, _, names = target.partition("?")
    parts = (re.escape(part) for part in path.split("*"))
    return Rule(method, re.compile("[^/:]+".join(parts)), frozenset(names.split("&") if names else ()))


def check(method: str, target: str, known: Iterable[Rule]) -> None:
    """Raises Refused unless the call is one of those."""
    path, sign, query = target.partition("?")
    if not _PATH.fullmatch(path) or any(part in (".", "..") for part in path.split("/")):
        raise Refused(403, "a path is taken only as it is: no host, no dots, no empty or encoded parts")
    fitting = [rule for rule in known if rule.method == method and rule.path.fullmatch(path)]
    if not fitting:
        raise Refused(403, f"{method} {path[:200]} is not among the calls this agent may make")
    if not sign:
        return
    found = [_PARAMETER.fullmatch(part) for part in query.split("&")]
    allowed = frozenset(name for rule in fitting for name in rule.parameters)
    # An API may take a key as a parameter, and then it would not be ours that counts.
    if not all(one is not None and one[1] in allowed for one in found):
        raise Refused(403, f"{method} {path[:200]} may not have these parameters")
