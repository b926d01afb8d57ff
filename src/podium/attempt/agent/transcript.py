"""Writes prompts and answers of an agent to disk (R211), as the workflow's `record` allows (R214)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.artifacts import write_bytes
from podium.context.manifest import manifest_of
from podium.core.events import AttemptEnded


def write_request(attempt: AgentAttempt, record: Mapping[str, Any]) -> None:
    """Written before the agent starts, so that the prompt is on disk even after a crash."""
    exchange = attempt.exchange
    texts: dict[str, str] = {}
    if record.get("prompts", True):
        texts |= {"prompt.md": exchange.prompt, "system.md": exchange.system}
    if record.get("inputs", True) and exchange.worker is not None:
        guidance = attempt.started.guidance if record.get("prompts", True) else ()
        if exchange.packed is not None:
            texts["context.json"] = _json(manifest_of(exchange.packed))
        texts["inputs.json"] = _json({"config": exchange.worker.config, "guidance": guidance})
    _write(attempt, texts)


def write_transcript(attempt: AgentAttempt, record: Mapping[str, Any], ended: AttemptEnded) -> None:
    """Write the agent's answer, except what `record` switches off; its output and progress were written live."""
    exchange = attempt.exchange
    texts: dict[str, str] = {"attempt.json": _json(_facts(attempt, ended))}
    if record.get("outputs", True) and exchange.result is not None:
        texts["answer.md"] = exchange.result.text
        if exchange.result.has_value:
            texts["answer.json"] = _json(exchange.result.value)
    _write(attempt, texts)
    if exchange.finished is not None:
        for captured in (exchange.finished.stdout, exchange.finished.stderr):
            if captured.path is not None:
                # Its live log has the same text.
                captured.path.unlink(missing_ok=True)


def _keeps_prompts(attempt: AgentAttempt) -> bool:
    return bool(attempt.work.config.record.get("prompts", True))


def _write(attempt: AgentAttempt, texts: Mapping[str, str]) -> None:
    """Mask and write the texts that are not empty."""
    host, started = attempt.host, attempt.started
    for name, text in texts.items():
        if text:
            content = host.mask.text(text).encode("utf-8", "backslashreplace")
            write_bytes(host.log_dir(started.path, started.attempt) / name, content)


def _facts(attempt: AgentAttempt, ended: AttemptEnded) -> dict[str, Any]:
    host, exchange, started = attempt.host, attempt.exchange, attempt.started
    worker, finished, result = exchange.worker, exchange.finished, exchange.result
    sandbox = host.sandbox_of(attempt.step)
    return {
        "run": host.run,
        "path": started.path,
        "attempt": started.attempt,
        "started_at": started.at,
        "ended_at": ended.at,
        "agent": None if worker is None else worker.agent,
        "type": None if worker is None else worker.type,
        "model": (result and result.model) or (worker and worker.model),
        "persona": {"role": None if worker is None else worker.role, "sha256": _sha256(exchange.system)},
        "prompt": {
            "sha256": _sha256(exchange.prompt),
            "bytes": len(exchange.prompt.encode("utf-8", "replace")),
        },
        "removed": exchange.removed,
        **({"guided": exchange.guidance} if exchange.guidance and _keeps_prompts(attempt) else {}),
        "command": exchange.argv,
        "sandbox": sandbox.level,
        "in_force": sandbox.in_force,
        "unbounded": sandbox.unbounded,
        "exit_code": None if finished is None else finished.exit_code,
        "duration_s": None if finished is None else round(finished.duration_s, 3),
        "kind": ended.kind,
        "reason": ended.reason,
        "message": (ended.result or {}).get("message", ""),
        "usage": None if result is None else asdict(result.usage),
        "context": (ended.result or {}).get("context"),
        "cost_source": None if result is None else result.cost_source,
        "cost_usd": ended.used.usd / 1_000_000 if ended.cost_known else None,
        "session": None if result is None else result.session,
        "base": started.base,
        "start": started.start,
        "tree": ended.tree,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
