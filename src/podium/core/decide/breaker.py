"""The soft rules: when a run goes in circles, stop and ask. Looked at just before a step of a block is entered.

Only moves that could go on for ever are questioned: a step that is entered again, or a total that has grown too
large. Rules about content look at what the last visits of the step amounted to.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

from podium.core import ledger
from podium.core.addresses import ROOT, child
from podium.core.events import StepEnded
from podium.core.model import Agent, Review, Step
from podium.core.policy import Breaker
from podium.core.queries.graph import JUDGES, body_of, child_step, workflow_of
from podium.core.state import Instance, Leaf, Ledger, Placement, Scope, State
from podium.core.types import Outcome, Path, Tree

PAST_KEPT: Final = 8
"""How many visits the rules look back at, unless one of them counts further."""


class VisitHistory(NamedTuple):
    """What one visit of a step amounted to."""

    path: Path
    digest: str
    tree: Tree | None
    score: float | None
    likeness: int | None
    spread: float
    outcome: Outcome
    judged: Tree | None
    """The tree that a review was about."""
    findings: tuple[Mapping[str, Any], ...]


def objection(state: State, scope: Scope, step: Step, index: int, visit: int) -> str | None:
    """The first rule that is hit by this entry, by name."""
    rules = workflow_of(state, scope.place).breaker
    if visit > 1:
        visits = step.retry.visits if step.retry.visits is not None else rules.visits
        if visits is not None and visit > visits:
            return "visits"
        if rules.cycle is not None and is_cycle(scope.trail, index, rules.cycle):
            return "cycle"
        # On the way back only: what follows a version that was taken on purpose is not questioned again.
        hit = next(_content(state, scope, index, rules), None) if scope.jump == index else None
        if hit is not None:
            return hit
    return next(_totals(state, rules), None) if scope.next and _counts_totals(rules) else None


def is_cycle(trail: tuple[int, ...], following: int, times: int) -> bool:
    """Whether the same sequence of steps, of any length, has been gone through that often and would begin again.

    Asked at its beginning, so that the last round is whole: its work has been judged before anybody is asked.
    """
    for length in range(1, len(trail) // times + 1):
        window = trail[-length * times :]
        periodic = all(window[i] == window[i - length] for i in range(length, len(window)))
        if periodic and following == window[0] and _goes_back((*window, following)):
            return True
    return False


def _goes_back(window: tuple[int, ...]) -> bool:
    return any(later <= earlier for earlier, later in pairwise(window))


def _content(state: State, scope: Scope, index: int, rules: Breaker) -> Iterator[str]:
    """Rules about the visits so far of the step and of whoever sent control back to it."""
    if not any((rules.repeat, rules.similar, rules.plateau, rules.reversals, rules.disagree)):
        return
    for past in _histories(state, scope, index, _reach(rules)):
        if rules.repeat is not None and _repeats(past) >= rules.repeat:
            yield "repeat"
        newest = past[-1]
        if rules.similar is not None and len(past) >= 3 and (newest.likeness or 0) >= rules.similar:
            yield "similar"
        if rules.plateau is not None and plateau(past) >= rules.plateau:
            yield "plateau"
        if rules.reversals is not None and reversals(past) >= rules.reversals:
            yield "reversals"
        if rules.disagree is not None and newest.spread >= rules.disagree:
            yield "disagree"


def _reach(rules: Breaker) -> int:
    """How many visits have to be looked at, so that each rule can be hit."""
    return max(PAST_KEPT, *((number or 0) + 1 for number in (rules.repeat, rules.plateau, rules.reversals)))


def _histories(state: State, scope: Scope, index: int, reach: int) -> Iterator[tuple[VisitHistory, ...]]:
    slots = [index]
    if scope.last is not None and state.instances[scope.last].place.slot > index:
        slots.append(state.instances[scope.last].place.slot)
    for slot in slots:
        past = tuple(_past(visit) for visit in _visits(state, scope, slot, 2 * reach))[-reach:]
        if past:
            yield past


def _visits(state: State, scope: Scope, index: int, newest_only: int | None = None) -> Iterator[Instance]:
    """The visits of a step of a block that came to something, oldest first; all, or among that many of the newest."""
    newest = state.latest.get((scope.place.path, index))
    if newest is None:
        return
    step = child_step(state, scope, "step", index, "")
    first = 1 if newest_only is None else max(1, newest.number - newest_only)
    for number in range(first, newest.number + 1):
        visit = state.instances[child(scope.place.path, step.name, number)]
        if visit.ending is not None and visit.ending.outcome != "skipped":
            yield visit


def _past(visit: Instance) -> VisitHistory:
    ending = visit.ending
    assert ending is not None
    # Only work can repeat itself: a test that says the same twice is as it should be.
    verb = visit.place.step.verb
    works = isinstance(verb, Agent) and not verb.judge
    answer = visit.answer if isinstance(visit, Leaf) and works else None
    result = ending.result if isinstance(visit, Scope) and ending.result is not None else {}
    return VisitHistory(
        path=ending.path,
        digest="" if answer is None else answer.digest,
        tree=ending.tree,
        score=ending.score,
        likeness=None if answer is None else answer.likeness,
        spread=float(result.get("spread", 0)),
        outcome=ending.outcome,
        judged=(result.get("verdict") or {}).get("tree"),
        findings=tuple(result.get("findings") or ()),
    )


def _repeats(past: tuple[VisitHistory, ...]) -> int:
    """How many visits ended with exactly the newest content, also with others in between: to and fro is no way on."""
    newest = past[-1]
    if not newest.digest:
        return 0
    count = sum((p.digest, p.tree) == (newest.digest, newest.tree) for p in past)
    return count if count > 1 else 0


def reversals(past: tuple[VisitHistory, ...]) -> int:
    """How often reviewers took back what they had said: in their own words, by calling open again what they had called
    fixed, or by judging the same tree the other way."""
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


def _counts_totals(rules: Breaker) -> bool:
    return any(
        (rules.transitions, rules.time, rules.usd, rules.tokens, rules.calls, rules.near, rules.failures)
    )


def _totals(state: State, rules: Breaker) -> Iterator[str]:
    """Rules about the whole run; each asks once, since a total never shrinks."""
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
        if limit is not None and value >= limit and name not in state.excused:
            yield name
    if rules.near is not None and "near" not in state.excused and is_near(state, book, rules.near):
        yield "near"
    failures = rules.failures
    if failures is not None and "failures" not in state.excused:
        recent = [at for at in state.failures if at > state.at - failures.within]
        if len(recent) >= failures.count:
            yield "failures"


def is_near(state: State, book: Ledger, percent: int) -> bool:
    """Whether any hard limit of the run is used to this share."""
    used, limits = ledger.total(book), book.limits
    pairs = (
        (limits.usd, used.usd),
        (limits.tokens, used.tokens),
        (limits.calls, used.calls),
        (limits.time, ledger.working_time(book, state.at)),
        (limits.transitions, book.transitions),
    )
    return any(limit is not None and value * 100 >= limit * percent for limit, value in pairs)


def best_visit(state: State, scope: Scope, index: int, wanted: tuple[Path, ...] = ()) -> Path | None:
    """The visit of a step that is taken when no further one is allowed: highest score, else the newest that passed.
    Only the wanted one counts if somebody has named it; several addresses may mean it.

    The score is that of its own gates, else of the reviews in this block that judged its tree.
    """
    best: tuple[float, Path] | None = None
    scores = _scores(state, scope)
    for ending in passed_visits(state, scope, index):
        if wanted and ending.path not in wanted:
            continue
        score = scores.get(ending.tree, -1.0) if ending.score is None else ending.score
        if best is None or score >= best[0]:
            best = score, ending.path
    return None if best is None else best[1]


def passed_visits(state: State, scope: Scope, index: int) -> tuple[StepEnded, ...]:
    """How the visits of a step ended whose result could be taken, oldest first."""
    endings = [visit.ending for visit in _visits(state, scope, index)]
    return tuple([ending for ending in endings if ending is not None and ending.outcome == "passed"])


def _scores(state: State, scope: Scope) -> dict[Tree | None, float]:
    """What the reviews of this block gave to each tree, the newest verdict last."""
    body = body_of(scope.place.step.verb)  # type: ignore[arg-type]  # the verb of a Scope is a ScopeVerb
    found: dict[Tree | None, float] = {}
    for index, step in enumerate(() if body is None else body.steps):
        for visit in _visits(state, scope, index) if isinstance(step.verb, Review) else ():
            past = _past(visit)
            if past.judged is not None and past.score is not None:
                found[past.judged] = past.score
    return found


def wants_advice(state: State, leaf: Leaf) -> bool:
    """The rule about attempts within one visit of a step that works: whoever judges or advises is not advised."""
    rules = workflow_of(state, leaf.place).breaker
    return rules.retries is not None and leaf.tries + 1 == rules.retries and _works(state, leaf.place)


def _works(state: State, place: Placement) -> bool:
    """Whether neither this instance nor one around it is a gate, a reviewer, or one of the engine's own questions."""
    while place.path != ROOT:
        if place.role in ("question", "advice") or isinstance(place.step.verb, JUDGES):
            return False
        place = state.instances[place.parent].place
    return True
