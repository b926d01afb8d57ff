"""The acp adapter keeps the contract of all agents; a script stands in for the program."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.acp import AGENT
from podium.testing.agent_contract import AgentContract
from tests.adapters.test_acp_agent import STAND_IN


@pytest.mark.req("R057", "R060")
class TestAcp(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        return {"type": "acp", "command": (sys.executable, "-I", str(STAND_IN))}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "acp"}
