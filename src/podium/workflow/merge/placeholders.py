"""Fills the placeholders of a persona: a system text that is not a template but has words in braces, such as {drafts}.

The text becomes a template in which each declared placeholder is replaced by its own template and everything else is
literal, so that JSON examples and other braces reach the agent as they were written.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from podium.workflow.source.files import is_prompt_file
from podium.workflow.source.nodes import Node, fields, text, with_field, without_keys

KEY: Final = "placeholders"
NOTHING: Final = "{{ '' }}"
_MARKERS: Final = re.compile(r"\{[{%#]")


def fill_placeholders(role: Node, texts: Mapping[str, str]) -> Node:
    """The role without the key; a system file that was not read is left for the reader to report."""
    words = fields(fields(role).get(KEY))
    values = {name: node.value for name, node in words.items() if isinstance(node.value, str)}
    system = fields(role).get("system")
    written = text(system)
    if KEY not in fields(role) or not values:
        return role
    filled = without_keys(role, KEY)
    if system is None or written is None or (is_prompt_file(written) and written not in texts):
        return filled
    return with_field(filled, "system", replace(system, value=_template(texts.get(written, written), values)))


def _template(written: str, values: Mapping[str, str]) -> str:
    names = "|".join(map(re.escape, sorted(values)))
    parts = re.split(rf"\{{({names})\}}", written)
    # A template drops a line end after a tag and the blanks before it, but not those around a value.
    return "".join(
        f"{NOTHING}{values[part]}{NOTHING}" if index % 2 else _literal(part)
        for index, part in enumerate(parts)
    )


def _literal(part: str) -> str:
    """Text that a template writes as it is."""
    return _MARKERS.sub(lambda marker: f"{{{{ '{marker[0]}' }}}}", part)
