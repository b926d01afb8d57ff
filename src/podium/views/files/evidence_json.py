"""The evidence of a question as JSON: what `podium inbox --json` prints and every frontend shows."""

from __future__ import annotations

from typing import Any

from podium.views.evidence.decisions import Decision
from podium.views.evidence.evidence import Evidence, Proof
from podium.views.evidence.members import Member
from podium.views.files.run_json import DOLLAR
from podium.views.format import iso, iso_or_none
from podium.views.run.attempts import AttemptView, outcome_of


def evidence_data(evidence: Evidence) -> dict[str, Any]:
    last = evidence.last_decision
    return {
        "base": evidence.base,
        "tree": evidence.tree,
        "level": evidence.level,
        "gates": [_proof(each) for each in evidence.gates],
        "gates_before": [_proof(each) for each in evidence.gates_before],
        "verdicts": [_proof(each) for each in evidence.verdicts],
        "verdicts_before": [_proof(each) for each in evidence.verdicts_before],
        "findings": [finding._asdict() for finding in evidence.findings],
        "attempts": [attempt_data(each) for each in evidence.attempts],
        "decisions": [decision_data(each) for each in evidence.decisions],
        "last_decision": None if last is None else decision_data(last),
        "consequences": dict(evidence.consequences),
        "members": [_member(each) for each in evidence.members],
        "picks_one": evidence.picks_one,
    }


def _member(member: Member) -> dict[str, Any]:
    return {
        "path": member.path,
        "status": member.status,
        "score": member.score,
        "passed": member.passed,
        "judged": member.judged,
        "cost_usd": None if member.unknown_calls else member.usd / DOLLAR,
        "time_s": member.took / 1000,
        "base": member.base,
        "tree": member.tree,
        "question": None if member.question is None else member.question.path,
    }


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "path": proof.path,
        "outcome": proof.outcome,
        "passed": proof.passed,
        "tree": proof.tree,
        "score": proof.score,
        "text": proof.text,
        "findings": [dict(each) for each in proof.findings],
    }


def attempt_data(attempt: AttemptView) -> dict[str, Any]:
    return {
        "path": attempt.path,
        "number": attempt.number,
        "worker": attempt.worker,
        "outcome": outcome_of(attempt),
        "reason": attempt.reason,
        "started_at": iso(attempt.started),
        "ended_at": iso_or_none(attempt.ended),
        "cost_usd": None if attempt.unknown_calls else attempt.usd / DOLLAR,
        "tokens": attempt.tokens,
        "base": attempt.base,
        "tree": attempt.tree,
    }


def decision_data(decision: Decision) -> dict[str, Any]:
    return {
        "at": iso(decision.at),
        "by": decision.by,
        "channel": decision.channel,
        "action": decision.action,
        "text": decision.text,
        "tree": decision.tree,
        "opened": list(decision.opened),
        "hasty": decision.is_hasty,
        "present": decision.present,
    }
