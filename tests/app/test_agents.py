"""The list of agents: what is installed, and how each would log in."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from podium.adapters.agents.registry import BUILT_IN, InstalledAgents
from podium.app.agents import list_agents, matrix


@pytest.mark.req("R057", "R071")
def test_programs_are_found_with_their_version_and_no_value_of_a_key_is_shown(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.197 (Claude Code)'\n")
    program.chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "ANTHROPIC_API_KEY": "sk-of-nobody", "HOME": str(tmp_path)}
    configured = {
        "mine": {"type": "gemini", "model": "m", "key": "MINE", "command": str(tmp_path / "nowhere")},
        "odd": {"type": "knitted"},
    }

    found = {one.name: one for one in anyio.run(list_agents, configured, InstalledAgents(), env)}

    assert (found["claude"].version, found["claude"].program) == ("2.1.197", str(program))
    assert found["claude"].auth == "ANTHROPIC_API_KEY (set)"
    assert (found["mine"].program, found["mine"].model, found["mine"].auth) == (None, "m", "MINE (not set)")
    assert found["ollama"].auth == "none needed"
    assert not found["odd"].works
    assert "sk-of-nobody" not in repr(found)


def test_a_program_that_cannot_tell_its_version_has_none(tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 3\n")
    program.chmod(0o755)

    found = anyio.run(list_agents, {}, InstalledAgents(), {"PATH": f"{tmp_path}:/usr/bin:/bin"})

    assert [one.version for one in found if one.name == "codex"] == [None]


def test_the_matrix_has_a_line_for_each_type() -> None:
    rows = matrix(InstalledAgents())

    assert [row.type for row in rows] == [*BUILT_IN, "human"]
    assert all(row.works for row in rows)
