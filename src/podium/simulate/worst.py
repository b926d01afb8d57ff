"""The witness of the worst case: the way that causes it, and a world that makes a run go that way.

The witness says for each place how it ends and how often somebody grants it one more try. Everything else follows:
whoever plays it loses and garbles as many answers as the step forgives, fails every try but the last, lets reviewers
reject while there are tries left, and answers every question of the breaker with `proceed`. It costs nothing and
takes no time, so that only the bounds on calls and transitions end the run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal

from podium.core.ask import count_of
from podium.core.events import AnswerKind, ApprovalAsked, AttemptStarted
from podium.core.facts import Amounts, Verdict
from podium.core.graph import LOOPS, WORK, actions_of
from podium.core.messages import Approve
from podium.core.model import Agent, Gates, Repeat, Review, Step
from podium.core.paths import ROOT, child, iteration
from podium.core.state import Leaf, Scope, State
from podium.core.words import MicroUsd, Millis, Outcome, Path
from podium.simulate.bounds import Node
from podium.simulate.chance import CALM, Chance
from podium.simulate.tables import share, total
from podium.simulate.world import Later


@dataclass(frozen=True, slots=True)
class Part:
    """What the witness says of one instance."""

    outcome: Outcome = "passed"
    grants: int = 0


PLAIN: Final = Part()
SPARE: Final = 8
"""Transitions that the witness leaves for questions of the breaker about circles, which the bound does not foresee."""
Witness = Mapping[Path, Part]


def witness(found: Node) -> Witness:
    """The dearest way through the whole run, place by place in the order they are entered."""
    laid = _Laid()
    t = max(0, len(found.good) - 1 - SPARE)
    laid.lay(found, ROOT, t, "passed" if found.good[t] >= found.bad[t] else "failed")
    return laid.parts


class _Laid:
    def __init__(self) -> None:
        self.parts: dict[Path, Part] = {}
        self._visits: Counter[tuple[Path, int]] = Counter()

    def lay(self, found: Node, path: Path, t: int, outcome: Outcome) -> None:
        verb = found.step.verb
        if path != ROOT:
            self.parts[path] = Part(outcome, t if found.granted else 0)
        if isinstance(verb, WORK):
            return
        if found.walk is not None:
            self._walk(found, path, t, good=outcome in ("passed", "skipped"))
        elif isinstance(verb, Repeat) and found.tries:
            self._times(found.parts[0], path, t, found.tries + (t if found.granted else 0))
        elif found.once:
            # Tried several times: all but the last end badly.
            for number in range(found.tries):
                last = number + 1 == found.tries
                self.lay(found.parts[0], path, t // found.tries, outcome if last else "failed")
        else:
            self._all(found, path, t, outcome)

    def _walk(self, found: Node, path: Path, t: int, *, good: bool) -> None:
        assert found.walk is not None
        for move in found.walk.way(t, good=good):
            part = found.parts[move.step]
            self.lay(part, self._enter(path, part.step, move.step), move.inside, move.leaves.outcome)

    def _times(self, body: Node, path: Path, t: int, rounds: int) -> None:
        for number in range(rounds):
            self.lay(body, iteration(path, number + 1), t // rounds, "passed")

    def _all(self, found: Node, path: Path, t: int, outcome: Outcome) -> None:
        loop = isinstance(found.step.verb, LOOPS)
        for number, part in enumerate(found.parts):
            rest = found.parts[number + 1 :]
            spent = (
                t // len(found.parts)
                if loop
                else share(part.either, total((p.either for p in rest), t + 1), t)
            )
            place = iteration(path, number + 1) if loop else self._enter(path, part.step, number)
            self.lay(part, place, spent, "passed" if part.good[-1] >= 0 else outcome)
            t -= 0 if loop else spent

    def _enter(self, path: Path, step: Step, index: int) -> Path:
        self._visits[(path, index)] += 1
        return child(path, step.name, self._visits[(path, index)])


class Worst(Chance):
    """Plays a witness.

    `seed` draws the contents of answers, on which tests of loops and conditions depend; lists of lines, which loops
    go over, have `width` of them.
    """

    def __init__(self, planned: Witness, seed: int = 0, *, width: int = 1) -> None:
        super().__init__(seed, CALM)
        self._planned = planned
        self._lines = width
        self._asked = 0

    def attempt(self, asked: AttemptStarted, state: State) -> Later:
        leaf = state.instances[asked.path]
        assert isinstance(leaf, Leaf)
        kind = self._answer(leaf, state)
        later = super().attempt(replace(asked, timeout=None), state)
        ended = self._ended(asked, state, kind)
        self._asked += 1
        verdict = ended.verdict
        if verdict is not None:
            # Ever better: otherwise a rule about scores that stand still would have a say.
            score = 10 - 9 / (1 + self._asked)
            decision = self._judgement(leaf, state)
            findings = (
                ({"id": asked.path, "severity": "major", "issue": "no"},) if decision == "reject" else ()
            )
            verdict = Verdict(decision, score, findings, verdict.tree)
        result = dict(ended.result or {})
        if leaf.place.step.output.kind == "lines" and kind == "ok":
            result["output"] = [f"line {number}" for number in range(self._lines)]
        used = Amounts(MicroUsd(0), 0, asked.reserve.calls)
        ended = replace(
            ended,
            result=result,
            used=used,
            digest=f"{asked.path}#{asked.attempt}",
            likeness=None,
            verdict=verdict,
        )
        return replace(later, after=Millis(0), message=ended)

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
        return self._last(self._planned.get(leaf.place.path, PLAIN).outcome, judged=judged)

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
        retry = instance.place.step.retry
        grants = self._planned.get(instance.place.path, PLAIN).grants
        return instance.tries + 1 < count_of(state, instance, retry.attempts) + len(retry.degrade) + grants

    def _judgement(self, leaf: Leaf, state: State) -> Literal["approve", "reject", "abort"]:
        """A reviewer of a step says what the witness says of the review; one in a gate rejects while there are tries."""
        review = state.instances[leaf.place.parent].place
        around = state.instances[review.parent]
        if isinstance(around.place.step.verb, Gates):
            judged = state.instances[around.place.parent]
            part = self._planned.get(judged.place.path, PLAIN)
            return "reject" if self._has_tries(judged, state) or part.outcome == "failed" else "approve"
        outcome = self._planned.get(review.path, PLAIN).outcome
        if outcome in ("rejected", "failed"):
            return "reject"
        return "abort" if outcome == "aborted" else "approve"

    def person(self, asked: ApprovalAsked, state: State, number: int) -> Later | None:
        place = state.instances[asked.path].place
        by = asked.by[number % len(asked.by)] if asked.by else f"person{number + 1}"
        answer = place.step.output.choices[0] if place.step.output.choices else None
        action = self._action_at(asked.path, state)
        return Later(Millis(0), Approve(asked.path, action, by, "because", answer))

    def _action_at(self, path: Path, state: State) -> str:
        place = state.instances[path].place
        actions = actions_of(place.step)
        if actions[0] == "retry":
            return "retry" if self._has_tries(state.instances[place.parent], state) else "fail"
        outcome = self._planned.get(path, PLAIN).outcome
        return {"rejected": "reject", "aborted": "abort"}.get(outcome, actions[0])


def _has_reviewer(gates: Step) -> bool:
    verb = gates.verb
    return isinstance(verb, Gates) and any(isinstance(gate.verb, Review) for gate in verb.members)


LONGEST: Final = 6
"""So many entries in a row are looked at when what repeats itself is put together."""


def told(planned: Witness) -> tuple[str, ...]:
    """The way through the top block as lines, with what repeats itself put together."""
    words = [_word(path, part) for path, part in planned.items() if "/" not in path and "[" not in path]
    lines: list[str] = []
    at = 0
    while at < len(words):
        length, times = max(_repeats(words, at), key=lambda found: (found[1] > 1) * found[0] * found[1])
        line = " > ".join(words[at : at + length])
        lines.append(line if times == 1 else f"{line}  ({times} times)")
        at += length * times
    return tuple(lines)


def _word(path: Path, part: Part) -> str:
    name = path.partition("~")[0]
    ending = "" if part.outcome == "passed" else f":{part.outcome}"
    return f"{name}{ending}" + (f" (granted {part.grants} more tries)" if part.grants else "")


def _repeats(words: list[str], at: int) -> list[tuple[int, int]]:
    """For each length: how often in a row the next so many words are said."""
    found = []
    for length in range(1, LONGEST + 1):
        times = 1
        while words[at : at + length] == words[at + times * length : at + (times + 1) * length]:
            times += 1
        found.append((length, times))
    return found
