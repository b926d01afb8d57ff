"""What to write into the settings of an assistant so that it starts `podium mcp`."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any, Final

CLIENTS: Final = ("claude", "codex", "gemini", "zed")
WAIT_S: Final = 150
"""How long a client may wait for a tool; `wait_for_run` takes up to two minutes."""


PLACES: Final = {
    "claude": ".mcp.json in the project",
    "codex": ".codex/config.toml in the project, or ~/.codex/config.toml",
    "gemini": ".gemini/settings.json in the project",
    "zed": "the settings.json of Zed",
}
"""Where the entry of each program belongs."""


def entry_for(client: str, *, may_answer: bool) -> str:
    program = _program()
    arguments = ["mcp", *(["--may-answer"] if may_answer else [])]
    match client:
        case "claude":
            # It starts work while servers connect; this one is waited for.
            server: dict[str, Any] = {
                "type": "stdio",
                "command": program,
                "args": arguments,
                "alwaysLoad": True,
            }
            return _json({"mcpServers": {"podium": server}})
        case "codex":
            return (
                "[mcp_servers.podium]\n"
                f"command = {json.dumps(program)}\nargs = {json.dumps(arguments)}\ntool_timeout_sec = {WAIT_S}\n"
            )
        case "gemini":
            server = {"command": program, "args": arguments, "timeout": WAIT_S * 1000}
            return _json({"mcpServers": {"podium": server}})
        case _:
            server = {"command": program, "args": arguments, "env": {}}
            return _json({"context_servers": {"podium": server}})


def _json(entry: dict[str, Any]) -> str:
    return json.dumps(entry, indent=2) + "\n"


def _program() -> str:
    """`podium`, if that is this program for everybody who has this PATH; else where it is."""
    own = Path(sys.argv[0])
    on_path = shutil.which("podium")
    is_on_path = on_path is not None and own.exists() and Path(on_path).resolve() == own.resolve()
    return "podium" if is_on_path or not own.is_absolute() else str(own)
