"""What a person needs to decide a question, the same for every frontend.

Rule: only proof about exactly the tree of the question counts. Results about other trees are kept apart and never counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from podium.core.addresses import without_numbers
from podium.core.events import ApprovalAsked, Event
from podium.core.types import Address, Level, Millis, Tree
from podium.views.evidence.decisions import Decision, about, decisions_of
from podium.views.evidence.members import FanOut, Member, members_beside
from podium.views.format import dollars, plural
from podium.views.run.attempts import AttemptView, attempts_of
from podium.views.run.findings import Finding, in_view, reviews_of
from podium.views.run.verdicts import verdicts_of
from podium.views.run.view import LimitView, Pending, RunView, StepView, comparison_base
from podium.views.text.next_steps import ACTIONS


class Proof(NamedTuple):
    """A gate, a reviewer or a check that judged a tree."""

    path: Address
    by: str
    """gate or reviewer."""
    outcome: str
    passed: bool
    tree: Tree | None
    seq: int
    score: float | None = None
    text: str = ""
    findings: tuple[Mapping[str, Any], ...] = ()


class Evidence(NamedTuple):
    view: RunView
    pending: Pending
    base: Tree | None
    tree: Tree | None
    """What the question is about; for an exhausted step, which has no tree of its own, what its last attempt left."""
    gates: tuple[Proof, ...]
    """The newest result of each gate on exactly this tree."""
    gates_before: tuple[Proof, ...]
    """The newest result of each gate that has not judged this tree."""
    verdicts: tuple[Proof, ...]
    verdicts_before: tuple[Proof, ...]
    judged: tuple[Proof, ...]
    """All results of gates and reviewers, on any tree, in order."""
    findings: tuple[Finding, ...]
    """Of all rounds, with the state of each."""
    attempts: tuple[AttemptView, ...]
    """The attempts of agents and people, oldest first."""
    decisions: tuple[Decision, ...]
    """Earlier answers to this question, oldest first."""
    level: Level | None
    """How the workflow asks: it was told, may be vetoed, or has to be answered."""
    consequences: Mapping[str, str]
    """What each action leads to, in words."""
    members: tuple[Member, ...] = ()
    """The members of a fan-out beside the one that is asked about, itself included."""
    picks_one: bool = False
    """Whether approving this member stops the others."""

    @property
    def member(self) -> Member | None:
        """The one that is asked about."""
        return next((each for each in self.members if each.question == self.pending), None)

    @property
    def last_decision(self) -> Decision | None:
        """The newest answer to this question about another tree."""
        return next((each for each in reversed(self.decisions) if each.tree != self.tree), None)

    def faults_of(self, attempt: AttemptView) -> tuple[Proof, ...]:
        """What gates and reviewers had against the tree that an attempt left."""
        if attempt.tree is None or attempt.tree == attempt.base:
            return ()
        return tuple(each for each in self.judged if each.tree == attempt.tree and not each.passed)

    @property
    def limits(self) -> tuple[LimitView, ...]:
        return self.view.limits


def evidence_of(
    view: RunView,
    pending: Pending,
    events: Sequence[Event],
    causes: Mapping[int, str],
    leads_to: Mapping[str, str],
    fan_out: FanOut | None = None,
) -> Evidence:
    is_left = view.status in ("interrupted", "parked")
    attempts = tuple(each for each in attempts_of(events, left=is_left) if each.worker or each.calls)
    tree = pending.tree or _last_tree(attempts, pending.path)
    proofs = tuple(_proofs(view, events))
    gates, gates_before = _split([each for each in proofs if each.by == "gate"], tree)
    verdicts, verdicts_before = _split([each for each in proofs if each.by == "reviewer"], tree)
    requests = [each for each in events if isinstance(each, ApprovalAsked) and each.path == pending.path]
    return Evidence(
        view=view,
        pending=pending,
        base=comparison_base(view, pending),
        tree=tree,
        gates=gates,
        gates_before=gates_before,
        verdicts=verdicts,
        verdicts_before=verdicts_before,
        judged=proofs,
        findings=tuple(each for review in reviews_of(in_view(view.steps)) for each in review.findings),
        attempts=attempts,
        decisions=about(decisions_of(events, causes), pending.path),
        level=requests[-1].level if requests else None,
        consequences=dict(_consequences(pending, leads_to)),
        members=() if fan_out is None else members_beside(view, fan_out, pending, proofs),
        picks_one=fan_out is not None and fan_out.picks_one,
    )


def _consequences(pending: Pending, leads_to: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for action in pending.actions:
        words = leads_to.get(action) or ACTIONS.get(action, "").removeprefix("to ")
        if words:
            yield action, words


def _last_tree(attempts: Sequence[AttemptView], path: Address) -> Tree | None:
    """What the last attempt of the step around a question left, for the questions that have no tree."""
    around = [each.tree for each in attempts if path.startswith(each.path) and each.tree is not None]
    return around[-1] if around else None


def _proofs(view: RunView, events: Iterable[Event]) -> Iterator[Proof]:
    steps = {step.path: step for step in view.steps}
    for row in verdicts_of(events):
        if row["by"] not in ("gate", "reviewer"):
            continue
        step = steps.get(Address(row["step"]))
        outcome = str(row.get("decision") or row["outcome"])
        yield Proof(
            path=Address(row["step"]),
            by=row["by"],
            outcome=outcome,
            passed=outcome in ("passed", "approve"),
            tree=row["tree"],
            seq=row["seq"],
            score=row.get("score"),
            text=str(row.get("summary") or ("" if step is None else _words(step))),
            findings=tuple(row.get("findings") or ()),
        )


def _words(step: StepView) -> str:
    return step.why or step.words


def _split(proofs: Sequence[Proof], tree: Tree | None) -> tuple[tuple[Proof, ...], tuple[Proof, ...]]:
    """The newest of each on this tree, and the newest of each of the others."""
    on_tree = {without_numbers(each.path): each for each in proofs if tree is not None and each.tree == tree}
    before = {
        without_numbers(each.path): each for each in proofs if without_numbers(each.path) not in on_tree
    }
    return tuple(on_tree.values()), tuple(before.values())


def facts(evidence: Evidence, files: int, lines: tuple[int, int]) -> tuple[str, ...]:
    """The facts of a decision in a few words each, the most important first."""
    view, working = evidence.view, len(evidence.attempts)
    passed = sum(each.passed for each in evidence.gates)
    approved = sum(each.passed for each in evidence.verdicts)
    usd = next((limit for limit in evidence.limits if limit.unit == "usd"), None)
    cost = dollars(view.usd) + ("" if usd is None else f" of {dollars(usd.limit * 1_000_000)}")
    unknown = f" and {plural(view.unknown_calls, 'call')} of unknown cost" if view.unknown_calls else ""
    return (
        f"{plural(files, 'file')}, +{lines[0]} -{lines[1]}" if evidence.tree is not None else "no files",
        f"{passed} of {plural(len(evidence.gates), 'gate')} passed on this tree"
        if evidence.gates
        else "no gate has judged this tree",
        *(
            (f"{approved} of {plural(len(evidence.verdicts), 'reviewer')} approved it",)
            if evidence.verdicts
            else ()
        ),
        f"{cost}{unknown}",
        plural(working, "attempt"),
    )


def elapsed_since(pending: Pending, now: Millis) -> Millis:
    return Millis(max(0, now - pending.since))
