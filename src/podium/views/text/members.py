"""Members of a fan-out as lines: the same figures for each, so that one can be picked."""

from __future__ import annotations

from collections.abc import Iterator

from podium.views.evidence.evidence import Evidence
from podium.views.evidence.members import Member
from podium.views.format import dollars, duration
from podium.views.plain import short_id


def member_lines(evidence: Evidence) -> Iterator[str]:
    for each in evidence.members:
        mark = "*" if each.question == evidence.pending else "-"
        yield f"{mark} {each.name}: {', '.join(_facts(each))}"


def _facts(member: Member) -> Iterator[str]:
    yield member.status.replace("_", " ")
    if member.score is not None:
        yield f"score {member.score:g}"
    if member.judged:
        yield f"{member.passed} of {member.judged} passed it"
    yield dollars(member.usd) + ("?" if member.unknown_calls else "")
    yield duration(member.took)
    if member.tree is not None:
        yield f"tree {short_id(member.tree)}"
