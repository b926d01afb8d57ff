"""Every built-in agent keeps the contract."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from podium.adapters.agents import command, scripted
from podium.adapters.agents.command.agent import Command, CommandConversation
from podium.ports.agent import AgentRequest, ProgramSpec
from podium.testing.agent_contract import AgentContract, record_accesses


@pytest.mark.req("R060")
class TestScripted(AgentContract):
    agent_type = scripted.AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        (project / "cast.yaml").write_text(
            "- match: {prompt: shed \\d+}\n  write: {shed.txt: blue}\n  text: It is blue\n"
        )
        return {"type": "scripted", "script": "cast.yaml"}

    def broken(self, project: Path) -> Mapping[str, Any]:
        (project / "broken.yaml").write_text("- txt: x\n")
        return {"type": "scripted", "script": "broken.yaml"}


SHIM = """
import json, pathlib, sys
prompt = sys.stdin.read() if len(sys.argv) < 2 else pathlib.Path(sys.argv[1]).read_text()
assert "7391" in prompt and "5517" in prompt, prompt
print(json.dumps({"title": "blue"}))
"""


@pytest.mark.req("R059", "R060")
class TestShim(AgentContract):
    argv: tuple[str, ...] = ()

    agent_type = command.AGENT

    def config(self, project: Path) -> Mapping[str, Any]:
        shim = project / "shim.py"
        shim.write_text(SHIM)
        return {"type": "command", "command": (sys.executable, "-I", str(shim), *self.argv)}

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "command"}


@pytest.mark.req("R059")
class TestCommandWithAPromptFile(TestShim):
    argv = ("{prompt_file}",)

    def broken(self, project: Path) -> Mapping[str, Any]:
        return {"type": "command", "command": "tool {prompt}"}


class Curious(Command):
    """Looks around while it prepares, which no adapter may."""

    def prepare(self, request: AgentRequest) -> tuple[ProgramSpec, CommandConversation]:
        Path(__file__).read_bytes()
        return super().prepare(request)


def test_the_suite_notices_an_adapter_that_opens_files_of_its_own(tmp_path: Path) -> None:
    request = AgentRequest(
        agent="c", config={"command": "cat"}, path="it", step="it", visit=1, attempt=1, prompt="x",
        project=tmp_path, cwd=tmp_path, home=tmp_path,
    )  # fmt: skip
    with record_accesses() as seen:
        Command().prepare(request)
    assert seen == []

    with record_accesses() as seen:
        Curious().prepare(request)
    assert ("open", __file__) in seen
