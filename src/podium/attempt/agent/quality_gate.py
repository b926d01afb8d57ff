"""Reads the verdict of a quality gate: proceed, retry or halt, with a score, issues and guidance.

Unlike a review it names neither its request nor a tree, so it cannot judge work that changes files. Persona files of other tools
ask for several spellings of the same fields; all of them are read, and so are the words of a review.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from podium.core.payloads import Verdict
from podium.core.queries.disputes import ACCEPTED
from podium.core.types import SEVERITIES
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.contract import OutputFault

Decision = Literal["approve", "reject", "abort"]

DECISIONS: Final[Mapping[str, Decision]] = {"proceed": "approve", "retry": "reject", "halt": "abort"}
REVIEW_WORDS: Final[Mapping[str, Decision]] = {"approve": "approve", "reject": "reject", "abort": "abort"}
SCORES: Final = ("quality_score", "score", "overall", "overall_score")
FEEDBACK: Final = ("retry_guidance", "feedback", "guidance", "reasoning", "summary")
MOST: Final = 10


class GateAnswer(NamedTuple):
    decision: Decision
    score: float | None
    findings: tuple[Mapping[str, Any], ...]
    feedback: str
    accepted: tuple[str, ...]


def schema(*, accepts_tests: bool = False) -> dict[str, Any]:
    gate = BUILTIN["QualityGate"]
    score = {**gate["properties"]["quality_score"], "minimum": 1, "maximum": MOST}
    properties = {**gate["properties"], "quality_score": score}
    if accepts_tests:
        properties[ACCEPTED] = {"type": "array", "items": {"type": "string"}}
    return {**gate, "properties": properties}


def read(value: Any) -> GateAnswer | OutputFault:
    if not isinstance(value, Mapping):
        return OutputFault(
            "the answer is not a JSON object, but a quality gate answers with its decision in one"
        )
    word = str(value.get("decision")).strip().lower()
    decision = DECISIONS.get(word) or REVIEW_WORDS.get(word)
    if decision is None:
        return OutputFault(
            f"the decision is {value.get('decision')!r}, but a quality gate answers proceed, retry or halt"
        )
    score = next((value[key] for key in SCORES if value.get(key) is not None), None)
    if score is not None and not _is_score(score):
        return OutputFault(f"the score is {score!r}, but it must be a number from 1 to {MOST}")
    issues = value.get("issues") or value.get("findings") or ()
    findings = tuple(_findings(issues)) if isinstance(issues, list | tuple) else ()
    feedback = "\n\n".join(dict.fromkeys(str(value[key]) for key in FEEDBACK if value.get(key)))
    accepted = value.get(ACCEPTED)
    names = tuple(map(str, accepted)) if isinstance(accepted, list | tuple) else ()
    return GateAnswer(decision, None if score is None else float(score), findings, feedback, names)


def in_own_words(value: Any, verdict: Verdict) -> Any:
    """The answer as it was given; one in the words of a review is written in those of this form."""
    if isinstance(value, Mapping) and value.get("decision") not in REVIEW_WORDS:
        return value
    words = {decision: word for word, decision in DECISIONS.items()}
    answer = {
        "decision": words[verdict.decision],
        "quality_score": verdict.score,
        "issues": list(verdict.findings),
    }
    return {**answer, "retry_guidance": verdict.summary} if verdict.decision == "reject" else answer


def scores_by_target(value: Any) -> dict[str, float]:
    """The score of each judged work, where the answer has them."""
    scores = value.get("scores") if isinstance(value, Mapping) else None
    return {
        str(target): float(score)
        for target, score in (scores.items() if isinstance(scores, Mapping) else ())
        if _is_score(score)
    }


def _is_score(score: Any) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and 1 <= score <= MOST


def _findings(issues: Sequence[Any]) -> Iterator[Mapping[str, Any]]:
    for issue in issues:
        entries = issue if isinstance(issue, Mapping) else {"issue": str(issue)}
        severity = str(entries.get("severity", "")).lower()
        copied = {key: entries[key] for key in ("id", "fix", "path", "line") if entries.get(key) is not None}
        yield {
            **copied,
            "severity": severity if severity in SEVERITIES else "major",
            "issue": str(entries.get("issue") or entries.get("description") or "an issue without a text"),
        }
