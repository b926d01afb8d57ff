"""The built-in schemas for the answers of planners, reviewers, advisors and workers, in shorthand.

Lists are required but may be empty: a missing list was forgotten, while [] is an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.workflow.expressions.types import MapOf, Type, parse_shorthand, to_json_schema
from podium.workflow.problems import did_you_mean

FINDING: Final = {
    "id": "optional string",
    "severity": "critical | major | minor",
    "issue": "string",
    "fix": "optional string",
    "path": "optional path",
    "line": "optional int",
    "status": "optional open | fixed | disputed",
}

INTERFACE: Final = {"file": "path", "text": "string", "check": "optional [string]"}

TEST_CHANGE: Final = {"test": "optional string", "file": "optional path", "why": "string"}

COMPONENT: Final = {"description": "string", "touches": ["path"], "needs": ["string"]}

PHASE: Final = {
    "title": "optional string",
    "description": "optional string",
    "barrier": "optional strict | interfaces | none",
    "interfaces": {"*": INTERFACE},
    "components": {"*": COMPONENT},
}

SHORTHAND: Final[Mapping[str, Mapping[str, Any]]] = {
    "Plan": {
        "title": "string",
        "summary": "string",
        "steps": [{"title": "string", "description": "string", "files": ["path"]}],
        "files": ["path"],
        "risks": ["string"],
        "questions": ["string"],
    },
    "Feature": {"id": "string", "title": "string", "description": "optional string", "phases": {"*": PHASE}},
    "Phase": PHASE,
    "Review": {
        "decision": "approve | reject | abort",
        "score": "int",
        "findings": [FINDING],
        "summary": "string",
        "guidance": "optional string",
    },
    "Audit": {
        "overall": "number",
        "scores": {"*": "number"},
        "issues": [FINDING],
        "decision": "proceed | retry | halt",
        "retry_guidance": "optional string",
    },
    "QualityGate": {
        "decision": "proceed | retry | halt",
        "quality_score": "int",
        "scores": {"*": "number"},
        "issues": [FINDING],
        "retry_guidance": "optional string",
    },
    "Decision": {
        "action": "proceed | force_complete | retry_different | halt | dump_context",
        "use_output": "optional string",
        "proceed_from": "optional string",
        "retry_from": "optional string",
        "guidance": "optional string",
        "reason": "string",
    },
    "Implementation": {
        "status": "done | blocked | failed",
        "summary": "string",
        "actions": ["string"],
        "files": ["path"],
        "review_status": "optional APPROVED | CHANGES_REQUESTED",
        "blockers": ["string"],
        "next_step": "optional string",
        "tests_changed": [TEST_CHANGE],
    },
}

ANY_JSON: Final = "json"
"""As the name of a schema: any JSON value."""

OPTIONAL_LISTS: Final = {
    "Implementation": frozenset({"tests_changed"}),
    "QualityGate": frozenset({"scores", "issues"}),
}
"""Lists and maps that may be missing; the shorthand has no word for that."""


def _type_of(name: str) -> Type:
    described = parse_shorthand(SHORTHAND[name], name=name)
    assert isinstance(described, MapOf)
    return replace(described, optional=described.optional | OPTIONAL_LISTS.get(name, frozenset()))


TYPES: Final[Mapping[str, Type]] = MappingProxyType({name: _type_of(name) for name in SHORTHAND})

BUILTIN: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {name: to_json_schema(described) for name, described in TYPES.items()}
)
"""The built-in schemas as JSON Schema."""


def hint_for(schema: str) -> str:
    """What to write in place of a schema that does not exist."""
    if schema in ("string", "int", "number", "bool"):
        return f"name the value: write {{value: {schema}}}"
    return did_you_mean(schema, BUILTIN) or f"use one of {', '.join(BUILTIN)}, a file or a map"
