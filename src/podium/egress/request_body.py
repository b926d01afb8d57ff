"""Reads the JSON body of a request within bounds, and refuses what two parsers could read differently."""

from __future__ import annotations

import json
import re
from typing import Any, Final

MOST_TOKENS: Final = 500_000
"""Strings, commas and brackets of one body; a conversation of a million words has fewer."""
LONG: Final = 256
"""Longer strings are contents, of which only the beginning matters here."""
BEGINNING: Final = 32
# Possessive, and a text without an end ends here as well: it is not tried again in other ways, or from its next quote.
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{,]', re.DOTALL)


class InvalidBody(Exception):
    """The body is not JSON that every parser reads in the same way."""


def outline(body: bytes) -> Any:
    """The value with long strings cut, so that its size does not depend on what is in them."""
    parts: list[bytes] = []
    at = 0
    for number, match in enumerate(_TOKEN.finditer(body)):
        if number >= MOST_TOKENS:
            raise InvalidBody(f"the body has more than {MOST_TOKENS} values")
        if match.end() - match.start() > LONG:
            beginning = body[match.start() + 1 : match.start() + 1 + BEGINNING]
            parts += (body[at : match.start()], b'"', beginning if _is_plain(beginning) else b"", b'"')
            at = match.end()
    return parse(b"".join((*parts, body[at:])))


def parse(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_object, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise InvalidBody("the body is nested too deeply") from error
    except ValueError as error:
        raise InvalidBody(f"the body is not valid JSON in UTF-8: {error}"[:200]) from error


def _is_plain(text: bytes) -> bool:
    return text.isascii() and text.decode("ascii").isprintable() and b"\\" not in text


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise InvalidBody("an object of the body has a field twice")
    return value


def _refuse_constant(word: str) -> Any:
    raise InvalidBody(f"the body has {word}, which is not JSON")
