"""The last conversation of a role in this run, for steps that go on in it (`continuity`, R068-R070).

It is kept in the folder of the run, by role: what was said in each turn, what all of them have used, and the files by
which the agent's own program remembers it. A conversation is kept only when its last turn had an answer. A worker that
changes files never goes on in one: it would remember files as they were.
"""

from __future__ import annotations

import json
import re
import stat
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.agent.resolve import ResolvedAgent
from podium.attempt.artifacts import write_bytes
from podium.attempt.change_policy import globs_of
from podium.ports.agent import AgentResult, Exchange, PriorSession, ServiceAgent, Usage

FOLDER: Final = "sessions"
LARGEST: Final = 32 * 1024 * 1024
"""Bytes of the files of one conversation that are kept; a longer one is not gone on in."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def goes_on(asking: AgentAttempt) -> bool:
    return (
        bool(asking.verb.continuity) and not asking.verb.judge and globs_of(asking.step, asking.names) == ()
    )


def last_session(asking: AgentAttempt, worker: ResolvedAgent) -> PriorSession | None:
    """None: it begins a new one, as there is none yet, it was another agent's, or it has had its turns.

    A service is told the last turns anew; a program has its own memory, which cannot be cut, only left.
    """
    if not goes_on(asking):
        return None
    try:
        told = json.loads(_place(asking, worker).read_bytes())
    except FileNotFoundError:
        return None
    if (told["agent"], told["type"]) != (worker.agent, worker.type):
        return None
    session = _session(told)
    most = asking.verb.continuity
    if isinstance(worker.adapter, ServiceAgent):
        return PriorSession(session.id, turns=session.turns[-most:], usage=session.usage)
    return session if session.id and len(session.turns) < most else None


def keep_session(
    asking: AgentAttempt, worker: ResolvedAgent, result: AgentResult, *, home: Path, patterns: Iterable[str]
) -> None:
    """Through the mask, all of it. `patterns` are where below its home the agent's program keeps a conversation."""
    request = asking.story.request
    if request is None or not request.lasting or result.trouble is not None:
        return
    before, mask = request.session, asking.host.mask
    turns = () if before is None else before.turns
    usage = Usage(calls=0) if before is None else before.usage
    told = {
        "agent": worker.agent,
        "type": worker.type,
        "id": result.session if result.session and _ID.fullmatch(result.session) else "",
        "turns": [(turn.prompt, turn.answer) for turn in turns] + [(mask.text(request.prompt), result.text)],
        "usage": asdict(_sum(usage, result.usage)),
        "files": {
            name: b64encode(mask.apply(content)).decode("ascii")
            for name, content in _read(home, patterns).items()
        },
    }
    write_bytes(_place(asking, worker), json.dumps(told).encode("ascii"))


def _place(asking: AgentAttempt, worker: ResolvedAgent) -> Path:
    return asking.host.run_dir / FOLDER / f"{worker.role or worker.agent}.json"


def _session(told: Mapping[str, Any]) -> PriorSession:
    return PriorSession(
        told["id"],
        turns=tuple(Exchange(prompt, answer) for prompt, answer in told["turns"]),
        usage=Usage(**told["usage"]),
        files={name: b64decode(content) for name, content in told["files"].items()},
    )


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cached=one.cached + other.cached,
        written=one.written + other.written,
        calls=one.calls + other.calls,
    )


def _read(home: Path, patterns: Iterable[str]) -> dict[str, bytes]:
    """Plain files only: what worked there may have put links in their places."""
    found: dict[str, bytes] = {}
    for path in sorted({path for pattern in patterns for path in home.glob(pattern)}):
        name = path.relative_to(home)
        if path.resolve() == home.resolve() / name and stat.S_ISREG(path.lstat().st_mode):
            found[name.as_posix()] = path.read_bytes()
    return found if sum(map(len, found.values())) <= LARGEST else {}
