"""A reviewer's answer as a verdict: only if it has the shape, answers this very request, and is about this tree."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from podium.core.payloads import Verdict
from podium.core.types import Tree
from podium.workflow.contracts.builtin import BUILTIN
from podium.workflow.contracts.contract import OutputFault, Structured, Value, check_value, read_json

NO_TREE: Final = "none"
"""What is repeated where there is no tree: outside of git."""
_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
_SCORES: Final = {"minimum": 1, "maximum": 10}


def review_schema() -> dict[str, Any]:
    """A Review that also repeats what binds it to its request."""
    review = BUILTIN["Review"]
    properties = {**review["properties"], "nonce": {"type": "string"}, "tree": {"type": "string"}}
    properties["score"] = {**properties["score"], **_SCORES}
    return {**review, "properties": properties, "required": [*review["required"], "nonce", "tree"]}


def echo_of(tree: Tree | None) -> str:
    return NO_TREE if tree is None else str(tree)


def verdict_of(
    text: str, structured: Structured, *, nonce: str, tree: Tree | None, phrase: str | None = None
) -> Verdict | OutputFault:
    """The verdict, or why there is none; whatever cannot be read is never an approval."""
    if phrase is not None and (spoken := _spoken(text, phrase, tree)) is not None:
        return spoken
    found = Value(structured[1]) if structured[0] else read_json(text)
    if isinstance(found, OutputFault):
        return found if phrase is None else _prose(text, tree)
    shaped = check_value(found.value, review_schema(), "a Review")
    if isinstance(shaped, OutputFault):
        return shaped
    review = shaped.value
    if review["nonce"] != nonce:
        return OutputFault(
            "the verdict does not repeat the nonce of this request, so it may answer another one"
        )
    if review["tree"] != echo_of(tree):
        return OutputFault(
            f"the verdict is about tree {review['tree']}, and {echo_of(tree)} was to be judged"
        )
    findings = identified(review["findings"])
    return Verdict(review["decision"], float(review["score"]), findings, tree, _summary(review))


def _spoken(text: str, phrase: str, tree: Tree | None) -> Verdict | None:
    """Approval by an exact last line, for texts that are judged without a schema."""
    lines = text.rstrip().splitlines()
    return Verdict("approve", None, (), tree, _short(text)) if lines and lines[-1] == phrase else None


def _prose(text: str, tree: Tree | None) -> Verdict | OutputFault:
    """Where a phrase approves, every other text is what the writer has to hear."""
    if not text.strip():
        return OutputFault("the reviewer said nothing")
    finding = {"severity": "major", "issue": text.strip()}
    return Verdict("reject", None, identified([finding]), tree, _short(text))


def _summary(review: Mapping[str, Any]) -> str:
    guidance = review.get("guidance")
    return f"{review['summary']}\n\n{guidance}" if guidance else str(review["summary"])


def _short(text: str) -> str:
    return text.strip()[:2000]


def identified(findings: Iterable[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
    """Each with an id that the same finding has again in the next round, and a status."""
    taken: set[str] = set()
    found: list[Mapping[str, Any]] = []
    for finding in findings:
        own = str(finding.get("id") or "")
        wanted = own if _ID.fullmatch(own) else _id_of(finding)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}-{number}", number + 1
        taken.add(name)
        found.append({**finding, "id": name, "status": finding.get("status", "open")})
    return tuple(found)


def _id_of(finding: Mapping[str, Any]) -> str:
    """By file and wording: lines move, and a reviewer that finds it again may weigh it otherwise."""
    words = " ".join(str(finding.get("issue", "")).lower().split())
    digest = hashlib.sha256(f"{finding.get('path', '')}\0{words}".encode("utf-8", "surrogatepass"))
    return f"F{digest.hexdigest()[:6]}"
