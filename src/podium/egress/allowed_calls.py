"""Which calls of an API are allowed: by method, path and parameter names, without any decoding.

POST /v1/messages?beta              # this path, with or without the parameter `beta`
POST /v1beta/models/*:countTokens   # `*` is one name without `/` and `:`
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from podium.egress.request_head import Refused
from podium.fast_dataclass import dataclass

# No "%", because two servers may decode an encoded path differently.
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


def check(method: str, target: str, allowed_calls: Iterable[Rule]) -> None:
    """Raise Refused unless the call is allowed."""
    path, has_query, query = target.partition("?")
    if not _PATH.fullmatch(path) or any(part in (".", "..") for part in path.split("/")):
        raise Refused(403, "the path must be plain: no host, no dots, no empty or encoded parts")
    matching = [rule for rule in allowed_calls if rule.method == method and rule.path.fullmatch(path)]
    if not matching:
        raise Refused(403, f"{method} {path[:200]} is not a call that this agent may make")
    if not has_query:
        return
    parameters = [_PARAMETER.fullmatch(part) for part in query.split("&")]
    allowed = frozenset(name for rule in matching for name in rule.parameters)
    # Some APIs accept a key as a parameter, which would then be used instead of ours.
    if not all(parameter is not None and parameter[1] in allowed for parameter in parameters):
        raise Refused(403, f"{method} {path[:200]} must not have these parameters")
