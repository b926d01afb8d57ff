"""A simulated world that makes a run follow a witness.

It loses and garbles as many answers as a step tolerates, fails every attempt but the last, lets reviewers reject while
attempts are left, gives loops the maximum number of items, and answers every question of the breaker with `proceed`.
It costs nothing and takes no time, so that only the bounds on calls and transitions end the run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from podium.core.events import ApprovalAsked, AttemptStarted, FactsAsked, WaitEnded, WaitStarted
from podium.core.messages import Approve
from podium.core.model import Agent, Gates, Git, Repeat, Review, Step
from podium.core.payloads import Amounts, Verdict
from podium.core.queries.evaluate import count_of
from podium.core.queries.graph import actions_of
from podium.core.state import Leaf, Scope, State
from podium.core.types import Address, AnswerKind, MicroUsd, Millis, Outcome, Tree
from podium.simulate.forecast.witness import Witness
from podium.simulate.random_world import NO_FAILURES, RandomWorld
from podium.simulate.world import DelayedReport


class Worst(RandomWorld):
    """Follows a witness. `seed` draws the contents of answers, which loops and conditions may read."""

    def __init__(self, witness: Witness, seed: int = 0) -> None:
        super().__init__(seed, NO_FAILURES)
        self._witness = witness
        self._attempts = 0

    def attempt(self, started: AttemptStarted, state: State) -> DelayedReport:
        leaf = state.instances[started.path]
        assert isinstance(leaf, Leaf)
        self._attempts += 1
        place = f"{started.path}#{started.attempt}"
        ended = self._ended(started, state, self._answer(leaf, state))
        verdict = None if ended.verdict is None else self._verdict_of(leaf, state, ended.verdict.tree)
        used = Amounts(MicroUsd(0), 0, started.reserve.calls)
        reason = ended.reason
        if isinstance(leaf.place.step.verb, Git) and self._witness.at(started.path).outcome == "failed":
            reason = ""  # Not a conflict, which would be an outcome of its own.
        ended = replace(
            ended, reason=reason, used=used, digest=place, similarity_percent=None, verdict=verdict
        )
        return DelayedReport(Millis(0), ended)

    def _verdict_of(self, leaf: Leaf, state: State, tree: Tree | None) -> Verdict:
        decision = self._judgement(leaf, state)
        finding = {"id": leaf.place.path, "severity": "major", "issue": "no"}
        # Scores keep rising, because otherwise the rule about a plateau would apply.
        score = 10 - 9 / (1 + self._attempts)
        return Verdict(decision, score, (finding,) if decision == "reject" else (), tree)

    def _width(self, step: Step, place: str) -> int | None:
        return self._witness.widths.get(step.name) or super()._width(step, place)

    def _answer(self, leaf: Leaf, state: State) -> AnswerKind:
        step, soft = leaf.place.step, leaf.uncounted
        others = len(step.verb.fallback) if isinstance(step.verb, Agent) else 0
        if soft.transient < step.retry.transient or soft.fallback < others:
            return "transient"
        if soft.repair < step.retry.repair:
            return "malformed"
        judge = isinstance(step.verb, Agent) and step.verb.judge
        judged = judge or (step.gates is not None and _has_reviewer(step.gates))
        if self._has_tries(leaf, state):
            return "ok" if judged else "failed"
        return self._last(self._witness.at(leaf.place.path).outcome, judged=judged)

    def _last(self, outcome: Outcome, *, judged: bool) -> AnswerKind:
        match outcome:
            case "failed":
                return "ok" if judged else "failed"
            case "blocked" | "timeout" | "error":
                return outcome
            case _:
                return "ok"

    def _has_tries(self, instance: Leaf | Scope, state: State) -> bool:
        """Whether this is not the last attempt on the path of the witness."""
        retry, verb = instance.place.step.retry, instance.place.step.verb
        grants = self._witness.at(instance.place.path).grants
        if isinstance(instance, Scope) and isinstance(verb, Repeat):
            return instance.next < count_of(state, instance, verb.max) + grants
        return instance.tries + 1 < count_of(state, instance, retry.attempts) + len(retry.degrade) + grants

    def _judgement(self, leaf: Leaf, state: State) -> Literal["approve", "reject", "abort"]:
        """A reviewer of a review step gives its planned outcome; one in a gate rejects while attempts are left."""
        review = state.instances[leaf.place.parent].place
        around = state.instances[review.parent]
        if isinstance(around.place.step.verb, Gates):
            judged = state.instances[around.place.parent]
            part = self._witness.at(judged.place.path)
            return "reject" if self._has_tries(judged, state) or part.outcome == "failed" else "approve"
        outcome = self._witness.at(review.path).outcome
        if outcome in ("rejected", "failed"):
            return "reject"
        return "abort" if outcome == "aborted" else "approve"

    def person(self, question: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        if question.expires is not None and self._witness.at(question.path).outcome == "timeout":
            return None
        place = state.instances[question.path].place
        by = question.by[number % len(question.by)] if question.by else f"person{number + 1}"
        answer = place.step.output.choices[0] if place.step.output.choices else None
        action = self._action_at(question.path, state)
        return DelayedReport(Millis(0), Approve(question.path, action, by, "because", answer))

    def wait(self, wait: WaitStarted, state: State) -> DelayedReport | None:
        outcome = self._witness.at(wait.path).outcome
        if wait.due is not None and outcome == "timeout":
            return None
        kind: Literal["ok", "failed"] = "failed" if outcome == "failed" else "ok"
        later = super().wait(wait, state)
        return later and DelayedReport(Millis(0), WaitEnded(Millis(0), wait.path, kind, {"output": {}}))

    def fact(self, query: FactsAsked, state: State) -> Any:
        if query.function == "glob":
            return [f"file{number}" for number in range(self._witness.widest)]
        return super().fact(query, state)

    def _action_at(self, path: Address, state: State) -> str:
        place = state.instances[path].place
        actions = actions_of(place.step)
        if actions[0] == "retry":
            return "retry" if self._has_tries(state.instances[place.parent], state) else "fail"
        outcome = self._witness.at(path).outcome
        return {"rejected": "reject", "aborted": "abort"}.get(outcome, actions[0])


def _has_reviewer(gates: Step) -> bool:
    verb = gates.verb
    return isinstance(verb, Gates) and any(isinstance(gate.verb, Review) for gate in verb.members)
