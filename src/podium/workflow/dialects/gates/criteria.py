"""`success_criterion` of the gates format: sentences that a machine can hold a step to, and those it cannot."""

from __future__ import annotations

import re
from typing import Final

from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.source.nodes import Node, text

EXITS: Final = re.compile(r"`?(?P<command>[^`]+?)`? (?:exits?|returns) (?:with )?(?:code |status )?0\.?")
EXISTS: Final = re.compile(r"(?:the )?file `?(?P<path>[^\s`]+)`? exists(?: and is (?:non-|not )empty)?\.?")
SEVERAL: Final = re.compile(r",? and (?!is )|[,;] ")


def proof(criterion: Node | None, page: Translation) -> tuple[list[Node], list[Node]]:
    """The commands that prove the step, and the files that have to be there."""
    written = text(criterion)
    if criterion is None or written is None:
        return [], []
    parts = [part for part in SEVERAL.split(written.strip()) if part]
    files = [EXISTS.fullmatch(part) for part in parts]
    commands = [None if file else EXITS.fullmatch(part) for part, file in zip(parts, files, strict=True)]
    if not all(file or command for file, command in zip(files, commands, strict=True)):
        page.note(
            criterion, "this is told to the agent and proven by nobody: write COMMAND exits 0, or a gate"
        )
        return [], []
    return (
        [new_node(found["command"], criterion) for found in commands if found],
        [new_node(found["path"], criterion) for found in files if found],
    )
