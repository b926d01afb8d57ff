"""Members of a fan-out beside each other, where each asks whether its work is taken, so that a person can pick one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from podium.core.addresses import without_numbers
from podium.core.types import Address, MicroUsd, Millis, Tree
from podium.views.format import dollars, duration
from podium.views.plain import short_id
from podium.views.run.view import Pending, RunView, StepView, comparison_base

if TYPE_CHECKING:
    from podium.views.evidence.evidence import Evidence, Proof


class FanOut(NamedTuple):
    path: Address
    """Without numbers."""
    picks_one: bool
    """Whether the first member that passes stops the others."""


class Member(NamedTuple):
    path: Address
    name: str
    status: str
    score: float | None
    passed: int
    """How many gates and reviewers have passed exactly its tree, of `judged`."""
    judged: int
    usd: MicroUsd
    unknown_calls: int
    took: Millis
    base: Tree | None
    tree: Tree | None
    question: Pending | None
    """What is asked about it, as about the others; None while it works, and once it is answered."""


def member_path(fan: FanOut, path: Address) -> Address:
    """The member of the fan-out that an address is inside of."""
    parts, depth = path.split("/"), fan.path.count("/") + 1
    if "[" in parts[depth - 1]:
        return Address("/".join(parts[:depth]))  # An iteration is part of the name of its loop: each[2]/work.
    return Address("/".join(parts[: depth + 1]).partition("#")[0])


def name_of(path: Address) -> str:
    return path.rpartition("/")[2]


def members_beside(
    view: RunView, fan: FanOut, pending: Pending, proofs: Sequence[Proof]
) -> tuple[Member, ...]:
    """All members of the fan-out in the order of the file; empty if only one exists."""
    own = member_path(fan, pending.path)
    steps = {step.path: step for step in view.steps}
    if own not in steps:
        return ()
    parent = steps[own].parent
    questions = {member_path(fan, each.path): each for each in view.pending if _is_same(each, pending)}
    siblings = [
        step for step in view.steps if step.parent == parent and step.role != "gates" and not step.stale
    ]
    members = tuple(_member(view, step, questions.get(step.path), proofs) for step in siblings)
    return members if len(members) > 1 else ()


def _is_same(other: Pending, pending: Pending) -> bool:
    """Whether it is the same question of the file, about another member."""
    return bool(other.actions) and name_of(other.path) == name_of(pending.path)


def _member(view: RunView, step: StepView, question: Pending | None, proofs: Sequence[Proof]) -> Member:
    tree = question.tree if question is not None else step.tree
    on_tree = {without_numbers(each.path): each for each in proofs if tree is not None and each.tree == tree}
    scores = [each.score for each in on_tree.values() if each.score is not None]
    return Member(
        path=step.path,
        name=name_of(step.path),
        status="waiting" if question is not None else step.outcome or step.status,
        score=sum(scores) / len(scores) if scores else step.score,
        passed=sum(each.passed for each in on_tree.values()),
        judged=len(on_tree),
        usd=step.usd,
        unknown_calls=step.unknown_calls,
        took=Millis(_worked(view, step, question)),
        base=step.base if question is None else comparison_base(view, question),
        tree=tree,
        question=question,
    )


def _worked(view: RunView, step: StepView, question: Pending | None) -> int:
    """Without the time for which it has waited for a person."""
    end = question.since if question is not None else step.ended or view.at
    return max(0, end - step.entered)


def member_lines(evidence: Evidence) -> Iterator[str]:
    """The same figures for each, so that one can be picked; a star marks the one that is asked about."""
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
