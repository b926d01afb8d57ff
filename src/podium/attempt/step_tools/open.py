"""Opens the tools of an attempt: on a socket of the host that the sandbox relays, or on the loopback without a sandbox."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import SocketAttribute, SocketStream

from podium.attempt import network
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.prompt.excerpt import excerpt_facts
from podium.attempt.step_tools import podium_step
from podium.attempt.step_tools.approvals import CallApprover
from podium.attempt.step_tools.server import PATH, serve_tools
from podium.attempt.step_tools.tools import JOURNAL, StepFacts, StepTools
from podium.core.expressions.nodes import ExprError
from podium.core.expressions.templates import fill_argv
from podium.ports.agent import Progress, ServiceAgent, ToolServer
from podium.ports.sandbox import TOOLS

BIN: Final = ".podium-bin"
"""The folder below an attempt's home with `podium-step`."""


def offers_tools(attempt: AgentAttempt) -> bool:
    """Whether a worker gets tools: in a team, and where the agent's settings say so. A reviewer only judges."""
    worker = attempt.exchange.worker
    if worker is None or attempt.verb.judge or isinstance(worker.adapter, ServiceAgent):
        return False
    if worker.installed.type.capabilities.step_tools is None:
        return False
    return bool(attempt.step.settings.approve.patterns) or _offers_words(attempt)


def _offers_words(attempt: AgentAttempt) -> bool:
    """Whether it can say something by them; otherwise its program only asks before it uses a tool."""
    worker = attempt.exchange.worker
    wish = None if worker is None else worker.config.get("step_tools")
    return bool(wish) if wish is not None else attempt.work.team is not None


@asynccontextmanager
async def open_tools(attempt: AgentAttempt) -> AsyncIterator[ToolServer | None]:
    """Serve the tools until the block is left; None if the worker gets none."""
    if not attempt.exchange.has_tools:
        yield None
        return
    journal = attempt.host.log_dir(attempt.started.path, attempt.started.attempt) / JOURNAL
    tools = attempt.exchange.tools = StepTools(
        _facts(attempt), journal, mask=attempt.host.mask.text, on_progress=partial(_show, attempt)
    )
    tools.has_words = _offers_words(attempt)
    worker = attempt.exchange.worker
    if worker is not None and attempt.step.settings.approve.patterns:
        able = worker.installed.type.capabilities
        tools.approver = CallApprover(attempt, able.asks, able.asks_s)
    handler = partial(serve_tools, tools=tools)
    if network.is_brokered(attempt.host, attempt.step):
        # The sandbox has a network of its own, so the address is always the same.
        host, port = TOOLS
        yield ToolServer(f"http://{host}:{port}{PATH}", tools.token, handler)
        return
    failure: Exception | None = None
    async with await anyio.create_tcp_listener(local_host=TOOLS[0]) as listener:
        port = listener.extra(SocketAttribute.local_port)  # noqa: S610 (of anyio)
        async with anyio.create_task_group() as group:
            group.start_soon(partial(listener.serve, partial(_attend, tools=tools)))
            try:
                yield ToolServer(f"http://{TOOLS[0]}:{port}{PATH}", tools.token)
            except Exception as error:  # noqa: BLE001 - reraised below, outside the task group
                failure = error
            group.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _attend(stream: SocketStream, *, tools: StepTools) -> None:
    async with stream:
        # The caller may hang up.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            await serve_tools(stream, tools)


def _show(attempt: AgentAttempt, text: str) -> None:
    attempt.activity.report([Progress("note", text)])


def _facts(attempt: AgentAttempt) -> StepFacts:
    team = attempt.work.team
    about = dict(excerpt_facts(attempt.task, attempt.names, touches=None))
    names = () if team is None else tuple(one.name for one in team.colleagues)
    sender = () if team is None or team.message is None else (team.message.sender,)
    try:
        files = fill_argv(attempt.step.output.files, attempt.names)
    except ExprError:
        files = ()
    facts = {
        "step": about["step"],
        "workflow": about["workflow"],
        "attempt": about["attempt"],
        "success": [_sentence(one) for one in about["success"]],
        "next": list(about["next"]),
        "you_are": "" if team is None else team.name,
        "you_may_ask": list(names),
    }
    talks_to = "" if attempt.turn is None else attempt.turn.person
    return StepFacts(facts, team is not None, names, sender, files, talks_to)


def _sentence(condition: Mapping[str, object]) -> str:
    files = condition.get("files") or ()
    words = (condition.get("kind"), condition.get("name"), condition.get("said"), ", ".join(map(str, files)))  # type: ignore[call-overload]  # a tuple of texts
    return " ".join(str(word) for word in words if word)


def tool_environment(server: ToolServer | None, home: Path, path: str) -> dict[str, str]:
    """What `podium-step` needs, and what tells the `podium` program that it is inside a step."""
    if server is None:
        return {}
    return {
        "PODIUM_TOOLS": server.url,
        "PODIUM_TOOLS_TOKEN": server.token,
        "PATH": f"{home / BIN}{os.pathsep}{path}",
    }


def tool_files(server: ToolServer | None) -> dict[str, bytes]:
    """The program `podium-step`, below the home of the attempt."""
    if server is None:
        return {}
    words = (str(Path(sys.executable).resolve()), "-I", "-S", str(_script()))
    # Programs hide variables with such names from the commands that their models run.
    variables = shlex.join(("export", f"PODIUM_TOOLS={server.url}", f"PODIUM_TOOLS_TOKEN={server.token}"))
    return {f"{BIN}/podium-step": f'#!/bin/sh\n{variables}\nexec {shlex.join(words)} "$@"\n'.encode()}


def tool_reads(server: ToolServer | None) -> tuple[Path, ...]:
    """What `podium-step` has to read inside a sandbox: its script, and Python."""
    return () if server is None else (_script(), Path(sys.base_prefix).resolve())


def _script() -> Path:
    return Path(podium_step.__file__).resolve()
