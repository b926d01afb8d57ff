"""Reads the fields of a posted form, with a bound for each text."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qsl

from starlette.requests import Request

from podium.errors import ConfigurationError

MOST_WORDS: Final = 8 * 1024
MOST_FIELDS: Final = 200


async def read_fields(request: Request) -> dict[str, str]:
    """Raises ConfigurationError for a form that no page of ours sends."""
    body = await request.body()
    if not body:
        return {}
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise ConfigurationError("the body must be a form", code="form")
    try:
        pairs = parse_qsl(
            body.decode("utf-8"), keep_blank_values=True, max_num_fields=MOST_FIELDS, errors="strict"
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise ConfigurationError("the form cannot be read", code="form") from error
    fields = dict(pairs)
    for name, value in fields.items():
        if len(value.encode()) > MOST_WORDS and name != "comments":
            raise ConfigurationError(f"{name} is longer than {MOST_WORDS} bytes", code="too_long")
    return fields
