"""Completes a scope after its own work has ended: gates, oversight, joining, another attempt, `finally`."""

from __future__ import annotations

from podium.core import addresses
from podium.core.addresses import ROOT
from podium.core.decide import breaker, entry
from podium.core.decide.approvals import oversight_of
from podium.core.decide.entry import ScopeEnd
from podium.core.decide.joins import final_tree, queue_for_join
from podium.core.decide.repeats import attempts_left, is_last_rejection, retry_due
from podium.core.decide.series import continuation
from podium.core.events import Event, StepEnded, StepReopened
from podium.core.model import Block, Call, Gates, Review
from podium.core.payloads import RefusedMember
from podium.core.queries.evaluate import try_fill
from podium.core.queries.graph import (
    HALTED,
    JUDGES,
    NO_VERDICT,
    failed_gates,
    fresh_children,
    side_of,
    workflow_of,
)
from podium.core.queries.memories import merge_request
from podium.core.state import Scope, State, number_of
from podium.core.types import CONTINUING_OUTCOMES, Address, Millis, Outcome


def complete_scope(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | None:
    """The next decision after the scope's own work ended with `end`."""
    for stage in (_apply_gates, _apply_oversight, _apply_join, _apply_retry, _apply_finally):
        result = stage(state, scope, end, now)
        if not isinstance(result, ScopeEnd):
            return result
        end = result
    event = _end_event(state, scope, end, now)
    return merge_request(state, event) or event


def _apply_gates(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if end.outcome != "passed" or scope.place.step.gates is None:
        return end
    path = addresses.attempt(scope.place.path, scope.tries + 1)
    gates = state.instances.get(path)
    if gates is None:
        return entry.gates_entry(state, scope, now)
    assert gates.ending is not None
    ending = gates.ending
    if ending.outcome == "passed":
        return end._replace(score=ending.score)
    outcome: Outcome = "aborted" if ending.outcome == "aborted" else "failed"
    broken = ending.outcome == "error"
    reason = ending.reason if broken else "gates"
    final = broken or any(gate.place.step.on_fail == "block" for gate in failed_gates(state, gates))
    failed = ScopeEnd(
        outcome,
        reason,
        ending.exit or 1,
        ending.message,
        limit_hit=ending.limit_hit,
        feedback=(path,),
        final=final,
    )
    return failed._replace(reason="limit") if ending.limit_hit is not None else failed


def _apply_oversight(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """A passed review may also need a person's approval, or give people time to object."""
    verb = scope.place.step.verb
    if isinstance(verb, Review) and end.reason == NO_VERDICT:
        return _ask_for_verdict(state, scope, end, now)
    if not isinstance(verb, Review) or end.outcome != "passed":
        return end
    rule = oversight_of(state, scope, verb.oversight, now)
    if isinstance(rule, StepEnded):
        return rule
    if rule.level == "auto" or (rule.level == "notify" and not rule.veto):
        return end
    about = "confirm" if rule.level == "human" else "veto"
    question = _answered_question(state, scope, about)
    if question is None:
        return entry.question_entry(state, scope, about, now)
    outcome = question.outcome
    if outcome == "passed":
        return end
    return end._replace(
        outcome=outcome,
        reason=question.reason,
        exit=question.exit,
        feedback=(scope.last_answer or ROOT,),
    )


def _answered_question(state: State, scope: Scope, about: str) -> StepEnded | None:
    """The end of the last question to a person about this scope, if it was this one."""
    question = None if scope.last_answer is None else state.instances[scope.last_answer]
    return question.ending if question is not None and question.place.topic == about else None


def _ask_for_verdict(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """A person judges work of which no reviewer gave a valid verdict, unless the file says what follows an error."""
    is_halted = any(ending.reason == HALTED for ending in _endings(state, scope))
    if is_halted or _may_not_ask(state) or _routes_error(state, scope):
        return end
    answer = _answered_question(state, scope, NO_VERDICT)
    if answer is None:
        return entry.question_entry(state, scope, NO_VERDICT, now)
    verdict = {**(answer.result or {}).get("verdict", {}), "tree": scope.start_tree}
    result = {**(end.result or {}), "verdict": verdict}
    feedback = () if answer.outcome == "passed" else (scope.last_answer or ROOT,)
    return ScopeEnd(
        answer.outcome, answer.reason, answer.exit, answer.message, result=result, feedback=feedback
    )


def _endings(state: State, scope: Scope) -> tuple[StepEnded, ...]:
    return tuple(child.ending for child in fresh_children(state, scope) if child.ending is not None)


def _may_not_ask(state: State) -> bool:
    return state.started is not None and state.started.no_human


def _routes_error(state: State, review: Scope) -> bool:
    """Whether the review, or the step whose gate it is, has a route for an error."""
    around = state.instances[review.place.parent]
    judged = state.instances[around.place.parent] if isinstance(around.place.step.verb, Gates) else review
    return "error" in review.place.step.on or "error" in judged.place.step.on


def _apply_retry(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    retry = scope.place.step.retry
    final = end.final or end.outcome in CONTINUING_OUTCOMES or end.limit_hit is not None or end.breaks_loop
    if final or end.outcome == "aborted" or scope.expired:
        return end
    if isinstance(scope.place.step.verb, JUDGES):
        is_last = end.outcome == "rejected" and is_last_rejection(state, scope)
        return _ask_about_rejections(state, scope, end, now) if is_last else end
    if scope.tries + 1 < attempts_left(state, scope):
        feedback = end.feedback or _failed_children(state, scope)
        due = retry_due(state, scope, now)
        return StepReopened(now, scope.place.path, scope.tries + 2, feedback, due=due)
    if not retry.stated or retry.on_exhausted == "fail":
        return end
    if retry.on_exhausted == "accept_best":
        return _accept_last(state, scope, end, now)
    return _ask_exhausted(state, scope, end, now)


def _accept_last(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """Accept the last attempt if only reviewers or people rejected it, once it is merged with the work of others."""
    if isinstance(scope.join_status, RefusedMember) or not _last_fit(state, scope):
        return end
    if scope.join_status == "queued":
        return None
    return queue_for_join(state, scope, now) or ScopeEnd("passed", "exhausted")


def _ask_exhausted(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if _may_not_ask(state):
        return end
    answer = _answered_question(state, scope, "exhausted")
    if answer is None:
        return entry.question_entry(state, scope, "exhausted", now)
    match (answer.result or {}).get("action"):
        case "retry":
            feedback = (*(end.feedback or _failed_children(state, scope)), answer.path)
            return StepReopened(now, scope.place.path, scope.tries + 2, feedback, granted=True)
        case "accept":
            return _accept_last(state, scope, end, now)
        case _:
            return end


def _ask_about_rejections(state: State, review: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """A review that has rejected the work as often as it may asks a person whether to follow its route once more."""
    retry = review.place.step.retry
    if retry.on_exhausted != "human" or _may_not_ask(state):
        return end._replace(outcome="failed", reason="exhausted")
    answer = _answered_question(state, review, "exhausted")
    if answer is None:
        return entry.question_entry(state, review, "exhausted", now)
    match (answer.result or {}).get("action"):
        case "retry":
            return end
        case "accept":
            return ScopeEnd("passed", "exhausted", result=end.result, score=end.score)
        case _:
            return end._replace(outcome="failed", reason="exhausted")


def _last_fit(state: State, scope: Scope) -> bool:
    """Whether the last attempt passed every command and check."""
    gates = state.instances.get(addresses.attempt(scope.place.path, scope.tries + 1))
    return bool(gates and gates.ending and gates.ending.result and gates.ending.result.get("fit"))


def _failed_children(state: State, scope: Scope) -> tuple[Address, ...]:
    """The children that failed, in order, because which of them ended last is a matter of chance."""
    if scope.place.order in ("seq", "repeat"):
        return () if scope.last is None else (scope.last,)
    return tuple(
        child.place.path
        for child in fresh_children(state, scope)
        if child.ending is not None and side_of(scope, child) == "bad"
    )


def _apply_finally(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """Run a workflow's `finally`, after asking the breaker's question at the end of a passed run."""
    verb = scope.place.step.verb
    if not isinstance(verb, Call):
        return end
    rule = _rule_before_end(state, scope, end)
    if rule is not None:
        advice = entry.advice_entry(state, scope, rule, -1, now)
        if not isinstance(advice, ScopeEnd):
            return advice
        end = advice
    last = verb.workflow.finally_
    if last is None:
        return end
    cleaned = state.instances.get(addresses.child(scope.place.path, addresses.FINALLY))
    if cleaned is None:
        return entry.finally_entry(state, scope, end.outcome, end.reason, now)
    assert cleaned.ending is not None
    if cleaned.ending.outcome in CONTINUING_OUTCOMES or end.outcome != "passed":
        return end
    return ScopeEnd("failed", "child", cleaned.ending.exit or 1, cleaned.ending.message)


def _rule_before_end(state: State, scope: Scope, end: ScopeEnd) -> str | None:
    """The rule to ask about before a passed run ends; each asks once."""
    rules = workflow_of(state, scope.place).breaker
    if scope.place.path != ROOT or end.outcome != "passed" or scope.closing:
        return None
    disagree = "disagree" not in state.waived_rules and breaker.gates_disagree(state, scope, rules)
    rules_hit = (
        ("disagree", disagree),
        ("complete", rules.complete and "complete" not in state.waived_rules),
    )
    return next((rule for rule, is_hit in rules_hit if is_hit), None)


def _apply_join(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if isinstance(scope.join_status, RefusedMember):
        # This also replaces a failure of gates that was to be accepted: the conflict is why the scope fails.
        outcome: Outcome = "conflict" if scope.join_status.kind == "conflict" else "failed"
        reason = "conflict" if outcome == "conflict" else "gates"
        feedback = (addresses.attempt(scope.place.path, number_of(scope)),)
        return ScopeEnd(outcome, reason, 1, scope.join_status.detail, feedback=feedback)
    if not _keeps_work(scope, end):
        return end
    if scope.join_status == "queued":
        return None
    return queue_for_join(state, scope, now) or end


def _keeps_work(scope: Scope, end: ScopeEnd) -> bool:
    """Whether the scope hands its work on: it passed, or a route accepts that only some of its members did."""
    if end.outcome != "partial":
        return end.outcome == "passed"
    target = scope.place.step.on.get("partial")
    return target is not None and target.kind != "fail"


def _end_event(state: State, scope: Scope, end: ScopeEnd, now: Millis) -> StepEnded:
    result = end.result
    if end.outcome == "passed":
        computed = _result(state, scope, now)
        if isinstance(computed, StepEnded):
            return computed
        result = result if computed is None else {**(result or {}), "output": computed[0]}
    return StepEnded(
        at=now,
        path=scope.place.path,
        outcome=end.outcome,
        reason=end.reason,
        exit=end.exit,
        result=result,
        tree=final_tree(state, scope) if _keeps_work(scope, end) and not _is_elsewhere(scope) else None,
        breaks_loop=end.breaks_loop,
        limit_hit=entry.limit_outside(scope.place.path, end.limit_hit),
        message=end.message,
        score=end.score,
    )


def _is_elsewhere(scope: Scope) -> bool:
    """Whether the files of its steps are those of another repository."""
    verb = scope.place.step.verb
    return isinstance(verb, Call) and verb.place is not None


def _result(state: State, scope: Scope, now: Millis) -> tuple[object] | StepEnded | None:
    """The declared output of a block or workflow; without one, readers compute it from the children."""
    verb = scope.place.step.verb
    if isinstance(verb, Block) and verb.output is not None:
        answer = try_fill(state, scope, verb.output, now)
    elif isinstance(verb, Call) and verb.workflow.outputs and not _is_continued(state, scope):
        answer = try_fill(state, scope, dict(verb.workflow.outputs), now, inside=True)
    else:
        return None
    if isinstance(answer, tuple | StepEnded):
        return answer
    return StepEnded(
        now, scope.place.path, "error", "expression", 1, message="an output must not use exists or glob"
    )


def _is_continued(state: State, scope: Scope) -> bool:
    """Whether a new run continues this one; the outputs are then those of the last run."""
    return scope.place.path == ROOT and continuation(state) is not None
