"""`${...}` of the steps format: split into parts, and written again as a value, an expression or a prompt.

`$$` is a dollar sign, and `${{...}}` is kept as text for other tools; there are no backslash escapes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

from podium.fast_dataclass import dataclass

TOKEN: Final = re.compile(r"\$\$|\$\{\{.*?\}\}|\$\{([^{}]*)\}", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Ref:
    """The name between `${` and `}`."""

    name: str


Part: TypeAlias = str | Ref
Meaning: TypeAlias = Callable[[Ref], str]
"""The expression that a reference stands for."""


def split_references(text: str) -> tuple[Part, ...]:
    parts: list[Part] = []
    end = 0
    for match in TOKEN.finditer(text):
        parts.append(text[end : match.start()])
        end = match.end()
        if match[0] == "$$":
            parts.append("$")
        else:
            parts.append(match[0] if match[1] is None else Ref(match[1].strip()))
    parts.append(text[end:])
    return _joined(parts)


def _joined(parts: Sequence[Part]) -> tuple[Part, ...]:
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, str) and joined and isinstance(joined[-1], str):
            joined[-1] += part
        elif part != "":
            joined.append(part)
    return tuple(joined)


def as_value(parts: Sequence[Part], meaning: Meaning) -> str:
    """The parts for a field that takes `${{ }}`."""
    return "".join(
        part.replace("${{", "$${{") if isinstance(part, str) else f"${{{{ {meaning(part)} }}}}"
        for part in parts
    )


def as_prompt(parts: Sequence[Part], meaning: Meaning) -> str:
    """The parts for a field that takes `{{ }}`."""
    return "".join(
        re.sub(r"\{\{|\{%|\{#", r"{{ '\g<0>' }}", part)
        if isinstance(part, str)
        else f"{{{{ {meaning(part)} }}}}"
        for part in parts
    )


def as_expression(parts: Sequence[Part], meaning: Meaning) -> str:
    """The parts for a field that is an expression."""
    pieces = [quoted(part) if isinstance(part, str) else meaning(part) for part in parts]
    if len(pieces) < 2:
        return pieces[0] if pieces else "''"
    return f"join([{', '.join(pieces)}], '')"


def quoted(text: str) -> str:
    """A text literal of the expression language."""
    return f"'{text}'" if text.isprintable() and not set(text) & {"'", "\\"} else json.dumps(text)
