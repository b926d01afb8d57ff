"""Lists agents: their programs and versions, and how each would log in; values of keys are never read."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from podium.attempt.programs import program_of, wanting
from podium.credentials import auth_of, key_names
from podium.fast_dataclass import dataclass
from podium.ports.agent import Agents, InstalledAgent
from podium.process.environment import minimal_env
from podium.process.host_programs import host_path, is_in_project
from podium.process.launch import Launch
from podium.process.run import run
from podium.workflow.agent_capabilities import HUMAN, PERSON, Capabilities

VERSION_S: Final = 10.0
_NUMBER: Final = re.compile(r"\d+\.\d+(?:\.\d+)?[\w.-]*")


@dataclass(frozen=True, slots=True)
class AgentListing:
    name: str
    type: str
    works: bool
    """This Podium supports it."""
    program: str | None
    """Where its program is; None: not found, or it has none."""
    version: str | None
    model: str | None
    auth: str
    """How it would log in, in words."""
    tested: str
    """The version that this Podium was tested with; empty for an agent without a program."""
    wanting: str
    """What a person must do before it can work; empty if nothing is known to be missing."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the matrix: what an agent type supports."""

    type: str
    works: bool
    files: bool
    tools: bool
    schema: bool
    continuity: str
    price: str
    needs: str
    tested: str


async def list_agents(
    configured: Mapping[str, Mapping[str, Any]], agents: Agents, env: Mapping[str, str]
) -> tuple[AgentListing, ...]:
    """The configured agents and those that need no configuration."""
    named = {**{kind: {} for kind, agent in agents.items() if agent.type.listed}, **configured}
    return tuple([await _listed(name, config, agents, env) for name, config in named.items()])


def matrix(agents: Agents) -> tuple[Row, ...]:
    rows = (_row(kind, agent.type.capabilities, agent.type.tested) for kind, agent in agents.items())
    return (*rows, _row(HUMAN, PERSON))


def _row(kind: str, can: Capabilities, tested: str = "") -> Row:
    return Row(
        type=kind,
        works=True,
        files=can.files,
        tools=can.tools,
        schema=can.schema,
        continuity=can.continuity or "no",
        price=can.price,
        needs=can.needs,
        tested=tested,
    )


def data_of(rows: tuple[AgentListing, ...] | tuple[Row, ...]) -> list[dict[str, Any]]:
    return [asdict(row) for row in rows]


async def _listed(
    name: str, config: Mapping[str, Any], agents: Agents, env: Mapping[str, str]
) -> AgentListing:
    kind = str(config.get("type") or name)
    agent = agents.get(kind)
    program = None if agent is None else program_of(agent.type, config, env)
    has_version = agent is not None and agent.type.program
    return AgentListing(
        name=name,
        type=kind,
        works=agent is not None,
        program=program,
        version=await version_of(program, env) if program is not None and has_version else None,
        model=None if config.get("model") is None else str(config["model"]),
        auth="unknown" if agent is None else _auth(agent, config, env),
        tested="" if agent is None else agent.type.tested,
        wanting=f'no agent of type "{kind}" is installed' if agent is None else wanting(agent, config, env),
    )


async def version_of(program: str, env: Mapping[str, str]) -> str | None:
    """In a temporary home, since a program may write files even when it only prints its version.

    None for a program of the project: it may be the work of an agent, so it is only started in a sandbox.
    """
    if is_in_project(program):
        return None
    with tempfile.TemporaryDirectory(prefix="podium-") as folder:
        launch = Launch(
            argv=(program, "--version"),
            cwd=Path(folder),
            env=minimal_env(
                {"HOME": folder, "TMPDIR": folder, "NO_COLOR": "1", "PATH": host_path(env)}, host=env
            ),
            marker="podium-agents-version",
            timeout_s=VERSION_S,
            grace_s=1.0,
        )
        finished = await run(launch)
    match = _NUMBER.search(finished.stdout.text())
    return match[0] if match is not None and finished.exit_code == 0 else None


def _auth(agent: InstalledAgent, config: Mapping[str, Any], env: Mapping[str, str]) -> str:
    if auth_of(agent, config, env) == "login":
        return "login"
    names = key_names(agent.type.credentials, config)
    if not names:
        return "none needed"
    return ", ".join(f"{name} ({'set' if env.get(name) else 'not set'})" for name in names)
