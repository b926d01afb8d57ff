"""Builds the event that ends an attempt."""

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
    started: AttemptStarted,
    kind: AnswerKind,
    reason: Reason = "",
    *,
    result: AttemptResult,
    tree: Tree | None,
    change: Mapping[str, Any] | None = None,
) -> AttemptEnded:
    """The end of an attempt without cost; agents add theirs."""
    return AttemptEnded(
        at=host.now(),
        path=started.path,
        attempt=started.attempt,
        kind=kind,
        reason=reason,
        result=result,
        tree=tree,
        change=change,
        used=Amounts(),
        digest=digest(result.get("text", ""), tree),
    )


def digest(text: str, tree: Tree | None) -> str:
    """A hash of text and tree, by which the breaker recognises that nothing changes."""
    return hashlib.sha256(f"{text}\0{tree or ''}".encode("utf-8", "backslashreplace")).hexdigest()[:16]
