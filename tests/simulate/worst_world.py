"""A world that makes a run go the way of a witness.

It loses and garbles as many answers as a step forgives, fails every try but the last, lets reviewers reject while
there are tries left, gives loops as many items as they may have, and answers every question of the breaker with
`proceed`. It costs nothing and takes no time, so that only the bounds on calls and transitions end the run.
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
from podium.core.types import AnswerKind, MicroUsd, Millis, Outcome, Path, Tree
from podium.simulate.forecast.witness import Witness
from podium.simulate.random_world import CALM, RandomWorld
from podium.simulate.world import DelayedReport


class Worst(RandomWorld):
    """Plays a witness. `seed` draws the contents of answers, on which tests of loops and conditions depend."""

    def __init__(self, planned: Witness, seed: int = 0) -> None:
        super().__init__(seed, CALM)
        self._planned = planned
        self._asked = 0

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        leaf = state.instances[asked.path]
        assert isinstance(leaf, Leaf)
        self._asked += 1
        place = f"{asked.path}#{asked.attempt}"
        ended = self._ended(asked, state, self._answer(leaf, state))
        verdict = None if ended.verdict is None else self._verdict_of(leaf, state, ended.verdict.tree)
        used = Amounts(MicroUsd(0), 0, asked.reserve.calls)
        reason = ended.reason
        if isinstance(leaf.place.step.verb, Git) and self._planned.at(asked.path).outcome == "failed":
            reason = ""  # Not a conflict, which would be an outcome of its own.
        ended = replace(ended, reason=reason, used=used, digest=place, likeness=None, verdict=verdict)
        return DelayedReport(Millis(0), ended)

    def _verdict_of(self, leaf: Leaf, state: State, tree: Tree | None) -> Verdict:
        decision = self._judgement(leaf, state)
        finding = {"id": leaf.place.path, "severity": "major", "issue": "no"}
        # Ever better: otherwise a rule about scores that stand still would have a say.
        score = 10 - 9 / (1 + self._asked)
        return Verdict(decision, score, (finding,) if decision == "reject" else (), tree)

    def _width(self, step: Step, place: str) -> int | None:
        return self._planned.widths.get(step.name) or super()._width(step, place)

    def _answer(self, leaf: Leaf, state: State) -> AnswerKind:
        step, soft = leaf.place.step, leaf.soft
        others = len(step.verb.fallback) if isinstance(step.verb, Agent) else 0
        if soft.transient < step.retry.transient or soft.fallback < others:
            return "transient"
        if soft.repair < step.retry.repair:
            return "malformed"
        judge = isinstance(step.verb, Agent) and step.verb.judge
        judged = judge or (step.gates is not None and _has_reviewer(step.gates))
        if self._has_tries(leaf, state):
            return "ok" if judged else "failed"
        return self._last(self._planned.at(leaf.place.path).outcome, judged=judged)

    def _last(self, outcome: Outcome, *, judged: bool) -> AnswerKind:
        match outcome:
            case "failed":
                return "ok" if judged else "failed"
            case "blocked" | "timeout" | "error":
                return outcome
            case _:
                return "ok"

    def _has_tries(self, instance: Leaf | Scope, state: State) -> bool:
        """Whether this is not the last try that the witness provides for."""
        retry, verb = instance.place.step.retry, instance.place.step.verb
        grants = self._planned.at(instance.place.path).grants
        if isinstance(instance, Scope) and isinstance(verb, Repeat):
            return instance.next < count_of(state, instance, verb.max) + grants
        return instance.tries + 1 < count_of(state, instance, retry.attempts) + len(retry.degrade) + grants

    def _judgement(self, leaf: Leaf, state: State) -> Literal["approve", "reject", "abort"]:
        """A reviewer of a step says what the witness says of the review; one in a gate rejects while there are tries."""
        review = state.instances[leaf.place.parent].place
        around = state.instances[review.parent]
        if isinstance(around.place.step.verb, Gates):
            judged = state.instances[around.place.parent]
            part = self._planned.at(judged.place.path)
            return "reject" if self._has_tries(judged, state) or part.outcome == "failed" else "approve"
        outcome = self._planned.at(review.path).outcome
        if outcome in ("rejected", "failed"):
            return "reject"
        return "abort" if outcome == "aborted" else "approve"

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        if asked.expires is not None and self._planned.at(asked.path).outcome == "timeout":
            return None
        place = state.instances[asked.path].place
        by = asked.by[number % len(asked.by)] if asked.by else f"person{number + 1}"
        answer = place.step.output.choices[0] if place.step.output.choices else None
        action = self._action_at(asked.path, state)
        return DelayedReport(Millis(0), Approve(asked.path, action, by, "because", answer))

    def wait(self, asked: WaitStarted, state: State) -> DelayedReport | None:
        outcome = self._planned.at(asked.path).outcome
        if asked.due is not None and outcome == "timeout":
            return None
        kind: Literal["ok", "failed"] = "failed" if outcome == "failed" else "ok"
        later = super().wait(asked, state)
        return later and DelayedReport(Millis(0), WaitEnded(Millis(0), asked.path, kind, {"output": {}}))

    def fact(self, asked: FactsAsked, state: State) -> Any:
        if asked.function == "glob":
            return [f"file{number}" for number in range(self._planned.widest)]
        return super().fact(asked, state)

    def _action_at(self, path: Path, state: State) -> str:
        place = state.instances[path].place
        actions = actions_of(place.step)
        if actions[0] == "retry":
            return "retry" if self._has_tries(state.instances[place.parent], state) else "fail"
        outcome = self._planned.at(path).outcome
        return {"rejected": "reject", "aborted": "abort"}.get(outcome, actions[0])


def _has_reviewer(gates: Step) -> bool:
    verb = gates.verb
    return isinstance(verb, Gates) and any(isinstance(gate.verb, Review) for gate in verb.members)
