"""The claude adapter keeps the contract of all agents; a script stands in for the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.claude import AGENT
from podium.testing.agent_contract import AgentContract

STAND_IN = r"""
import json, os, pathlib, sys
flags = dict(word.partition("=")[::2] for word in sys.argv[1:])
assert "5517" in pathlib.Path(flags["--append-system-prompt-file"]).read_text() and "7391" in sys.stdin.readline()
assert os.environ["ANTHROPIC_API_KEY"] == "sk-test-0000"
value = {"title": "blue"} if "--json-schema" in flags else None
end = {"type": "result", "subtype": "success", "is_error": False, "result": "It is blue", "total_cost_usd": 0.01}
for event in (
    {"type": "system", "subtype": "init", "session_id": "s1"},
    {"type": "assistant", "message": {"id": "m1", "model": "m", "content": [{"type": "text", "text": "Painting"}]}},
    {**end, **({"structured_output": value} if value else {})},
):
    print(json.dumps(event))
"""


@pytest.mark.req("R057", "R060", "R071")
class TestClaude(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        program = project / "claude.py"
        program.write_text(STAND_IN, "utf-8")
        return {"type": "claude", "command": (sys.executable, str(program))}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "claude", "auth": "magic"}

    def env(self) -> Mapping[str, str]:
        return {"ANTHROPIC_API_KEY": "sk-test-0000"}
