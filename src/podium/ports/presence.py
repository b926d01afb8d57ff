"""The protocol of what proves that a person is present, so that no program can answer in their place.

Rule: the process that drives a run verifies the proof itself. A command in the store may come from any program.
"""

from __future__ import annotations

import hashlib
from typing import Protocol

from podium.core.events import ApprovalAsked
from podium.core.hash_chain import RunId
from podium.core.json_text import compact_json
from podium.core.messages import Approve


class PresenceCheck(Protocol):
    def fault(self, challenge: bytes, answer: Approve) -> str:
        """Why the proof of this answer is not valid for this challenge; empty if it is."""


class NobodyPresent:
    """For machines that know no passkeys."""

    def fault(self, challenge: bytes, answer: Approve) -> str:
        return "this machine knows no passkeys"


def challenge_of(run: RunId, request: ApprovalAsked, answer: Approve) -> bytes:
    """What is signed: this answer of this person to this question about this tree, so that it proves nothing else."""
    facts = {
        "run": run,
        "path": request.path,
        "at": request.at,
        "key": request.key,
        "tree": request.tree,
        "action": answer.action,
        "by": answer.by,
        "text": answer.text,
        "answer": answer.answer,
    }
    return hashlib.sha256(
        b"podium presence 1\0" + compact_json(facts).encode("utf-8", "surrogatepass")
    ).digest()
