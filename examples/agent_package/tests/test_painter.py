"""The painter keeps the contract of all agents; a script is used in place of its program."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from podium_painter import AGENT

from podium.testing.agent_contract import AgentContract

STAND_IN = Path(__file__).with_name("painter")


class TestPainter(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        return {"type": "painter", "command": str(STAND_IN), "colour": "blue"}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "painter", "colour": "pink"}

    def env(self) -> Mapping[str, str]:
        return {"PAINTER_KEY": "sk-of-nobody-4711"}
