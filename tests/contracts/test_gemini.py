"""The adapter of gemini keeps the contract; a script in its place says what the program says."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.gemini import AGENT
from podium.testing.agent_contract import AgentContract

PLAYED = """#!{python}
import json, os, pathlib, sys
prompt = sys.stdin.read()
home = pathlib.Path(os.environ["GEMINI_CLI_HOME"]) / ".gemini"
settings = json.loads((home / "settings.json").read_text())
assert "7391" in prompt and "5517" in (home / settings["context"]["fileName"]).read_text()
assert (home / "commands" / (prompt.partition(chr(10))[0][1:] + ".toml")).exists()
for record in (
    {{"type": "init", "session_id": "s"}},
    {{"type": "message", "role": "assistant", "content": '{{"title": '}},
    {{"type": "message", "role": "assistant", "content": '"blue"}}'}},
    {{"type": "result", "status": "success", "stats": {{"input_tokens": 5, "input": 5, "total_tokens": 9}}}},
):
    print(json.dumps(record), flush=True)
"""


@pytest.mark.req("R060", "R065")
class TestGemini(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        program = project / "gemini"
        program.write_text(PLAYED.format(python=sys.executable))
        program.chmod(0o755)
        return {"type": "gemini", "command": str(program)}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "gemini", "max_turns": "many"}
