"""`success_criterion` of the gates format: which sentences become commands or files that prove a step."""

from __future__ import annotations

import re
from typing import Final

from podium.workflow.dialects.translation import Translation, new_node
from podium.workflow.source.nodes import Node, text

EXITS: Final = re.compile(r"`?(?P<command>[^`]+?)`? (?:exits?|returns) (?:with )?(?:code |status )?0\.?")
EXISTS: Final = re.compile(r"(?:the )?file `?(?P<path>[^\s`]+)`? exists(?: and is (?:non-|not )empty)?\.?")
SEVERAL: Final = re.compile(r",? and (?!is )|[,;] ")
QUOTED: Final = re.compile(r"`[^`]*`")


def proof_of(criterion: Node | None, translation: Translation) -> tuple[list[Node], list[Node]]:
    """The commands that prove the step, and the files that must exist."""
    sentence = text(criterion)
    if criterion is None or sentence is None:
        return [], []
    parts = _parts(sentence.strip())
    files = [EXISTS.fullmatch(part) for part in parts]
    commands = [None if file else EXITS.fullmatch(part) for part, file in zip(parts, files, strict=True)]
    open_parts = [
        part for part, file, command in zip(parts, files, commands, strict=True) if not (file or command)
    ]
    if open_parts:
        # Beside words that nothing can check, only a command in backquotes is certainly one.
        commands = [match if match and "`" in match[0] else None for match in commands]
        checked = any(files) or any(commands)
        what = f'the part "{open_parts[0]}" of success_criterion' if checked else "success_criterion"
        message = f"{what} is only part of the prompt and not checked, because it is not a command or a file"
        translation.add_warning(criterion, message, "write `COMMAND` exits 0, file PATH exists, or a gate")
    return (
        [new_node(match["command"], criterion) for match in commands if match],
        [new_node(match["path"], criterion) for match in files if match],
    )


def _parts(sentence: str) -> list[str]:
    """The sentence at each "and", but not within backquotes."""
    covered = QUOTED.sub(lambda quote: "`" + "x" * (len(quote[0]) - 2) + "`", sentence)
    parts, start = [], 0
    for match in SEVERAL.finditer(covered):
        parts.append(sentence[start : match.start()])
        start = match.end()
    return [part for part in (*parts, sentence[start:]) if part]
