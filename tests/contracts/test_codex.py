"""The codex adapter keeps the contract of all agents; a script stands in for the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.codex import AGENT
from podium.testing.agent_contract import AgentContract

STAND_IN = r"""
import json, os, pathlib, sys, tomllib
home = pathlib.Path(os.environ["CODEX_HOME"])
config = tomllib.loads((home / "config.toml").read_text("utf-8"))
assert "5517" in config["developer_instructions"] and "7391" in sys.stdin.read() and sys.argv[-1] == "-"
schemas = [word.partition("=")[2] for word in sys.argv if word.startswith("--output-schema=")]
assert all(json.loads(pathlib.Path(schema).read_text())["required"] == ["title"] for schema in schemas)
for event in (
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "agent_message", "text": '{"title": "blue"}'}},
    {"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 2}},
):
    print(json.dumps(event))
"""


@pytest.mark.req("R057", "R060", "R071")
class TestCodex(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        program = project / "codex.py"
        program.write_text(STAND_IN, "utf-8")
        return {"type": "codex", "command": (sys.executable, str(program))}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "codex", "base_url": "nowhere"}
