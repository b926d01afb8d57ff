"""Patterns of undeclared secrets: the prefixes of vendors, which are data, and values that are named as secret.

A pattern is tried only at its literals, because searching for fixed text is a hundred times as fast.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[1] / "data" / "secret_rules.toml"

_START: Final = r"(?:(?<![A-Za-z0-9_+/-])|(?<=\n[+-])|(?<=\A[+-]))"
"""Not inside a longer word, such as base64 or a minified name, but after the sign of a changed line in a diff."""
_END: Final = r"(?![A-Za-z0-9_])"


@dataclass(frozen=True)
class Rule:
    """One entry of secret_rules.toml, where its keys are explained."""

    name: str
    literals: tuple[str, ...]
    source: str = field(repr=False)
    inside: bool = False
    ends: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """The compiled pattern; compiled on first use, because most texts contain few of the literals."""
        start, end = "" if self.inside else _START, _END if self.ends else ""
        return re.compile(f"{start}(?:{self.source}){end}")


@cache
def read_rules() -> tuple[Rule, ...]:
    import tomllib

    entries = tomllib.loads(FILE.read_text("utf-8"))["rules"]
    return tuple(
        Rule(
            name=entry.pop("name"),
            literals=tuple(entry.pop("literals")),
            source=entry.pop("pattern"),
            **entry,
        )
        for entry in entries
    )


NAMES: Final = ("key", "secret", "credential", "passw", "passphrase", "pwd", "token", "authorization")
KEYS: Final = re.compile(
    r"(?:api|secret|access|private|auth|signing|encryption|master|account|client|service|consumer|license)[_. -]?\Z",
    re.IGNORECASE,
)
"""The words before `key` in the name of a secret; most other keys only identify something."""
NAMED: Final = re.compile(
    # The name, what is between, and the value up to the end of the word or the quotation.
    r"(?P<name>key|secret|credential|passw(?:or)?d|passphrase|pwd|token|authorization)[A-Za-z0-9_.-]{0,24}[\"'`]?"
    r"[ \t]{0,3}(?:=>|:=|==|=|:|,)[ \t]{0,3}(?P<quote>[\"'`]?)(?:(?:Basic|Bearer|Token) +)?"
    r"(?P<value>[^\s\"'`<>(){}\[\],;\\]{8,512})",
    re.IGNORECASE,
)
UUID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
PLACEHOLDER: Final = re.compile(
    r"example|sample|placeholder|change.?me|replace|your[_-]|dummy|redacted|x{4,}|\*{3}|\.\.\.|1234567|abcdefg|"
    r"^(?:true|false|null|none|undefined|env|process|os|self|this|config|settings|secrets?|inputs?)\b",
    re.IGNORECASE,
)
