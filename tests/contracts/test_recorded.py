"""The recorded agent keeps the contract of all agents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents.recorded import AGENT
from podium.ports.agent import AgentResult
from podium.recording import Recording, encode_recording, file_name
from podium.testing.agent_contract import PROMPT, SYSTEM, AgentContract


@pytest.mark.req("X16", "R060")
class TestRecorded(AgentContract):
    agent_type = AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        recording = Recording(
            path="paint", attempt=1, agent="painter", type="claude", model=None, role=None, system=SYSTEM,
            prompt=PROMPT, schema=None, result=AgentResult(text="blue", value={"title": "blue"}, has_value=True),
        )  # fmt: skip
        (project / "tapes").mkdir()
        (project / "tapes" / file_name("paint", 1)).write_bytes(encode_recording(recording))
        return {"type": "recorded", "dir": "tapes"}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "recorded", "dir": "nowhere"}
