"""Reads from a worker's answer which tests it changed on purpose, and why.

The reasons go to a judge, who decides; here they only have to be readable.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from podium.core.expressions.values import is_list, is_map
from podium.core.queries.disputes import CLAIMS

MARK: Final = "TESTS_CHANGED:"
MAX_CLAIMS: Final = 100
"""More reasons than a judge would read are dropped, and their tests stay disputed."""
MAX_CHARS: Final = 1_000
_LINE: Final = re.compile(rf"^[ \t>*-]*{MARK}[ \t]*(\S.*?):[ \t]+(\S.*)$", re.MULTILINE)
_FIELDS: Final = ("test", "file")


def claims_in(output: Any, text: str) -> list[Mapping[str, str]]:
    """From the key `tests_changed` of an object, and from lines that begin with the mark."""
    listed = output.get(CLAIMS) if is_map(output) else None
    rows = [_row(item) for item in listed] if is_list(listed) else []
    lines = [{"test": match[1].strip("`"), "why": match[2]} for match in _LINE.finditer(text)]
    return [_bounded(row) for row in (*filter(None, rows), *lines)][:MAX_CLAIMS]


def _row(item: Any) -> Mapping[str, str] | None:
    """None for an item that names no test or gives no reason."""
    if not is_map(item) or not item.get("why"):
        return None
    names = {key: str(item[key]) for key in _FIELDS if item.get(key)}
    return {**names, "why": str(item["why"])} if names else None


def _bounded(row: Mapping[str, str]) -> Mapping[str, str]:
    """The log keeps the reasons and a person reads them."""
    return {key: value[:MAX_CHARS].strip() for key, value in row.items()}
