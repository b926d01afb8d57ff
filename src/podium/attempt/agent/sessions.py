"""The last conversation of a role in this run, for steps that continue it (`continuity`, R068-R070).

It is stored in the run folder, by role: the prompt and answer of each turn, the total usage, and the files in which the
agent's program keeps the conversation. It is stored only if its last turn had an answer. If the workflow's `record`
leaves out a part of it, it is kept in memory only, and a resumed run begins a new conversation. An agent that changes files
never continues a conversation, because it would remember outdated files; only a person who takes its step over does.
"""

from __future__ import annotations

import json
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any, Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.artifacts import write_bytes
from podium.attempt.change_policy import globs_of
from podium.ports.agent import AgentResult, Exchange, PriorSession, ServiceAgent, Usage

FOLDER: Final = "sessions"
SESSION_FILE: Final = "session.json"
"""Next to the prompt and the answer of an attempt: its conversation, for a person who takes the step over."""
MAX_SESSION_BYTES: Final = 32 * 1024 * 1024
MAX_SESSION_FILES: Final = 1000
"""Largest total size of a conversation's files; a larger conversation is not continued."""
PARTS: Final = ("prompts", "outputs", "stdout", "reasoning")
"""What a conversation contains, as `record` names it."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def continues_session(attempt: AgentAttempt) -> bool:
    return (
        bool(attempt.verb.continuity)
        and not attempt.verb.judge
        and globs_of(attempt.step, attempt.names) == ()
    )


def keeps_session(attempt: AgentAttempt) -> bool:
    """Whether the conversation is stored, for a step that continues it or a person who takes the step over."""
    return continues_session(attempt) or (not attempt.verb.judge and _is_recorded(attempt))


def last_session(attempt: AgentAttempt, worker: ResolvedAgent) -> PriorSession | None:
    """None starts a new conversation: there is none yet, it belongs to another agent, or it has no turns left.

    A service is sent the last turns again; a program's own session cannot be shortened, only abandoned.
    """
    if not continues_session(attempt):
        return None
    stored = _stored(attempt, worker)
    if stored is None:
        return None
    data = json.loads(stored)
    if (data["agent"], data["type"]) != (worker.agent, worker.type):
        return None
    session = _session(data)
    max_turns = attempt.verb.continuity
    if isinstance(worker.adapter, ServiceAgent):
        return PriorSession(id=session.id, turns=session.turns[-max_turns:], usage=session.usage)
    return session if session.id and len(session.turns) < max_turns else None


def keep_session(
    attempt: AgentAttempt, worker: ResolvedAgent, result: AgentResult, *, home: Path, patterns: Iterable[str]
) -> None:
    """Everything is masked. `patterns` match the files below `home` in which the agent's program keeps a conversation."""
    request = attempt.exchange.request
    if request is None or not request.resumable:
        return
    data = _data_of(attempt, worker, result, files=read_session_files(home, patterns))
    content = json.dumps(data).encode("ascii")
    if data["id"] and data["files"] and _is_recorded(attempt):
        started = attempt.started
        write_bytes(attempt.host.log_dir(started.path, started.attempt) / SESSION_FILE, content)
    if not continues_session(attempt) or result.trouble is not None:
        return
    if _is_recorded(attempt):
        write_bytes(_session_file(attempt, worker), content)
    else:
        attempt.host.unrecorded_sessions[_name(worker)] = content


def session_in(folder: Path, worker: ResolvedAgent) -> PriorSession | None:
    """The conversation of the attempt whose records are in a folder, if it was one of the same agent."""
    try:
        data = json.loads((folder / SESSION_FILE).read_bytes())
    except FileNotFoundError:
        return None
    return _session(data) if (data["agent"], data["type"]) == (worker.agent, worker.type) else None


def _data_of(
    attempt: AgentAttempt, worker: ResolvedAgent, result: AgentResult, *, files: Mapping[str, bytes]
) -> dict[str, Any]:
    request, mask = attempt.exchange.request, attempt.host.mask
    assert request is not None
    before = request.session
    turns = () if before is None else before.turns
    usage = Usage(calls=0) if before is None else before.usage
    return {
        "agent": worker.agent,
        "type": worker.type,
        "id": result.session if result.session and _ID.fullmatch(result.session) else "",
        "turns": [(turn.prompt, turn.answer) for turn in turns] + [(mask.text(request.prompt), result.text)],
        "usage": asdict(_sum(usage, result.usage)),
        "files": {name: b64encode(mask.apply(content)).decode("ascii") for name, content in files.items()},
    }


def _stored(attempt: AgentAttempt, worker: ResolvedAgent) -> bytes | None:
    if not _is_recorded(attempt):
        return attempt.host.unrecorded_sessions.get(_name(worker))
    try:
        return _session_file(attempt, worker).read_bytes()
    except FileNotFoundError:
        return None


def _is_recorded(attempt: AgentAttempt) -> bool:
    record = attempt.work.config.record
    return all(record.get(part, True) for part in PARTS)


def _session_file(attempt: AgentAttempt, worker: ResolvedAgent) -> Path:
    return attempt.host.run_dir / FOLDER / f"{_name(worker)}.json"


def _name(worker: ResolvedAgent) -> str:
    return worker.role or worker.agent


def _session(data: Mapping[str, Any]) -> PriorSession:
    return PriorSession(
        id=data["id"],
        turns=tuple(Exchange(prompt, answer) for prompt, answer in data["turns"]),
        usage=Usage(**data["usage"]),
        files={name: b64decode(content) for name, content in data["files"].items()},
    )


def _sum(first: Usage, second: Usage) -> Usage:
    return Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cached=first.cached + second.cached,
        written=first.written + second.written,
        calls=first.calls + second.calls,
    )


def read_session_files(home: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Regular files only: the agent may have put links in their place. Nothing if there is too much of it."""
    contents: dict[str, bytes] = {}
    room = MAX_SESSION_BYTES
    for path in sorted(
        islice({path for pattern in patterns for path in home.glob(pattern)}, MAX_SESSION_FILES)
    ):
        name = path.relative_to(home)
        if path.resolve() == home.resolve() / name and stat.S_ISREG(path.lstat().st_mode):
            # A sparse file takes no room on the disk, but all of its size in memory.
            with path.open("rb") as file:
                contents[name.as_posix()] = file.read(room + 1)
            room -= len(contents[name.as_posix()])
            if room < 0:
                return {}
    return contents
