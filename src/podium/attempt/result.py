"""How an attempt that is no agent's is put into words: the event with its result, and the marks it is compared by."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from podium.attempt.host import Host
from podium.core.events import AttemptEnded, AttemptStarted
from podium.core.payloads import Amounts
from podium.core.types import AnswerKind, Reason, Tree
from podium.tasks.report import AttemptResult


def attempt_ended(
    host: Host,
    asked: AttemptStarted,
    kind: AnswerKind,
    reason: Reason = "",
    *,
    result: AttemptResult,
    tree: Tree | None,
    change: Mapping[str, Any] | None = None,
) -> AttemptEnded:
    """It cost nothing: a process of the user's own is not counted in money or tokens."""
    return AttemptEnded(
        at=host.now(),
        path=asked.path,
        attempt=asked.attempt,
        kind=kind,
        reason=reason,
        result=result,
        tree=tree,
        change=change,
        used=Amounts(),
        digest=digest(result.get("text", ""), tree),
    )


def digest(text: str, tree: Tree | None) -> str:
    """The same for the same words and the same tree: what the breaker recognises a standstill by."""
    return hashlib.sha256(f"{text}\0{tree or ''}".encode("utf-8", "backslashreplace")).hexdigest()[:16]
