"""Runs the program of an agent in its workspace and sandbox, for an attempt or for a person at a terminal."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from anyio import CancelScope, to_thread

from podium.attempt import network
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.host import Host
from podium.attempt.launch import build_launch, sandbox_record
from podium.attempt.prompt.earlier_outputs import write_outputs
from podium.attempt.step_tools.open import BIN, tool_environment, tool_files, tool_reads
from podium.attempt.workspace.workspace import Workspace
from podium.credentials import read_returned_login
from podium.fast_dataclass import dataclass
from podium.files.inside import inside
from podium.git.workdir.folder import Owner, give_ownership
from podium.ports.agent import ProgramSpec
from podium.ports.sandbox import SandboxPolicy
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput


@dataclass(frozen=True, slots=True)
class ProgramEnd:
    finished: Finished
    policy: SandboxPolicy
    egress: network.EgressLog


async def run_program(
    attempt: AgentAttempt,
    worker: ResolvedAgent,
    workspace: Workspace,
    program: ProgramSpec,
    *,
    adjust: Callable[[Launch], Launch],
    on_output: OnOutput | None = None,
) -> ProgramEnd:
    """Run the program to its end. `adjust` changes the launch, which has the step's time limit."""
    attempt.exchange.argv = program.argv
    sandbox = attempt.host.sandbox_of(attempt.step)
    request = attempt.exchange.request
    server = None if request is None else request.tool_server
    await to_thread.run_sync(
        _write_files, workspace.home, {**program.files, **tool_files(server)}, sandbox.owner
    )
    await to_thread.run_sync(write_outputs, workspace, attempt.exchange.files, sandbox.owner)
    egress = network.EgressLog(attempt.host, attempt.started.path, attempt.started.attempt)
    launch, policy = build_launch(
        attempt.host,
        attempt.step,
        attempt.names,
        workspace,
        argv=program.argv,
        extra_env={**_environment(attempt.host, worker), **program.env},
        stdin=program.stdin,
        timeout_s=math.inf if attempt.started.timeout is None else attempt.started.timeout / 1000,
        reads=(*program.reads, *tool_reads(server)),
        network=network.network_of(attempt.step, program),
        service=program.service,
        on_decision=egress,
        tools=None if server is None else server.handler,
    )
    path = launch.env.get("PATH", os.defpath)
    launch = replace(launch, env={**launch.env, **tool_environment(server, workspace.home, path)})
    try:
        launch = replace(launch, starts=program.starts)
        finished = await sandbox.run(adjust(launch), policy, on_output=on_output)
    finally:
        # Also after a cancellation: the vendor may have revoked the old token.
        if program.login is not None:
            with CancelScope(shield=True):
                await to_thread.run_sync(
                    _keep_login, attempt.host, worker.type, workspace.home, program.login
                )
    attempt.exchange.finished, attempt.exchange.sandbox_facts = finished, sandbox_record(sandbox, policy)
    return ProgramEnd(finished, policy, egress)


def _keep_login(host: Host, kind: str, home: Path, name: str) -> None:
    content = read_returned_login(home, name)
    if content is not None:
        host.keep_login(kind, content)


def _write_files(home: Path, files: Mapping[str, bytes], owner: Owner | None) -> None:
    for name, content in files.items():
        place = inside(home, name)
        place.parent.mkdir(parents=True, exist_ok=True)
        # A file may be a login, so restrict its mode before writing the first byte.
        place.touch(mode=0o700 if name.startswith(f"{BIN}/") else 0o600)
        place.write_bytes(content)
    if files:
        give_ownership(home, owner)


def _environment(host: Host, worker: ResolvedAgent) -> dict[str, str]:
    """`agents.NAME.env`, read like that of a step: `NAME` passes a variable on, `NAME=value` sets it."""
    pairs = (str(entry).partition("=") for entry in worker.config.get("env") or ())
    return {
        name: value if sign else host.host_env[name]
        for name, sign, value in pairs
        if sign or name in host.host_env
    }
