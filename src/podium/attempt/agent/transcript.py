"""What an agent was told and what it said, on disk (R211), as far as the workflow's `record` wants it (R214)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.artifacts import write_bytes
from podium.core.events import AttemptEnded
from podium.ports.agent import Progress
from podium.process.output import CapturedOutput


def write_question(asking: AgentAttempt, record: Mapping[str, Any]) -> None:
    """What the agent is about to be told: if all ends here, it is known what was asked."""
    story = asking.story
    texts: dict[str, str] = {}
    if record.get("prompts", True):
        texts |= {"prompt.md": story.prompt, "system.md": story.system}
    if record.get("inputs", True) and story.worker is not None:
        texts["inputs.json"] = _json({"config": story.worker.config, "guidance": asking.asked.guidance})
    _write(asking, texts)


def write_story(asking: AgentAttempt, record: Mapping[str, Any], ended: AttemptEnded) -> None:
    """What it did and said. `record` are the switches; what is not switched off is kept."""
    host, story, asked = asking.host, asking.story, asking.asked
    folder = host.log_dir(asked.path, asked.attempt)
    texts: dict[str, str] = {"attempt.json": _json(_facts(asking, ended))}
    if record.get("outputs", True) and story.result is not None:
        texts["answer.md"] = story.result.text
        if story.result.has_value:
            texts["answer.json"] = _json(story.result.value)
    if record.get("reasoning", True) and story.seen:
        texts["progress.jsonl"] = "".join(json.dumps(asdict(seen)) + "\n" for seen in _joined(story.seen))
    _write(asking, texts)
    if story.finished is not None:
        for stream, captured in (("stdout", story.finished.stdout), ("stderr", story.finished.stderr)):
            _keep_stream(folder / f"{stream}.log", captured, wanted=bool(record.get("stdout", True)))


def _joined(seen: Iterable[Progress]) -> Iterator[Progress]:
    """What was said in pieces in one: a secret that was cut in two is hidden only when it is whole."""
    for kind, group in groupby(seen, key=lambda one: one.kind):
        if kind == "text":
            yield Progress("text", "".join(one.text for one in group))
        else:
            yield from group


def _write(asking: AgentAttempt, texts: Mapping[str, str]) -> None:
    """Through the mask, all of it."""
    host, asked = asking.host, asking.asked
    for name, text in texts.items():
        if text:
            content = host.mask.text(text).encode("utf-8", "backslashreplace")
            write_bytes(host.log_dir(asked.path, asked.attempt) / name, content)


def _keep_stream(place: Path, captured: CapturedOutput, *, wanted: bool) -> None:
    """Already masked. What is too long for the record has a file already, which moves here."""
    if captured.path is not None and captured.path.exists():
        if wanted:
            place.parent.mkdir(parents=True, exist_ok=True)
            captured.path.replace(place)
        else:
            captured.path.unlink()
    elif wanted and captured.memory:
        write_bytes(place, captured.memory)


def _facts(asking: AgentAttempt, ended: AttemptEnded) -> dict[str, Any]:
    host, story, asked = asking.host, asking.story, asking.asked
    worker, finished, result = story.worker, story.finished, story.result
    sandbox = host.sandbox_of(asking.step)
    return {
        "run": host.run,
        "path": asked.path,
        "attempt": asked.attempt,
        "started_at": asked.at,
        "ended_at": ended.at,
        "agent": None if worker is None else worker.agent,
        "type": None if worker is None else worker.type,
        "model": (result and result.model) or (worker and worker.model),
        "persona": {"role": None if worker is None else worker.role, "sha256": _sha256(story.system)},
        "prompt": {"sha256": _sha256(story.prompt), "bytes": len(story.prompt.encode("utf-8", "replace"))},
        "removed": story.removed,
        "command": story.argv,
        "sandbox": sandbox.level,
        "in_force": sandbox.in_force,
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
        "base": asked.base,
        "start": asked.start,
        "tree": ended.tree,
    }


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2, default=_plain) + "\n"


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else str(value)
