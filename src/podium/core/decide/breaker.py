"""The breaker's soft rules, which stop a run that goes in circles; checked just before a step of a block is entered.

They apply only to moves that could repeat without end: a step that is entered again, or a total that has become too
large. Rules about content compare the results of the step's last visits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from podium.core import ledger
from podium.core.addresses import ROOT, child
from podium.core.events import StepEnded
from podium.core.model import Agent, Review, Step
from podium.core.policy import Breaker, Failures
from podium.core.queries.graph import JUDGES, body_of, child_step, fresh_children, workflow_of
from podium.core.queries.step_failures import FAILURES, count_failures, suspects
from podium.core.state import Instance, Leaf, Ledger, Placement, Scope, State
from podium.core.types import Address, Outcome, Tree

PAST_KEPT: Final = 8
"""How many visits the rules look back at, unless a rule needs more."""


class VisitHistory(NamedTuple):
    """The result of one visit of a step, as far as the rules need it."""

    path: Address
    digest: str
    tree: Tree | None
    score: float | None
    similarity_percent: int | None
    spread: float
    outcome: Outcome
    judged: Tree | None
    """The tree that a review judged."""
    findings: tuple[Mapping[str, Any], ...]


def first_rule_hit(state: State, scope: Scope, step: Step, index: int, visit: int) -> str | None:
    """The name of the first rule that this entry hits; None if it hits none."""
    rules = workflow_of(state, scope.place).breaker
    if gates_disagree(state, scope, rules):
        return "disagree"
    if visit > 1:
        visits = step.retry.visits if step.retry.visits is not None else rules.visits
        if visits is not None and visit > visits:
            return "visits"
        if rules.cycle is not None and is_cycle(scope.recent_children, index, rules.cycle):
            return "cycle"
        if rules.failures is not None and _has_failed_often(state, scope, index, rules.failures):
            return FAILURES
        if rules.sent_back is not None and scope.jump == index and visit > rules.sent_back:
            return "sent_back"
        # Only on a jump back: a step that follows an accepted version is not checked again.
        hit = next(_content_rules(state, scope, index, rules), None) if scope.jump == index else None
        if hit is not None:
            return hit
    return next(_total_rules(state, rules), None) if scope.next and _has_total_rules(rules) else None


def is_cycle(trail: tuple[int, ...], following: int, times: int) -> bool:
    """Whether a sequence of steps, of any length, has been repeated `times` times and is about to start again.

    The check is at the start of the sequence, so that the last round is complete and its work has been judged.
    """
    for length in range(1, len(trail) // times + 1):
        window = trail[-length * times :]
        periodic = all(window[i] == window[i - length] for i in range(length, len(window)))
        if periodic and following == window[0] and _goes_back((*window, following)):
            return True
    return False


def _goes_back(window: tuple[int, ...]) -> bool:
    return any(later <= earlier for earlier, later in pairwise(window))


def _content_rules(state: State, scope: Scope, index: int, rules: Breaker) -> Iterator[str]:
    """Rules about the earlier visits of the step and of the step that jumped back to it."""
    if not any((rules.repeat, rules.similar, rules.plateau, rules.reversals, rules.disagree)):
        return
    for past in _histories(state, scope, index, _reach(rules)):
        if rules.repeat is not None and _repeats(past) >= rules.repeat:
            yield "repeat"
        newest = past[-1]
        if rules.similar is not None and len(past) >= 3 and (newest.similarity_percent or 0) >= rules.similar:
            yield "similar"
        if rules.plateau is not None and plateau(past) >= rules.plateau:
            yield "plateau"
        if rules.reversals is not None and reversals(past) >= rules.reversals:
            yield "reversals"
        if rules.disagree is not None and newest.spread >= rules.disagree:
            yield "disagree"


def _reach(rules: Breaker) -> int:
    """How many visits to look at so that every rule can be hit."""
    return max(PAST_KEPT, *((number or 0) + 1 for number in (rules.repeat, rules.plateau, rules.reversals)))


def _histories(state: State, scope: Scope, index: int, reach: int) -> Iterator[tuple[VisitHistory, ...]]:
    slots = [index]
    if scope.last is not None and state.instances[scope.last].place.index > index:
        slots.append(state.instances[scope.last].place.index)
    for slot in slots:
        past = tuple(_history_of(visit) for visit in _visits(state, scope, slot, 2 * reach))[-reach:]
        if past:
            yield past


def _visits(state: State, scope: Scope, index: int, newest_only: int | None = None) -> Iterator[Instance]:
    """The ended visits of a block's step that were not skipped, oldest first; `newest_only` limits how far back."""
    newest = state.latest.get((scope.place.path, index))
    if newest is None:
        return
    step = child_step(state, scope, "step", index, "")
    first = 1 if newest_only is None else max(1, newest.number - newest_only)
    for number in range(first, newest.number + 1):
        visit = state.instances[child(scope.place.path, step.name, number)]
        if visit.ending is not None and visit.ending.outcome != "skipped":
            yield visit


def _history_of(visit: Instance) -> VisitHistory:
    ending = visit.ending
    assert ending is not None
    # Only the answers of working agents are compared; a test or a reviewer may well answer the same twice.
    verb = visit.place.step.verb
    works = isinstance(verb, Agent) and not verb.judge
    answer = visit.answer if isinstance(visit, Leaf) and works else None
    result = ending.result if isinstance(visit, Scope) and ending.result is not None else {}
    return VisitHistory(
        path=ending.path,
        digest="" if answer is None else answer.digest,
        tree=ending.tree,
        score=ending.score,
        similarity_percent=None if answer is None else answer.similarity_percent,
        spread=float(result.get("spread", 0)),
        outcome=ending.outcome,
        judged=(result.get("verdict") or {}).get("tree"),
        findings=tuple(result.get("findings") or ()),
    )


def _repeats(past: tuple[VisitHistory, ...]) -> int:
    """How many visits ended with the same content as the newest, even with others in between."""
    newest = past[-1]
    if not newest.digest:
        return 0
    count = sum((p.digest, p.tree) == (newest.digest, newest.tree) for p in past)
    return count if count > 1 else 0


def reversals(past: tuple[VisitHistory, ...]) -> int:
    """How often reviewers contradicted themselves.

    A finding says that it reverses an earlier one, a fixed finding is open again, or the same tree gets another verdict.
    """
    fixed: set[str] = set()
    verdicts: dict[Tree, Outcome] = {}
    count = 0
    for visit in past:
        for finding in visit.findings:
            name, is_open = str(finding.get("id", "")), finding.get("status", "open") != "fixed"
            count += bool(finding.get("reverses")) or (is_open and name in fixed)
            (fixed.discard if is_open else fixed.add)(name)
        if visit.judged is not None and visit.outcome in ("passed", "rejected"):
            count += verdicts.get(visit.judged, visit.outcome) != visit.outcome
            verdicts[visit.judged] = visit.outcome
    return count


def plateau(past: tuple[VisitHistory, ...]) -> int:
    """Rounds since the best score was reached."""
    scores = [p.score for p in past if p.score is not None]
    if not scores:
        return 0
    return len(scores) - 1 - scores.index(max(scores))


def _has_total_rules(rules: Breaker) -> bool:
    return any((rules.transitions, rules.time, rules.usd, rules.tokens, rules.calls, rules.near))


def _total_rules(state: State, rules: Breaker) -> Iterator[str]:
    """Rules about the whole run; each asks only once, because a total never decreases."""
    book = state.ledgers[ROOT]
    used = ledger.total(book)
    worked = ledger.working_time(book, state.at)
    for name, limit, value in (
        ("transitions", rules.transitions, book.transitions),
        ("time", rules.time, worked),
        ("usd", rules.usd, used.usd),
        ("tokens", rules.tokens, used.tokens),
        ("calls", rules.calls, used.calls),
    ):
        if limit is not None and value >= limit and name not in state.waived_rules:
            yield name
    if rules.near is not None and "near" not in state.waived_rules and is_near(state, book, rules.near):
        yield "near"


def _has_failed_often(state: State, scope: Scope, index: int, rule: Failures) -> bool:
    """Whether one of the steps concerned had this many failed attempts within the period."""
    recent = [failure for failure in state.failures if failure.at > state.at - rule.within]
    return any(count_failures(recent, step) >= rule.count for step in suspects(state, scope, index))


def is_near(state: State, book: Ledger, percent: int) -> bool:
    """Whether this percentage of any hard limit of the run is used."""
    used, limits = ledger.total(book), book.limits
    pairs = (
        (limits.usd, used.usd),
        (limits.tokens, used.tokens),
        (limits.calls, used.calls),
        (limits.time, ledger.working_time(book, state.at)),
        (limits.transitions, book.transitions),
    )
    return any(limit is not None and value * 100 >= limit * percent for limit, value in pairs)


def gates_disagree(state: State, scope: Scope, rules: Breaker) -> bool:
    """Whether the review that has just ended and another one of this block gave the same work scores that far apart."""
    last = None if scope.last is None else state.instances[scope.last]
    least = rules.disagree
    if least is None or last is None or last.ending is None or not isinstance(last.place.step.verb, Review):
        return False
    score, judged = last.ending.score, set(last.place.step.verb.of)
    others = (child for child in fresh_children(state, scope) if child.place.path != last.place.path)
    return score is not None and any(
        isinstance(other.place.step.verb, Review)
        and judged & set(other.place.step.verb.of)
        and other.ending is not None
        and other.ending.score is not None
        and abs(other.ending.score - score) >= least
        for other in others
    )


def accepted_verdict(state: State, scope: Scope, step: Step, index: int) -> Address | None:
    """The earlier round of a review whose work was accepted by a decision: the review is not asked about it again."""
    if not isinstance(step.verb, Review) or not step.verb.of:
        return None
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    indexes = {} if body is None else body.index
    newest = [state.latest.get((scope.place.path, indexes.get(name, -1))) for name in step.verb.of]
    visits = [state.instances[visit.path] for visit in newest if visit is not None]
    if len(visits) < len(newest) or not all(visit.place.adopt is not None for visit in visits):
        return None
    return best_visit(state, scope, index)


def best_visit(
    state: State, scope: Scope, index: int, candidates: tuple[Address, ...] = ()
) -> Address | None:
    """The passed visit with the highest score, else the newest that passed; with `candidates`, only one of these addresses.

    The score of a visit is that of its own gates, else that of the reviews in this block that judged its tree.
    """
    best: tuple[float, Address] | None = None
    by_visit, by_tree = _scores_of_visits(state, scope, index), _scores(state, scope)
    for ending in passed_visits(state, scope, index):
        if candidates and ending.path not in candidates:
            continue
        judged = by_visit.get(ending.path, by_tree.get(ending.tree, -1.0))
        score = judged if ending.score is None else ending.score
        if best is None or score >= best[0]:
            best = score, ending.path
    return None if best is None else best[1]


def passed_visits(state: State, scope: Scope, index: int) -> tuple[StepEnded, ...]:
    """The ends of the visits of a step that passed, oldest first; of a review also those that rejected."""
    step = child_step(state, scope, "step", index, "")
    outcomes = ("passed", "rejected") if isinstance(step.verb, Review) else ("passed",)
    endings = [visit.ending for visit in _visits(state, scope, index)]
    return tuple([ending for ending in endings if ending is not None and ending.outcome in outcomes])


def _scores_of_visits(state: State, scope: Scope, index: int) -> dict[Address, float]:
    """The newest score that the reviews of this block gave to each visit of a step."""
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    steps = () if body is None else body.steps
    works = list(_visits(state, scope, index))
    scores: dict[Address, float] = {}
    for number, step in enumerate(steps):
        if not isinstance(step.verb, Review) or steps[index].name not in step.verb.of:
            continue
        for review in _visits(state, scope, number):
            judged = [work for work in works if work.place.entered <= review.place.entered]
            if judged and review.ending is not None and review.ending.score is not None:
                scores[judged[-1].place.path] = review.ending.score
    return scores


def _scores(state: State, scope: Scope) -> dict[Tree | None, float]:
    """The newest score that the reviews of this block gave to each tree."""
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    scores: dict[Tree | None, float] = {}
    for index, step in enumerate(() if body is None else body.steps):
        for visit in _visits(state, scope, index) if isinstance(step.verb, Review) else ():
            past = _history_of(visit)
            if past.judged is not None and past.score is not None:
                scores[past.judged] = past.score
    return scores


def wants_advice(state: State, leaf: Leaf) -> bool:
    """Whether the rule about attempts within one visit is hit; it does not apply to gates, reviewers and advisors."""
    rules = workflow_of(state, leaf.place).breaker
    return rules.retries is not None and leaf.tries + 1 == rules.retries and _works(state, leaf.place)


def _works(state: State, place: Placement) -> bool:
    """Whether neither this instance nor an enclosing one is a gate, a review, or one of the engine's own questions."""
    while place.path != ROOT:
        if place.role in ("question", "advice") or isinstance(place.step.verb, JUDGES):
            return False
        place = state.instances[place.parent].place
    return True
