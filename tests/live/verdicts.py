"""A model server whose judges approve: a verdict has to repeat what only its request tells."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from podium.testing.models.server import ModelRequest, ModelServer, Rule

BOUND = re.compile(r"^nonce: (?P<nonce>\w+)\ntree: (?P<tree>\w+)$", re.MULTILINE)
FINDING = {"severity": "minor", "issue": "short"}


class Judging(ModelServer):
    """The rule that speaks to a request for a verdict keeps its tools; what it says is the verdict."""

    def choose(self, asked: ModelRequest) -> Rule:
        rule = super().choose(asked)
        bound = BOUND.search(asked.text)
        if bound is None or rule.status != 200:
            return rule
        said: dict[str, Any] = {
            "decision": "approve",
            "score": 9,
            "summary": "blue indeed",
            **bound.groupdict(),
        }
        # The strict dialect has no optional keys: what is not said is null.
        nothing = dict.fromkeys(("id", "fix", "path", "line", "status"))
        strict = {**said, "guidance": None, "findings": [{**nothing, **FINDING}]}
        return replace(rule, text=json.dumps({**said, "findings": [FINDING]}), value=strict)
