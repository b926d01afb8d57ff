"""`success_criterion` of the gates format: which sentences become commands or files that prove a step."""

from __future__ import annotations

import re
from typing import Final

from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.source.nodes import Node, text

EXITS: Final = re.compile(r"`?(?P<command>[^`]+?)`? (?:exits?|returns) (?:with )?(?:code |status )?0\.?")
EXISTS: Final = re.compile(r"(?:the )?file `?(?P<path>[^\s`]+)`? exists(?: and is (?:non-|not )empty)?\.?")
SEVERAL: Final = re.compile(r",? and (?!is )|[,;] ")


def proof_of(criterion: Node | None, translation: Translation) -> tuple[list[Node], list[Node]]:
    """The commands that prove the step, and the files that must exist."""
    sentence = text(criterion)
    if criterion is None or sentence is None:
        return [], []
    parts = [part for part in SEVERAL.split(sentence.strip()) if part]
    files = [EXISTS.fullmatch(part) for part in parts]
    commands = [None if file else EXITS.fullmatch(part) for part, file in zip(parts, files, strict=True)]
    if not all(file or command for file, command in zip(files, commands, strict=True)):
        message = "success_criterion is only part of the prompt and not checked, because it is not a command or a file"
        translation.add_warning(criterion, message, "write COMMAND exits 0, file PATH exists, or a gate")
        return [], []
    return (
        [new_node(match["command"], criterion) for match in commands if match],
        [new_node(match["path"], criterion) for match in files if match],
    )
