"""The request of an attempt to its agent."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from podium.attempt import network
from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.agent.sessions import keeps_session
from podium.attempt.agent.verdict import echo_of, verdict_schema
from podium.attempt.change_policy import globs_of
from podium.attempt.host import Host
from podium.attempt.launch import folder_of
from podium.attempt.workspace.workspace import Workspace
from podium.core.expressions.templates import fill_argv
from podium.credentials import key_names
from podium.errors import ConfigurationError
from podium.ports.agent import AgentRequest, PriorSession, ToolServer


def request_of(
    attempt: AgentAttempt,
    worker: ResolvedAgent,
    workspace: Workspace,
    session: PriorSession | None,
    tool_server: ToolServer | None = None,
) -> AgentRequest:
    step, started, judge = attempt.step, attempt.started, attempt.verb.judge
    return AgentRequest(
        agent=worker.agent,
        config=worker.config,
        path=started.path,
        step=step.name,
        visit=attempt.work.excerpt.visit,
        attempt=started.attempt,
        prompt=attempt.exchange.prompt,
        system=attempt.exchange.system,
        images=attempt.exchange.images,
        model=worker.model,
        role=worker.role or "",
        schema=schema_of(attempt),
        judge=judge,
        nonce=attempt.nonce,
        tree=echo_of(started.start) if judge else "",
        must_touch=() if judge else _must_touch(attempt),
        project=attempt.host.project,
        root=workspace.mount_path,
        cwd=folder_of(attempt.host, step, attempt.names, workspace),
        home=workspace.home,
        memory=workspace.memory,
        tools=step.settings.tools,
        approve=_asked_tools(attempt, worker),
        streams=attempt.turn is not None,
        resumable=keeps_session(attempt),
        session=session,
        env=_keys(attempt.host, worker),
        tool_server=tool_server,
        has_settings=_has_settings(worker, workspace),
        sandboxed=network.is_isolated(attempt.host, step),
        brokered=network.is_brokered(attempt.host, step),
        login=worker.installed.login() if worker.config.get("auth") == "login" else None,
    )


def _asked_tools(attempt: AgentAttempt, worker: ResolvedAgent) -> tuple[str, ...]:
    """The tools of `approve_tools` in the names of the program."""
    names = worker.installed.type.capabilities.asks
    words = [pattern.partition("(")[0].strip() for pattern in attempt.step.settings.approve.patterns]
    return tuple(dict.fromkeys(name for word in words for name in names.get(word, (word,))))


def _has_settings(worker: ResolvedAgent, workspace: Workspace) -> bool:
    names = worker.installed.type.capabilities.settings_files
    return any(os.path.lexists(workspace.folder / name) for name in names)


def schema_of(attempt: AgentAttempt) -> Mapping[str, Any] | None:
    if attempt.verb.judge:
        if attempt.phrase is not None:
            return None
        return verdict_schema(attempt.verdict_form, accepts_tests=bool(attempt.disputed))
    if attempt.turn is not None:
        return None
    match attempt.step.output.kind:
        case "schema":
            return attempt.step.output.schema or {}
        case "json":
            return {}
        case _:
            return None


def _must_touch(attempt: AgentAttempt) -> tuple[str, ...]:
    if attempt.turn is not None:
        return ()
    declared = fill_argv(attempt.step.output.files, attempt.names)
    if attempt.verb.no_change == "pass" or declared:
        return declared
    return (globs_of(attempt.step, attempt.names) or (f"work/{attempt.step.name}",))[:1]


def _keys(host: Host, worker: ResolvedAgent) -> dict[str, str]:
    """The keys that the adapter names, from the user's environment."""
    keys = {
        name: host.host_env[name]
        for name in key_names(worker.installed.type.credentials, worker.config)
        if host.host_env.get(name)
    }
    for name, value in keys.items():
        if not host.mask.hides(value):
            # The mask of this run does not cover this key, so it would appear in every log.
            raise ConfigurationError(
                f'agent "{worker.agent}" takes its key from {name}, which is not masked in this run',
                hint=f"name the variable itself, or declare it: secrets: [{name}]",
            )
    return keys
