"""Enters a child: its visit, trees and feedback, and whether limits or the breaker prevent it.

ScopeEnd says how a scope's own work ended, before gates, retries, approvals and `finally` apply.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, NamedTuple

from podium.core import addresses, ledger
from podium.core.decide import breaker
from podium.core.decide.admission import claim_for, width
from podium.core.decide.limit_text import limit_message
from podium.core.events import StepEnded, StepEntered
from podium.core.model import Git, Step
from podium.core.queries.branch_trees import base_in_graph, base_of_adopted, earlier_writers, tree_of
from podium.core.queries.claims import Claim, overlap
from podium.core.queries.graph import (
    BLOCKS,
    HALTED,
    LOOPS,
    TOGETHER,
    builders_on,
    child_step,
    target_after,
)
from podium.core.queries.rebases import rebase_for
from podium.core.state import Instance, Leaf, Ledger, Scope, State, number_of
from podium.core.types import CONTINUING_OUTCOMES, ONTO, TO_A_PERSON, Address, Millis, Outcome, Reason, Tree


class ScopeEnd(NamedTuple):
    outcome: Outcome
    reason: Reason = ""
    exit: int = 0
    message: str = ""
    breaks_loop: bool = False
    limit_hit: Address | None = None
    result: Mapping[str, Any] | None = None
    score: float | None = None
    feedback: tuple[Address, ...] = ()
    final: bool = False
    """True if a decision ends the scope: it gets no further attempt."""


FEEDBACK_KEPT: Final = 32
"""How many of the newest feedback items a step gets; earlier visits had the older ones."""


class PendingEntry(NamedTuple):
    """An entry about to happen: child index, visit number, previous visit, and siblings it makes stale."""

    slot: int
    visit: int
    previous: Instance | None
    stale: tuple[int, ...]
    claim: Claim
    after: tuple[int, ...]
    keeps_head: bool
    """True if a step that passed leads back here."""


def enter_child(
    state: State,
    scope: Scope,
    index: int,
    now: Millis,
    *,
    excused: bool = False,
    adopt: Address | None = None,
    proceed: int = -1,
    claim: Claim | None = None,
) -> StepEntered | ScopeEnd:
    """Enter the child at `index`, unless a limit refuses it or a rule of the breaker must be asked about first.

    `adopt` is the earlier visit whose result this visit takes instead of working, `proceed` the child that follows it;
    `claim` are the files it claims, if they have been computed already.
    """
    step = child_step(state, scope, "step", index, "")
    if adopt is None:
        adopt = breaker.accepted_verdict(state, scope, step, index)
    before = state.latest.get((scope.place.path, index))
    visit = 1 if before is None else before.number + 1
    if ledger.counts_as_transition("step", scope.place, index=index, visit=visit):
        refusal = _transition_limit_end(state, scope)
        if refusal is not None:
            return refusal
    previous = None if before is None else state.instances[before.path]
    if claim is None:
        claim = claim_for(state, scope, index)
    stale = _stale(state, scope, index)
    after = earlier_writers(state, scope, index, claim, stale) if scope.place.order == "dag" else ()
    pending = PendingEntry(index, visit, previous, stale, claim, after, _keeps_head(state, scope, stale))
    if adopt is None and not excused and isinstance(scope.place.step.verb, BLOCKS):
        rule = breaker.first_rule_hit(state, scope, step, index, visit)
        if rule is not None:
            return _after_rule_hit(state, scope, step, pending, rule, now)
    event = _entry_event(state, scope, step, pending, now, adopt=adopt)
    return event if proceed < 0 else replace(event, proceed=proceed)


def _child_path(scope: Scope, step: Step, index: int, visit: int) -> Address:
    if isinstance(scope.place.step.verb, LOOPS):
        return addresses.iteration(scope.place.path, index + 1, visit)
    return addresses.child(scope.place.path, step.name, visit)


def _stale(state: State, scope: Scope, index: int) -> tuple[int, ...]:
    """The children that a jump back makes stale: in a sequence all from there on, in a graph all that need it."""
    match scope.place.order:
        case "seq":
            return tuple(range(index, scope.next))
        case "dag" if scope.jump == index:
            return builders_on(state, scope, index)
        case _:
            return ()


def _keeps_head(state: State, scope: Scope, stale: tuple[int, ...]) -> bool:
    """Whether a step of a sequence that passed leads back: its work stays, unlike that of a step that failed."""
    if (
        scope.place.order != "seq"
        or not stale
        or scope.last is None
        or scope.last not in scope.outgoing_feedback
    ):
        return False
    ending = state.instances[scope.last].ending
    return ending is not None and ending.outcome in CONTINUING_OUTCOMES


def _transition_limit_end(state: State, parent: Instance) -> ScopeEnd | None:
    exhausted = ledger.exhausted_transitions(state, parent.place.ledger)
    if exhausted is None:
        return None
    message = limit_message(exhausted, "transitions", state.at)
    return ScopeEnd("failed", "limit", 5, limit_hit=exhausted.path, message=message)


def hard_stop(state: State, limit_hit: Address, message: str = "") -> ScopeEnd:
    """The end of a scope because of a hard limit or a decision to halt, which no route can override."""
    if state.halt is not None and limit_hit == addresses.ROOT:
        return ScopeEnd("failed", HALTED, state.halt.exit, state.halt.message, limit_hit=limit_hit)
    return ScopeEnd("failed", "limit", 5, message, limit_hit=limit_hit)


def limit_outside(path: Address, limit_hit: Address | None) -> Address | None:
    """The scope whose limit was hit; None if it is the step itself, because routes apply after its own limit."""
    return None if limit_hit == addresses.without_visit(path) else limit_hit


def limit_ending(instance: Instance, book: Ledger, now: Millis, message: str) -> StepEnded:
    """The end of an instance that a hard limit refuses; no route applies up to the scope that owns the limit."""
    path = instance.place.path
    return StepEnded(
        now, path, "failed", "limit", exit=5, limit_hit=limit_outside(path, book.path), message=message
    )


def _after_rule_hit(
    state: State, scope: Scope, step: Step, pending: PendingEntry, rule: str, now: Millis
) -> StepEntered | ScopeEnd:
    if rule == "visits" and step.retry.stated and step.retry.on_exhausted != "human":
        best = breaker.best_visit(state, scope, pending.slot)
        if step.retry.on_exhausted == "accept_best" and best is not None:
            return _entry_event(state, scope, step, pending, now, adopt=best)
        message = f'"{step.name}" has been entered {pending.visit - 1} times'
        return ScopeEnd("failed", "exhausted", 1, message, final=True)
    return advice_entry(state, scope, rule, pending.slot, now)


def advice_entry(
    state: State, instance: Instance, rule: str, target: int, now: Millis
) -> StepEntered | ScopeEnd:
    """Ask the advisor or a person what to do about a rule of the breaker."""
    # Both may be asked about the same attempt of a leaf, so the question to the person has its own name.
    name = "person" if rule.startswith(TO_A_PERSON) else "advice"
    entry = StepEntered(
        at=now,
        path=_question_path(instance, name),
        parent=instance.place.path,
        role="advice",
        index=0,
        visit=1,
        base=instance.base,
        start=instance.base,
        about=rule,
        target=target,
    )
    return _transition_limit_end(state, instance) or entry


def question_entry(state: State, instance: Instance, about: str, now: Millis) -> StepEntered | ScopeEnd:
    """Ask one of the engine's own questions; it counts as a transition, because its answer may allow one more round."""
    entry = StepEntered(
        at=now,
        path=_question_path(instance, about),
        parent=instance.place.path,
        role="question",
        index=0,
        visit=1,
        base=result_tree(state, instance),
        start=result_tree(state, instance),
        about=about,
    )
    return _transition_limit_end(state, instance) or entry


def _question_path(instance: Instance, name: str) -> Address:
    number = instance.questions_asked + 1 if isinstance(instance, Scope) else instance.attempt
    return addresses.question(instance.place.path, name, number)


def gates_entry(state: State, instance: Instance, now: Millis) -> StepEntered:
    """Enter the gates of the current attempt, on exactly the tree it produced."""
    tree = result_tree(state, instance)
    path = addresses.attempt(instance.place.path, number_of(instance))
    base = instance.base
    if isinstance(instance, Leaf) and isinstance(instance.place.step.verb, Git):
        # A landing starts from the tree it lands, but its gates judge the difference to the branch.
        base = ((instance.answer and instance.answer.result) or {}).get(ONTO, base)
    return StepEntered(now, path, instance.place.path, "gates", 0, 1, base=base, start=tree)


def finally_entry(state: State, scope: Scope, outcome: Outcome, reason: Reason, now: Millis) -> StepEntered:
    """Enter `finally` of a workflow whose body ended like this."""
    path, tree = addresses.child(scope.place.path, addresses.FINALLY), tree_of(state, scope)
    about = f"{outcome} {reason}".rstrip()
    return StepEntered(now, path, scope.place.path, "finally", 0, 1, base=tree, start=tree, about=about)


def result_tree(state: State, instance: Instance) -> Tree | None:
    """The resulting tree of an instance."""
    if isinstance(instance, Scope):
        return tree_of(state, instance)
    captured = None if instance.answer is None else instance.answer.tree
    return instance.member_tree or captured or start_of(instance)


def start_of(leaf: Leaf) -> Tree | None:
    """The tree a leaf starts from: that of its entry, or the joined work of its needs if there was a join since."""
    return leaf.place.start if leaf.base == leaf.place.base else leaf.base


def _entry_event(
    state: State, scope: Scope, step: Step, pending: PendingEntry, now: Millis, *, adopt: Address | None
) -> StepEntered:
    """The event of an entry, with its trees and feedback."""
    base, start = _trees(state, scope, step, pending)
    after = pending.after
    if adopt is not None and scope.place.order in ("dag", "many"):
        # An adopted tree does not contain what other branches or members have changed since.
        base, after = base_of_adopted(state, scope, state.instances[adopt])
    return StepEntered(
        at=now,
        path=_child_path(scope, step, pending.slot, pending.visit),
        parent=scope.place.path,
        role="step",
        index=pending.slot,
        visit=pending.visit,
        base=base,
        start=start,
        feedback=_feedback(state, scope, pending),
        stale=pending.stale,
        not_ready=_is_not_ready(state, scope, step, pending),
        about=step.log,
        adopt=adopt,
        claim=pending.claim,
        after=after,
        keeps_head=pending.keeps_head,
    )


def _feedback(state: State, scope: Scope, pending: PendingEntry) -> tuple[Address, ...]:
    """What the child is told about earlier work: also why the step failed that leads here."""
    before = () if pending.stale else _step_before(state, scope)
    feedback = (*scope.feedback, *scope.outgoing_feedback, *before)
    if pending.previous is not None:
        feedback = pending.previous.feedback + feedback
    return tuple(dict.fromkeys(feedback))[-FEEDBACK_KEPT:] if feedback else ()


def _step_before(state: State, scope: Scope) -> tuple[Address, ...]:
    """The step of a sequence that leads forward to the child that is entered now, if it failed or has words for it."""
    if scope.place.order != "seq" or scope.last is None:
        return ()
    ending = state.instances[scope.last].ending
    assert ending is not None
    has_words = ending.route is not None and bool(ending.route.words)
    return (scope.last,) if has_words or ending.outcome not in CONTINUING_OUTCOMES else ()


def _trees(state: State, scope: Scope, step: Step, pending: PendingEntry) -> tuple[Tree | None, Tree | None]:
    """The tree a child builds on, and the tree it starts from.

    A later visit starts from the step's own last tree, unless its base has changed in the meantime; from the head if a step
    that passed leads back. After a landing on a branch that had moved, it builds on the branch and starts from the work
    merged with it.
    """
    rebase = rebase_for(state, scope, step, pending.slot, pending.visit)
    if rebase is not None:
        # A step that captures nothing would otherwise leave the head at the branch, without the work.
        return rebase.onto if step.has_worker else rebase.tree, rebase.tree
    base = _base(state, scope, pending)
    if pending.keeps_head:
        # A worker is still compared with its first entry; a step that captures nothing must not move the head.
        return base if step.has_worker else scope.head, scope.head
    failed = _kept_failure(state, scope, pending.slot)
    if failed is not None:
        return base, result_tree(state, failed)
    if pending.previous is None or pending.previous.base != base:
        return base, base
    return base, result_tree(state, pending.previous)


def _kept_failure(state: State, scope: Scope, slot: int) -> Instance | None:
    """The step of a sequence that failed and whose route hands its work to this child."""
    last = None if scope.place.order != "seq" or scope.last is None else state.instances[scope.last]
    if last is None or last.ending is None or last.ending.outcome in CONTINUING_OUTCOMES:
        return None
    target = target_after(last.place.step, last.ending)
    leads_here = target is not None and target.keeps_work and target.kind == "step" and target.step == slot
    return last if leads_here else None


def _base(state: State, scope: Scope, pending: PendingEntry) -> Tree | None:
    verb = scope.place.step.verb
    match scope.place.order:
        case "seq" if pending.stale:
            return _head_before(state, scope, pending.stale)
        case "seq" | "repeat":
            return scope.head
        case "dag":
            return base_in_graph(state, scope, pending.slot, pending.after)[0]
        case _ if overlap(pending.claim, scope.changed):
            return scope.head
        case _:
            if isinstance(verb, TOGETHER):
                return scope.start_tree
            return scope.head if width(state, scope) == 1 else scope.start_tree


def _head_before(state: State, scope: Scope, stale: tuple[int, ...]) -> Tree | None:
    """The head of a sequence before the first stale child that ran; the target itself may have been skipped by a route."""
    visits = (state.latest.get((scope.place.path, index)) for index in stale)
    first = next(visit for visit in visits if visit is not None and visit.fresh)
    return state.instances[first.path].place.base


def _is_not_ready(state: State, scope: Scope, step: Step, pending: PendingEntry) -> bool:
    """Whether a condition, a memory or a join must be settled before the child may be queued for a slot."""
    if step.when is not None or step.memory:
        return True
    if scope.place.order != "dag":
        return False
    unmet = state.unmet.get((scope.place.path, pending.slot))
    to_merge = base_in_graph(state, scope, pending.slot, pending.after)[1]
    return bool(unmet and unmet.bad) or bool(to_merge)
