"""Turns a reviewer's answer into a verdict: it must match the schema, this request and this tree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from podium.attempt.agent import quality_gate
from podium.core.payloads import Verdict
from podium.core.queries.disputes import ACCEPTED
from podium.core.types import Tree, VerdictForm
from podium.tasks.task import ReviewScope
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.contract import OutputFault, Structured, Value, check_value, read_json

NO_TREE: Final = "none"
"""The tree that a verdict repeats outside of git."""
BINDING: Final = ("nonce", "tree")
"""The fields of a verdict that bind it to its request."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_SCORES: Final = {"minimum": 1, "maximum": 10}


def verdict_schema(form: VerdictForm = "review", *, accepts_tests: bool = False) -> dict[str, Any]:
    """The schema of a verdict. A review repeats the nonce and the tree, which bind it to its request."""
    if form == "quality_gate":
        return quality_gate.schema(accepts_tests=accepts_tests)
    review = BUILTIN["Review"]
    properties = {**review["properties"], "nonce": {"type": "string"}, "tree": {"type": "string"}}
    properties["score"] = {**properties["score"], **_SCORES}
    required = [*review["required"], "nonce", "tree"]
    if accepts_tests:
        properties[ACCEPTED] = {"type": "array", "items": {"type": "string"}}
        required.append(ACCEPTED)
    return {**review, "properties": properties, "required": required}


def echo_of(tree: Tree | None) -> str:
    return NO_TREE if tree is None else str(tree)


def verdict_of(
    text: str,
    structured: Structured,
    *,
    nonce: str,
    tree: Tree | None,
    review: ReviewScope | None = None,
) -> Verdict | OutputFault:
    """The verdict, or why there is none; an unreadable answer is never an approval.

    Work with disputed tests is approved only by a verdict that accepts each of them.
    """
    scope = review or ReviewScope()
    phrase, disputed = scope.phrase, scope.disputed
    if phrase is not None and has_phrase(text, phrase, scope.approve):
        return _with_acceptance(Verdict("approve", None, (), tree, _short(text)), disputed, ())
    answer = Value(structured[1]) if structured[0] else read_json(text)
    if isinstance(answer, OutputFault):
        return answer if phrase is None else _rejection_by_text(text, tree)
    if scope.form == "quality_gate":
        judged = quality_gate.read(answer.value)
        if isinstance(judged, OutputFault):
            return judged
        gate = Verdict(
            judged.decision, judged.score, with_ids(judged.findings), tree, _short(judged.feedback)
        )
        return _with_acceptance(gate, disputed, judged.accepted)
    return _review(answer.value, nonce=nonce, tree=tree, disputed=disputed)


def _review(
    value: Any, *, nonce: str, tree: Tree | None, disputed: Sequence[Mapping[str, Any]]
) -> Verdict | OutputFault:
    checked = check_value(value, verdict_schema(accepts_tests=bool(disputed)), "a Review")
    if isinstance(checked, OutputFault):
        return checked
    review = checked.value
    if review["nonce"] != nonce:
        return OutputFault(
            "the verdict does not repeat the nonce of this request, so it may answer another one"
        )
    if review["tree"] != echo_of(tree):
        return OutputFault(
            f"the verdict is about tree {review['tree']}, but tree {echo_of(tree)} is under review"
        )
    findings = with_ids(review["findings"])
    verdict = Verdict(review["decision"], float(review["score"]), findings, tree, _summary(review))
    return _with_acceptance(verdict, disputed, review.get(ACCEPTED, ()))


def accepted_tests(verdict: Verdict, disputed: Sequence[Mapping[str, Any]]) -> list[str]:
    """The ids of the disputed tests that a verdict accepts."""
    refused = {finding["id"] for finding in verdict.findings}
    return [row["id"] for row in disputed if row["id"] not in refused] if verdict.decision != "abort" else []


def _with_acceptance(
    verdict: Verdict, disputed: Sequence[Mapping[str, Any]], accepted: Sequence[str]
) -> Verdict:
    """Each disputed test that is not accepted is a finding that no bar lets through."""
    missing = [row for row in disputed if row["id"] not in accepted]
    if not missing or verdict.decision == "abort":
        return verdict
    own = [finding for finding in verdict.findings if finding["id"] not in {row["id"] for row in missing}]
    return replace(verdict, decision="reject", findings=(*own, *map(_unaccepted, missing)))


def _unaccepted(row: Mapping[str, Any]) -> Mapping[str, Any]:
    named = row["test"] or ", ".join(row["files"])
    issue = f"the changed test is not accepted: {named} {row['problem']}"
    return {"id": row["id"], "severity": "critical", "issue": issue, "status": "open"}


def has_phrase(text: str, phrase: str, where: Literal["last_line", "anywhere"]) -> bool:
    """Whether an answer approves: its last line is exactly the phrase, or its words are somewhere in the answer.

    Anywhere, case does not count, nor does punctuation at the end of the phrase; a longer word does not have it.
    """
    if where == "last_line":
        lines = text.rstrip().splitlines()
        return bool(lines) and lines[-1] == phrase
    words = r"\s+".join(re.escape(word) for word in phrase.rstrip("!.?").split())
    return bool(words) and re.search(rf"(?<!\w){words}(?!\w)", text, re.IGNORECASE) is not None


def _rejection_by_text(text: str, tree: Tree | None) -> Verdict | OutputFault:
    """Where a phrase approves, any other text is a rejection and its only finding."""
    if not text.strip():
        return OutputFault("the reviewer's answer is empty")
    finding = {"severity": "major", "issue": text.strip()}
    return Verdict("reject", None, with_ids([finding]), tree, _short(text))


def _summary(review: Mapping[str, Any]) -> str:
    guidance = review.get("guidance")
    return f"{review['summary']}\n\n{guidance}" if guidance else str(review["summary"])


def _short(text: str) -> str:
    return text.strip()[:2000]


def with_ids(findings: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Give each finding a status and an id that stays the same in the next round."""
    used_ids: set[str] = set()
    result: list[Mapping[str, Any]] = []
    for finding in findings:
        given_id = str(finding.get("id") or "")
        base_id = given_id if _ID.fullmatch(given_id) else _id_of(finding)
        unique_id, number = base_id, 2
        while unique_id in used_ids:
            unique_id, number = f"{base_id}-{number}", number + 1
        used_ids.add(unique_id)
        result.append({**finding, "id": unique_id, "status": finding.get("status", "open")})
    return tuple(result)


def _id_of(finding: Mapping[str, Any]) -> str:
    """From file and wording only: line numbers move, and the reviewer may change the severity."""
    words = " ".join(str(finding.get("issue", "")).lower().split())
    digest = hashlib.sha256(f"{finding.get('path', '')}\0{words}".encode("utf-8", "surrogatepass"))
    return f"F{digest.hexdigest()[:6]}"
