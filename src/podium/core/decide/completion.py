"""From the end of a scope's own work to the end of the scope: gates, oversight, another attempt, `finally`, the join."""

from __future__ import annotations

from podium.core import addresses
from podium.core.addresses import ROOT
from podium.core.decide import entry
from podium.core.decide.approvals import oversight_of
from podium.core.decide.entry import ScopeEnd
from podium.core.decide.joins import final_tree, queue_for_join
from podium.core.events import Event, StepEnded, StepReopened
from podium.core.model import Block, Call, Review
from podium.core.payloads import RefusedMember
from podium.core.queries.evaluate import ask_value, count_of
from podium.core.queries.graph import JUDGES, failed_gates, fresh_children, is_accepted, workflow_of
from podium.core.state import Scope, State, number_of
from podium.core.types import CONTINUING_OUTCOMES, Millis, Outcome, Path


def complete_scope(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | None:
    """What follows now that the scope's own work has ended like this."""
    for stage in (_gated, _overseen, _joined, _retried, _closed):
        answer = stage(state, scope, done, now)
        if not isinstance(answer, ScopeEnd):
            return answer
        done = answer
    return _ended(state, scope, done, now)


def _gated(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if done.outcome != "passed" or scope.place.step.gates is None:
        return done
    path = addresses.attempt(scope.place.path, scope.tries + 1)
    gates = state.instances.get(path)
    if gates is None:
        return entry.gates(state, scope, now)
    assert gates.ending is not None
    ending = gates.ending
    if ending.outcome == "passed":
        return done._replace(score=ending.score)
    outcome: Outcome = "aborted" if ending.outcome == "aborted" else "failed"
    broken = ending.outcome == "error"
    reason = ending.reason if broken else "gates"
    final = broken or any(gate.place.step.on_fail == "block" for gate in failed_gates(state, gates))
    failed = ScopeEnd(
        outcome, reason, ending.exit or 1, ending.message, hard=ending.hard, feedback=(path,), final=final
    )
    return failed._replace(reason="limit") if ending.hard is not None else failed


def _overseen(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """A review that has passed may need a person's yes, or give people time to object."""
    verb = scope.place.step.verb
    if not isinstance(verb, Review) or done.outcome != "passed":
        return done
    rule = oversight_of(state, scope, verb.oversight, now)
    if isinstance(rule, StepEnded):
        return rule
    if rule.level == "auto" or (rule.level == "notify" and not rule.veto):
        return done
    about = "confirm" if rule.level == "human" else "veto"
    told = None if scope.told is None else state.instances[scope.told]
    if told is None or told.place.about != about or told.ending is None:
        return entry.question(state, scope, about, now)
    outcome = told.ending.outcome
    if outcome == "passed":
        return done
    return done._replace(
        outcome=outcome, reason=told.ending.reason, exit=told.ending.exit, feedback=(scope.told or ROOT,)
    )


def _retried(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    retry = scope.place.step.retry
    final = done.final or done.outcome in CONTINUING_OUTCOMES or done.hard is not None or done.leaves
    if final or done.outcome == "aborted" or scope.expired or isinstance(scope.place.step.verb, JUDGES):
        return done
    if scope.tries + 1 < count_of(state, scope, retry.attempts):
        feedback = done.feedback or _culprits(state, scope)
        return StepReopened(now, scope.place.path, scope.tries + 2, feedback)
    if not retry.stated or retry.on_exhausted == "fail":
        return done
    if retry.on_exhausted == "accept_best":
        return _taken(state, scope, done, now)
    return _asked(state, scope, done, now)


def _taken(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """The last attempt, if only reviewers or people were against it, and once it is merged with what others did."""
    if isinstance(scope.merge, RefusedMember) or not _last_fit(state, scope):
        return done
    if scope.merge == "queued":
        return None
    return queue_for_join(state, scope, now) or ScopeEnd("passed", "exhausted")


def _asked(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if state.started is not None and state.started.no_human:
        return done
    told = None if scope.told is None else state.instances[scope.told]
    if told is None or told.place.about != "exhausted" or told.ending is None:
        return entry.question(state, scope, "exhausted", now)
    match (told.ending.result or {}).get("action"):
        case "retry":
            feedback = (*(done.feedback or _culprits(state, scope)), told.place.path)
            return StepReopened(now, scope.place.path, scope.tries + 2, feedback, granted=True)
        case "accept":
            return _taken(state, scope, done, now)
        case _:
            return done


def _last_fit(state: State, scope: Scope) -> bool:
    """Whether the last attempt met everything but the judgement of reviewers and people."""
    gates = state.instances.get(addresses.attempt(scope.place.path, scope.tries + 1))
    return bool(gates and gates.ending and gates.ending.result and gates.ending.result.get("fit"))


def _culprits(state: State, scope: Scope) -> tuple[Path, ...]:
    """The children that went wrong, in their order: which of them ended last is a matter of chance."""
    if scope.place.order in ("seq", "repeat"):
        return () if scope.last is None else (scope.last,)
    return tuple(
        child.place.path
        for child in fresh_children(state, scope)
        if child.ending is not None and not is_accepted(child.place.step, child.ending)
    )


def _closed(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    """A workflow's `finally`, and the breaker's last word before a run counts as passed."""
    verb = scope.place.step.verb
    if not isinstance(verb, Call):
        return done
    if _asks_before_the_end(state, scope, done):
        asked = entry.advice(state, scope, "complete", -1, now)
        if not isinstance(asked, ScopeEnd):
            return asked
        done = asked
    last = verb.workflow.finally_
    if last is None:
        return done
    cleaned = state.instances.get(addresses.child(scope.place.path, addresses.FINALLY))
    if cleaned is None:
        return entry.closing(state, scope, now)
    assert cleaned.ending is not None
    if cleaned.ending.outcome in CONTINUING_OUTCOMES or done.outcome != "passed":
        return done
    return ScopeEnd("failed", "child", cleaned.ending.exit or 1, cleaned.ending.message)


def _asks_before_the_end(state: State, scope: Scope, done: ScopeEnd) -> bool:
    rules = workflow_of(state, scope.place).breaker
    at_end = scope.place.path == ROOT and done.outcome == "passed" and not scope.closing
    return rules.complete and at_end and "complete" not in state.excused


def _joined(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> Event | ScopeEnd | None:
    if isinstance(scope.merge, RefusedMember):
        # Also where gates objected and the work was to be taken all the same: this is what it failed by in the end.
        outcome: Outcome = "conflict" if scope.merge.kind == "conflict" else "failed"
        reason = "conflict" if outcome == "conflict" else "gates"
        feedback = (addresses.attempt(scope.place.path, number_of(scope)),)
        return ScopeEnd(outcome, reason, 1, scope.merge.detail, feedback=feedback)
    if done.outcome != "passed":
        return done
    if scope.merge == "queued":
        return None
    return queue_for_join(state, scope, now) or done


def _ended(state: State, scope: Scope, done: ScopeEnd, now: Millis) -> StepEnded:
    result = done.result
    if done.outcome == "passed":
        computed = _result(state, scope, now)
        if isinstance(computed, StepEnded):
            return computed
        result = result if computed is None else {**(result or {}), "output": computed[0]}
    hard = done.hard
    owner = addresses.without_visit(scope.place.path)
    return StepEnded(
        at=now,
        path=scope.place.path,
        outcome=done.outcome,
        reason=done.reason,
        exit=done.exit,
        result=result,
        tree=final_tree(state, scope) if done.outcome == "passed" else None,
        leaves=done.leaves,
        hard=None if hard == owner else hard,
        message=done.message,
        score=done.score,
    )


def _result(state: State, scope: Scope, now: Millis) -> tuple[object] | StepEnded | None:
    """A declared result; without one, readers compute it from the children."""
    verb = scope.place.step.verb
    if isinstance(verb, Block) and verb.output is not None:
        answer = ask_value(state, scope, verb.output, now)
    elif isinstance(verb, Call) and verb.workflow.outputs:
        answer = ask_value(state, scope, dict(verb.workflow.outputs), now, inside=True)
    else:
        return None
    if isinstance(answer, tuple | StepEnded):
        return answer
    return StepEnded(
        now, scope.place.path, "error", "expression", 1, message="an output may not look into files"
    )
