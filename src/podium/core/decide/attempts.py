"""Decides what follows an ended attempt: gates, another try, a fallback agent, a question, or the end."""

from __future__ import annotations

from typing import Final, NamedTuple, assert_never

from podium.core import addresses, ledger
from podium.core.decide import breaker
from podium.core.decide import entry as enter
from podium.core.decide.advice import decision_of, halt_end, needs_person
from podium.core.decide.entry import ScopeEnd
from podium.core.decide.joins import must_merge, queue_for_join
from podium.core.decide.limit_text import limit_message
from podium.core.decide.pass_rules import verdict_outcome
from podium.core.decide.repeats import after_outside_failure, attempts_left, next_attempt, repeats_unchanged
from podium.core.decide.teams import after_asked, ask_when_done
from podium.core.events import AttemptEnded, AttemptQueued, Event, StepEnded, StepEntered
from podium.core.model import Agent, Command, Git, Review
from podium.core.payloads import RefusedMember
from podium.core.queries.evaluate import count_of
from podium.core.queries.graph import failed_gates
from podium.core.state import Instance, Leaf, State
from podium.core.types import MOVED, TO_A_PERSON, Address, Millis, Outcome

NAMED: Final = 10


class Failure(NamedTuple):
    """Why an attempt failed."""

    outcome: Outcome
    reason: str
    exit: int
    feedback: tuple[Address, ...]
    message: str = ""
    final: bool = False


def after_attempt(state: State, leaf: Leaf, now: Millis) -> Event | None:
    """The next decision about a leaf whose attempt ended."""
    if leaf.side_child is not None or leaf.join_status == "queued":
        return None
    if leaf.outcome_unknown:
        return _after_doubt(state, leaf, now)
    answer = leaf.answer
    assert answer is not None
    if isinstance(leaf.join_status, RefusedMember):
        return _retry_or_fail(state, leaf, _join_failure(leaf, leaf.join_status), now)
    match answer.kind:
        case "ok":
            return _after_ok(state, leaf, answer, now)
        case "failed":
            return _retry_or_fail(state, leaf, _failure(leaf, answer), now)
        case "timeout":
            return _after_timeout(state, leaf, answer, now)
        case "malformed":
            return _after_malformed(state, leaf, answer, now)
        case "asked":
            return after_asked(state, leaf, answer, now)
        case "blocked":
            return _end(leaf, answer, "blocked", "blocked", 1, now)
        case "transient" | "quota" | "unavailable":
            return after_outside_failure(leaf, answer, now)
        case "error" | "cancelled":
            return _end(leaf, answer, "error", answer.reason or "error", error_exit(answer), now)
        case _:
            assert_never(answer.kind)


def _after_ok(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> Event:
    step = leaf.place.step
    if isinstance(step.verb, Agent) and step.verb.judge:
        return _verdict(state, leaf, answer, now)
    if answer.protected:
        objection = _check_protected(state, leaf, answer.protected, now)
        if objection is not None:
            return objection
    review = ask_when_done(state, leaf, now)
    if review is not None:
        return review
    if step.gates is not None and not _has_landed(state, leaf, answer):
        gates_path = addresses.attempt(leaf.place.path, leaf.attempt)
        gates = state.instances.get(gates_path)
        if gates is None:
            return enter.gates_entry(state, leaf, now)
        assert gates.ending is not None
        if gates.ending.outcome != "passed":
            return _retry_or_fail(state, leaf, _gate_failure(state, gates_path, gates.ending), now)
        if isinstance(step.verb, Git):
            return AttemptQueued(now, leaf.place.path, "judged")
    return queue_for_join(state, leaf, now) or _pass(state, leaf, answer, now)


def _has_landed(state: State, leaf: Leaf, answer: AttemptEnded) -> bool:
    """Whether a landing's gates passed before this attempt, so that it has landed.

    A landing cannot be undone, so its gates come first: one attempt computes the result, the gates judge it, and the
    next attempt lands it, unless the branch has moved and the result would differ.
    """
    judged_first = isinstance(leaf.place.step.verb, Git) and answer.reason != MOVED
    return judged_first and passed_gates(state, leaf, leaf.attempt) is not None


def passed_gates(state: State, leaf: Leaf, attempt: int) -> Instance | None:
    """The newest gates before this attempt, if they passed; they judged the tree they started from."""
    for number in range(attempt - 1, 0, -1):
        gates = state.instances.get(addresses.attempt(leaf.place.path, number))
        if gates is not None:
            return gates if gates.ending is not None and gates.ending.outcome == "passed" else None
    return None


def _check_protected(state: State, leaf: Leaf, protected: tuple[str, ...], now: Millis) -> Event | None:
    """Ask a person about changes to protected files, or follow a rejection; None if the changes are allowed."""
    feedback: tuple[Address, ...] = (_attempt_path(leaf),)
    final = False
    if state.started is None or not state.started.no_human:
        question_path = addresses.question(leaf.place.path, "protected", leaf.attempt)
        question = state.instances.get(question_path)
        if question is None:
            return entry_or_end(leaf, enter.question_entry(state, leaf, "protected", now), now)
        assert question.ending is not None
        if question.ending.outcome == "passed":
            return None
        feedback, final = (*feedback, question_path), question.ending.outcome == "aborted"
    names = ", ".join(protected[:NAMED]) + (" and others" if len(protected) > NAMED else "")
    message = f"protected files were changed without approval: {names}"
    return _retry_or_fail(state, leaf, Failure("failed", "protected", 1, feedback, message, final), now)


def _pass(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> StepEnded:
    degraded = degrade_of(state, leaf) > 0 or leaf.uncounted.fallback > 0
    return StepEnded(
        now,
        leaf.place.path,
        "passed",
        result=answer.result,
        tree=None if answer.tree == leaf.base else answer.tree,
        degraded=degraded,
        score=_score(state, leaf),
        memory=answer.memory,
    )


def _score(state: State, leaf: Leaf) -> float | None:
    """The score that the gates gave the last attempt."""
    if leaf.place.step.gates is None:
        return None
    gates = state.instances.get(_attempt_path(leaf))
    return None if gates is None or gates.ending is None else gates.ending.score


def _verdict(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> StepEnded:
    """The end of a reviewer's step. Without a valid verdict it is an error: neither an approval nor a rejection."""
    review = state.instances[leaf.place.parent].place.step.verb
    verdict = answer.verdict
    if verdict is None or not isinstance(review, Review) or verdict.tree != leaf.place.start:
        reason = "contract" if verdict is None else "stale"
        return _end(leaf, answer, "error", reason, 1, now)
    outcome = verdict_outcome(verdict, review)
    result = {**(answer.result or {}), "findings": list(verdict.findings), "decision": verdict.decision}
    reason = "" if outcome == "passed" else outcome
    exit_code = 0 if outcome == "passed" else 1
    return StepEnded(now, leaf.place.path, outcome, reason, exit_code, result, score=verdict.score)


def _after_doubt(state: State, leaf: Leaf, now: Millis) -> Event:
    if leaf.place.step.repeatable:
        # No question is needed: only whether the limits cover another call is open, and dispatch checks that.
        return AttemptQueued(now, leaf.place.path, "lost")
    question_path = addresses.question(leaf.place.path, "consent", leaf.attempt)
    question = state.instances.get(question_path)
    if question is None:
        return entry_or_end(leaf, enter.question_entry(state, leaf, "consent", now), now)
    assert question.ending is not None
    if (question.ending.result or {}).get("action") == "rerun":
        return AttemptQueued(now, leaf.place.path, "consent")
    message = "the step may or may not have taken effect, and it was not allowed to run again"
    return StepEnded(now, leaf.place.path, "error", "doubted", 1, message=message)


def _after_timeout(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> Event:
    """A limit on working time also shortens an attempt; it then ends its scope, and no `on: {timeout: ...}` applies."""
    exhausted = ledger.out_of_time(state, leaf.place.ledger)
    if exhausted is not None:
        return enter.limit_ending(leaf, exhausted, now, limit_message(exhausted, "time", state.at))
    is_final = leaf.uncounted.timeouts > 1 and not repeats_unchanged(leaf.place.step.verb)
    failure = Failure("timeout", answer.reason, 124, (_attempt_path(leaf),), final=is_final)
    return _retry_or_fail(state, leaf, failure, now)


def _after_malformed(state: State, leaf: Leaf, answer: AttemptEnded, now: Millis) -> Event:
    # Asking for a repair once more would buy the same answer again.
    if leaf.uncounted.repair <= leaf.place.step.retry.repair and not leaf.uncounted.repeated:
        return AttemptQueued(now, leaf.place.path, "repair", (_attempt_path(leaf),))
    reason = answer.reason or "contract"
    if isinstance(leaf.place.step.verb, Agent) and leaf.place.step.verb.judge:
        return _end(leaf, answer, "error", reason, 1, now)
    return _retry_or_fail(state, leaf, Failure("failed", reason, 1, (_attempt_path(leaf),)), now)


def _failure(leaf: Leaf, answer: AttemptEnded) -> Failure:
    verb = leaf.place.step.verb
    retryable = True
    if isinstance(verb, Command) and verb.exit_codes:
        code = (answer.result or {}).get("exit_code")
        if code == 124 and repeats_unchanged(verb):
            # A program that limits its own time says so by this code.
            return Failure("timeout", answer.reason, 124, (_attempt_path(leaf),))
        retryable = code in verb.exit_codes
    if isinstance(verb, Agent) and verb.judge:
        return Failure("error", answer.reason or "failed", 1, (_attempt_path(leaf),))
    outcome: Outcome = "conflict" if answer.reason == "conflict" else "failed"
    return Failure(
        outcome, answer.reason, 1, (_attempt_path(leaf),), final=not retryable or outcome == "conflict"
    )


def _gate_failure(state: State, path: Address, ending: StepEnded) -> Failure:
    failed = failed_gates(state, state.instances[path])
    final = any(gate.place.step.on_fail == "block" for gate in failed)
    # A gate that could not run says nothing about the work, so a retry by the worker would not help.
    outcome: Outcome = ending.outcome if ending.outcome in ("aborted", "error") else "failed"
    final = final or outcome != "failed"
    feedback = tuple(gate.place.path for gate in failed)
    return Failure(outcome, ending.reason or "gates", ending.exit or 1, feedback, ending.message, final)


def _join_failure(leaf: Leaf, refused: RefusedMember) -> Failure:
    """The failure of work that passed on its own but could not be merged with the work of others."""
    if refused.kind == "conflict":
        return Failure("conflict", "conflict", 1, (_attempt_path(leaf),), refused.detail)
    return Failure("failed", "gates", 1, (_attempt_path(leaf),), refused.detail)


def _retry_or_fail(state: State, leaf: Leaf, failure: Failure, now: Millis) -> Event:
    """After a failed attempt: try again with feedback, or apply `on_exhausted`."""
    step, path = leaf.place.step, leaf.place.path
    gates = state.instances.get(addresses.attempt(path, leaf.attempt))
    if gates is not None and gates.ending is not None and gates.ending.limit_hit is not None:
        outside = enter.limit_outside(path, gates.ending.limit_hit)
        return StepEnded(now, path, "failed", "limit", 5, limit_hit=outside, message=gates.ending.message)
    if failure.final:
        return _end_failed(leaf, failure, now)
    advised = _apply_breaker(state, leaf, failure, now)
    if advised is not None:
        return advised
    allowed = attempts_left(state, leaf) + len(step.retry.degrade) + leaf.uncounted.granted
    if leaf.tries + 1 < allowed and not _should_stop(leaf):
        return next_attempt(leaf, failure.feedback, now)
    return _apply_on_exhausted(state, leaf, failure, now)


def _apply_breaker(state: State, leaf: Leaf, failure: Failure, now: Millis) -> Event | None:
    """Apply the breaker's rule about attempts of one visit; None if it is not hit."""
    if not breaker.wants_advice(state, leaf):
        return None
    advice = _newest_advice(state, leaf)
    if advice is None:
        return entry_or_end(leaf, enter.advice_entry(state, leaf, "retries", -1, now), now)
    assert advice.ending is not None
    if advice.ending.limit_hit is not None:
        stop = ScopeEnd("failed", "limit", 5, advice.ending.message, limit_hit=advice.ending.limit_hit)
        return entry_or_end(leaf, stop, now)
    decision = decision_of(advice)
    if decision is None and needs_person(advice):
        return entry_or_end(leaf, enter.advice_entry(state, leaf, TO_A_PERSON + "retries", -1, now), now)
    if decision is None:
        return _end_failed(leaf, failure, now)
    match decision.action:
        case "proceed" | "retry_different":
            feedback = (*failure.feedback, advice.place.path)
            return AttemptQueued(now, leaf.place.path, "granted", feedback)
        case "force_complete":
            return _accept_best(state, leaf, failure, now)
        case _:
            return entry_or_end(leaf, halt_end(decision, "retries"), now)


def _newest_advice(state: State, leaf: Leaf) -> Instance | None:
    path, number = leaf.place.path, leaf.attempt
    person = state.instances.get(addresses.question(path, "person", number))
    return person or state.instances.get(addresses.question(path, "advice", number))


def entry_or_end(leaf: Leaf, entry: StepEntered | ScopeEnd, now: Millis) -> Event:
    """The entry of a question, or the end of the step if a limit refuses the question."""
    if isinstance(entry, StepEntered):
        return entry
    path, message = leaf.place.path, entry.message
    outside = enter.limit_outside(path, entry.limit_hit)
    return StepEnded(now, path, "failed", entry.reason, entry.exit, limit_hit=outside, message=message)


def _should_stop(leaf: Leaf) -> bool:
    """Whether `retry.stop` applies: the answers are too similar, or the score no longer improves.

    The same malformed answer three times in a row, after a repair and a new attempt, also ends the attempts.
    """
    if leaf.uncounted.repeated > 1:
        return True
    stop = leaf.place.step.retry.stop
    likeness = None if leaf.answer is None else leaf.answer.similarity_percent
    if stop.similar is not None and leaf.tries >= 2 and (likeness or 0) >= stop.similar:
        return True
    if stop.plateau is not None and leaf.best is not None:
        return leaf.attempt - leaf.best.attempt >= stop.plateau
    return False


def _apply_on_exhausted(state: State, leaf: Leaf, failure: Failure, now: Millis) -> Event:
    retry = leaf.place.step.retry
    no_human = state.started is not None and state.started.no_human
    if retry.on_exhausted == "accept_best":
        return _accept_best(state, leaf, failure, now)
    if retry.on_exhausted == "fail" or no_human:
        return _end_failed(leaf, failure, now)
    question_path = addresses.question(leaf.place.path, "exhausted", leaf.attempt)
    question = state.instances.get(question_path)
    if question is None:
        return entry_or_end(leaf, enter.question_entry(state, leaf, "exhausted", now), now)
    assert question.ending is not None
    match (question.ending.result or {}).get("action"):
        case "retry":
            return AttemptQueued(now, leaf.place.path, "granted", (*failure.feedback, question_path))
        case "accept":
            return _accept_best(state, leaf, failure, now)
        case _:
            return _end_failed(leaf, failure, now)


def _accept_best(state: State, leaf: Leaf, failure: Failure, now: Millis) -> Event:
    """End with the best attempt whose commands and checks passed; fail if there is none."""
    is_refused = isinstance(leaf.join_status, RefusedMember)
    if leaf.best is None or is_refused or isinstance(leaf.place.step.verb, Git):
        # A landing that its gates refused has not landed, and accepting it would not land it.
        return _end_failed(leaf, failure, now)
    answer = leaf.best.answer
    if leaf.best.attempt == leaf.attempt:
        joining = queue_for_join(state, leaf, now)
        if joining is not None:
            return joining
    elif leaf.join_status is None and must_merge(state, leaf, answer.tree):
        # The head has moved, and only the tree of the newest attempt can be merged onto it.
        return _end_failed(leaf, failure, now)
    tree = None if answer.tree == leaf.base else answer.tree
    score = None if leaf.best.score < 0 else leaf.best.score
    return StepEnded(
        now,
        leaf.place.path,
        "passed",
        "exhausted",
        result=answer.result,
        tree=tree,
        score=score,
        memory=answer.memory,
    )


def _end_failed(leaf: Leaf, failure: Failure, now: Millis) -> StepEnded:
    result = None if leaf.answer is None else leaf.answer.result
    return StepEnded(
        now,
        leaf.place.path,
        failure.outcome,
        failure.reason,
        failure.exit,
        result,
        message=failure.message,
    )


def _end(
    leaf: Leaf, answer: AttemptEnded, outcome: Outcome, reason: str, code: int, now: Millis
) -> StepEnded:
    return StepEnded(now, leaf.place.path, outcome, reason, code, answer.result)


def error_exit(answer: AttemptEnded) -> int:
    """The exit code of an error; a path outside the project has its own."""
    return 3 if answer.reason == "path" else 1


def _degrade_of(state: State, leaf: Leaf) -> int:
    """The index of the `degrade` entry for this try; 0 is the full task."""
    retry = leaf.place.step.retry
    over = leaf.tries - leaf.uncounted.granted - count_of(state, leaf, retry.attempts) + 1
    return max(0, min(over, len(retry.degrade)))


def degrade_of(state: State, leaf: Leaf) -> int:
    return _degrade_of(state, leaf) if leaf.place.step.retry.degrade else 0


def _attempt_path(leaf: Leaf) -> Address:
    return addresses.attempt(leaf.place.path, leaf.attempt)
