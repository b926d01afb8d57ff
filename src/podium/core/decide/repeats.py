"""Decides when a leaf tries again: immediately, after its backoff, or when a quota resets."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from podium.core import addresses
from podium.core.events import AttemptEnded, AttemptQueued, Event, RetryScheduled, StepEnded
from podium.core.model import Agent, Command, Verb
from podium.core.policy import Backoff
from podium.core.queries.evaluate import count_of
from podium.core.queries.graph import fresh_children
from podium.core.state import Instance, Leaf, Scope, State
from podium.core.types import CONTINUING_OUTCOMES, GONE, Address, Millis

QUOTA_PAUSE = Millis(900_000)
"""How long to wait for a used-up quota that does not report when it resets."""
QUOTA_WAITS = 20
TIMEOUT_EXIT = 124


def next_attempt(leaf: Leaf, feedback: tuple[Address, ...], now: Millis) -> Event:
    """The next counted attempt.

    An agent learns from the feedback, so it starts immediately, unless its prompt is literal. Anything else would only repeat itself, and it can pass
    only if something outside has changed, so it waits first, unless the failure is an old result of an earlier run.
    """
    step, path = leaf.place.step, leaf.place.path
    is_old = leaf.answer is not None and leaf.answer.reused
    learns = isinstance(step.verb, Agent) and step.verb.stdin is None
    if learns or is_old:
        return AttemptQueued(now, path, "counted", feedback)
    due = Millis(now + backoff_delay(step.retry.backoff, leaf.tries + 1, path))
    return RetryScheduled(now, path, due, "counted", feedback)


def repeats_unchanged(verb: Verb) -> bool:
    """Whether a timeout is retried as often as any failure: the author names its exit code, or the prompt is literal."""
    if isinstance(verb, Command):
        return TIMEOUT_EXIT in verb.exit_codes
    return isinstance(verb, Agent) and verb.stdin is not None


def attempts_left(state: State, instance: Instance) -> int:
    """How many attempts this visit has, at least one; with `per: run`, the failures of earlier visits count too."""
    retry = instance.place.step.retry
    allowed = count_of(state, instance, retry.attempts)
    return allowed if retry.per == "visit" else max(1, allowed - sum(_earlier_failures(state, instance)))


def is_last_rejection(state: State, review: Scope) -> bool:
    """Whether a rejection by this visit is the last that `per: run` allows."""
    return review.place.step.retry.per == "run" and attempts_left(state, review) == 1


def _earlier_failures(state: State, instance: Instance) -> Iterator[int]:
    place = instance.place
    for number in range(1, place.visit):
        visit = state.instances[addresses.child(place.parent, place.step.name, number)]
        assert visit.ending is not None
        failed = visit.ending.outcome not in CONTINUING_OUTCOMES
        # A person granted the others beyond the count.
        granted = visit.uncounted.granted if isinstance(visit, Leaf) else 0
        yield visit.tries + failed - granted


def retry_due(state: State, scope: Scope, now: Millis) -> Millis | None:
    """When the next attempt of a block may start; None means immediately, if an earlier run gave all its answers."""
    answers = tuple(_answers_in(state, scope))
    if answers and all(answer.reused for answer in answers):
        return None
    return Millis(now + backoff_delay(scope.place.step.retry.backoff, scope.tries + 1, scope.place.path))


def _answers_in(state: State, scope: Scope) -> Iterator[AttemptEnded]:
    for child in fresh_children(state, scope):
        if isinstance(child, Scope):
            yield from _answers_in(state, child)
        elif child.answer is not None:
            yield child.answer


def after_outside_failure(leaf: Leaf, answer: AttemptEnded, now: Millis) -> Event:
    """After a failure that the worker did not cause: retry later, use another agent, or end with an error."""
    step, uncounted = leaf.place.step, leaf.uncounted
    verb = step.verb
    if answer.reason == GONE:
        return AttemptQueued(now, leaf.place.path, "lost")
    if answer.kind == "transient" and uncounted.transient <= step.retry.transient:
        due = Millis(now + backoff_delay(step.retry.backoff, uncounted.transient, leaf.place.path))
        return RetryScheduled(now, leaf.place.path, due, "transient")
    if isinstance(verb, Agent) and uncounted.fallback < len(verb.fallback):
        return AttemptQueued(now, leaf.place.path, "fallback")
    if answer.kind == "quota" and uncounted.quota <= QUOTA_WAITS:
        due = answer.retry_at if answer.retry_at is not None else Millis(now + QUOTA_PAUSE)
        if due <= now:
            # The quota error says to retry immediately. Doing so would use up all waits at once, so back off.
            due = Millis(now + backoff_delay(step.retry.backoff, uncounted.quota, leaf.place.path))
        return RetryScheduled(now, leaf.place.path, due, "quota")
    return StepEnded(now, leaf.place.path, "error", answer.reason or answer.kind, 1, answer.result)


def backoff_delay(backoff: Backoff, number: int, path: Address) -> Millis:
    """The delay before the n-th retry; its jitter is derived from the address, so that a replay gives the same."""
    delay = float(backoff.first)
    for _ in range(number - 1):
        delay *= backoff.times  # A power would raise an error when it is too large for a float.
    delay = min(delay, backoff.max)
    draw = int.from_bytes(hashlib.sha256(f"{path}#{number}".encode()).digest()[:4]) / 2**32
    return Millis(round(delay * (1 + backoff.jitter / 100 * (2 * draw - 1))))
