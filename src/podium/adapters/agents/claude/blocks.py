"""What the parts of a message of claude say about its work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.adapters.agents.shared.json_lines import message_report, tool_report
from podium.ports.agent import Progress, ProgressKind

TOOLS: Final[Mapping[str, ProgressKind]] = {
    **dict.fromkeys(("Read", "Grep", "Glob", "LS", "NotebookRead"), "read"),
    **dict.fromkeys(("Edit", "MultiEdit", "Write", "NotebookEdit"), "edit"),
    "Bash": "run",
}


def is_text(block: Any) -> bool:
    return isinstance(block, dict) and block.get("type") == "text"


def pieces(event: Mapping[str, Any]) -> Iterator[Progress]:
    """A piece of a text as its model writes it; a text ends with a line end."""
    match event:
        case {"type": "content_block_delta", "delta": {"type": "text_delta", "text": str(text)}}:
            yield Progress("text", text)
        case {"type": "content_block_stop"}:
            yield Progress("text", "\n")
        case _:
            pass


def block_report(block: Any) -> Progress | None:
    match block:
        case {"type": "text", "text": str(text)} if text.strip():
            return message_report(text)
        case {"type": "thinking", "thinking": str(text)}:
            return Progress("think", text)
        case {"type": "tool_use", "name": str(name), "input": dict(arguments)}:
            keys = ("file_path", "notebook_path", "command", "pattern", "path", "url")
            main = next((str(arguments[key]) for key in keys if key in arguments), "")
            return tool_report(TOOLS, name, main)
        case _:
            return None
