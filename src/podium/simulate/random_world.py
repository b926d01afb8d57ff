"""A random world: every answer is drawn from the seed and the place that asked, never from the order of asking."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from podium.core.events import (
    ApprovalAsked,
    AttemptEnded,
    AttemptStarted,
    FactsAsked,
    JoinAsked,
    JoinEnded,
    WaitEnded,
    WaitStarted,
)
from podium.core.messages import Approve
from podium.core.model import Agent, Call, Command, Git, Step, Workflow
from podium.core.payloads import Amounts, RefusedMember, Verdict
from podium.core.queries.graph import actions_of
from podium.core.state import State
from podium.core.types import AnswerKind, MicroUsd, Millis, Path, Tree
from podium.simulate.loop_lists import answer_with, lists_of
from podium.simulate.world import DelayedReport
from podium.workflow.contracts.examples import example_of

MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Odds:
    """How often things go wrong, as shares."""

    failed: float = 0.15
    timeout: float = 0.01
    transient: float = 0.03
    malformed: float = 0.02
    quota: float = 0.01
    unavailable: float = 0.005
    blocked: float = 0.005
    error: float = 0.005
    reject: float = 0.2
    abort: float = 0.01
    person_rejects: float = 0.1
    person_aborts: float = 0.01
    silence: float = 0.02
    conflict: float = 0.03
    unknown_cost: float = 0.0
    """Not a matter of luck: an agent tells its price or does not."""
    fact: float = 0.5
    unchanged: float = 0.05


ORDINARY = Odds()
CALM = Odds(*([0.0] * 17))
"""Nothing goes wrong."""


class RandomWorld:
    """Answers by the odds; `pace` draws durations from another seed, so that only the order changes with it."""

    def __init__(self, seed: int, odds: Odds = ORDINARY, *, pace: int = 0) -> None:
        self._seed = str(seed)
        self._pace = f"pace{pace}:{seed}"
        self._odds = odds

    def base(self) -> Tree | None:
        return Tree("base")

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        step = state.instances[asked.path].place.step
        place = f"{asked.path}#{asked.attempt}"
        kind = self._kind(place, step)
        took = self._duration(place, step)
        if asked.timeout is not None and took > asked.timeout:
            took, kind = asked.timeout, "timeout"
        return DelayedReport(took, self._ended(asked, state, kind))

    def _kind(self, place: str, step: Step) -> AnswerKind:
        share = self._draw(place, "kind")
        for kind, odd in _troubles(self._odds, step):
            if share < odd:
                return kind
            share -= odd
        return "ok"

    def _ended(self, asked: AttemptStarted, state: State, kind: AnswerKind) -> AttemptEnded:
        step, place = state.instances[asked.path].place.step, f"{asked.path}#{asked.attempt}"
        verb = step.verb
        agent = isinstance(verb, Agent)
        judge = isinstance(verb, Agent) and verb.judge
        ok = kind == "ok"
        keeps = (agent or bool(step.touches)) and not judge and step.touches != ()
        changed = ok and keeps and not self._happens(place, "same", self._odds.unchanged)
        result: dict[str, Any] = {"text": f"answer of {step.name}"}
        if ok:
            result["output"] = self._output(step, place, state)
        if isinstance(verb, Command):
            result["exit_code"] = 0 if ok else 1
        return AttemptEnded(
            at=Millis(0),
            path=asked.path,
            attempt=asked.attempt,
            kind=kind,
            reason="" if ok else self._reason(kind, step),
            result=result,
            tree=Tree(place) if changed else asked.start,
            change={"files": 2, "added": 9, "removed": 3, "paths": ["src/a.py", "tests/b.py"]},
            verdict=self._verdict(place, asked.start) if judge and ok else None,
            # A used-up quota refuses the call, so that there is none.
            used=self._used(asked, place) if agent and kind != "quota" else Amounts(),
            cost_known=not (agent and self._happens(place, "cost", self._odds.unknown_cost)),
            digest=place if changed or not ok else "same",
            likeness=int(self._draw(place, "like") * 100),
        )

    def _output(self, step: Step, place: str, state: State) -> Any:
        listing = lists_of(_workflow(state)).get(step.name)
        width = None if listing is None else self._width(step, place)
        if listing is None or width is None:
            return example_of(step.output, step.name, lambda at: self._draw(place, at))
        return answer_with(step.output, listing, step.name, width, lambda at: self._draw(place, at))

    def _width(self, step: Step, place: str) -> int | None:
        """How many items a loop over this answer gets; None leaves that to the contract."""
        return int(self._draw(place, "width") * 4) if step.output.kind == "json" else None

    def _reason(self, kind: AnswerKind, step: Step) -> str:
        if kind == "failed":
            return (
                "conflict"
                if isinstance(step.verb, Git)
                else "contract"
                if isinstance(step.verb, Agent)
                else ""
            )
        return "" if kind == "timeout" else kind

    def _verdict(self, place: str, tree: Tree | None) -> Verdict:
        share = self._draw(place, "verdict")
        score = 1 + int(self._draw(place, "score") * 10)
        if share < self._odds.abort:
            return Verdict("abort", 1, (), tree)
        if share < self._odds.abort + self._odds.reject:
            finding = {"id": place, "severity": "major", "issue": "not good enough", "status": "open"}
            return Verdict("reject", min(score, 6), (finding,), tree)
        return Verdict("approve", max(score, 7), (), tree)

    def _used(self, asked: AttemptStarted, place: str) -> Amounts:
        reserve = asked.reserve
        if not reserve.usd and not reserve.tokens:
            return reserve
        share = 0.2 + 0.8 * self._draw(place, "used")
        return Amounts(MicroUsd(int(reserve.usd * share)), int(reserve.tokens * share), reserve.calls)

    def _duration(self, place: str, step: Step) -> Millis:
        longest = 5 * MINUTE if isinstance(step.verb, Agent) else MINUTE // 2
        share = _share(f"{self._pace}|{place}")
        return Millis(1_000 + int(share * share * longest))

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        place = asked.path if number == 0 else f"{asked.path}:{number}"
        if asked.expires is not None and self._happens(place, "silence", self._odds.silence):
            return None
        step = state.instances[asked.path].place.step
        action = self._action(place, step)
        by = asked.by[number % len(asked.by)] if asked.by else f"person{number + 1}"
        took = Millis(MINUTE + int(_share(f"{self._pace}|{place}") * 60 * MINUTE))
        answer = step.output.choices[0] if step.output.choices else None
        return DelayedReport(took, Approve(asked.path, action, by, "because", answer))

    def _action(self, place: str, step: Step) -> str:
        actions, share = actions_of(step), self._draw(place, "person")
        if actions[0] != "approve":
            usual = {"retry": "fail", "rerun": "rerun", "proceed": "halt"}.get(actions[0], actions[0])
            return actions[0] if share < 0.5 else usual
        if share < self._odds.person_aborts:
            return "abort"
        return "reject" if share < self._odds.person_aborts + self._odds.person_rejects else "approve"

    def wait(self, asked: WaitStarted, state: State) -> DelayedReport | None:
        verb = state.instances[asked.path].place.step.verb
        if getattr(verb, "timer", None) is not None or getattr(verb, "minute_of_day", None) is not None:
            return None
        if asked.due is not None and self._happens(asked.path, "silence", self._odds.silence):
            return None
        kind = "failed" if self._draw(asked.path, "wait") < self._odds.failed else "ok"
        if getattr(verb, "what", "") != "poll":
            kind = "ok"
        took = Millis(1_000 + int(_share(f"{self._pace}|{asked.path}") * 10 * MINUTE))
        ended = WaitEnded(Millis(0), asked.path, "ok" if kind == "ok" else "failed", {"output": {}})
        return DelayedReport(took, ended)

    def fact(self, asked: FactsAsked, state: State) -> Any:
        share = self._draw(f"{asked.path}:{asked.tree}:{asked.argument}", asked.function)
        if asked.function == "glob":
            return [f"file{i}" for i in range(int(share * 4))]
        return share < self._odds.fact

    def join(self, asked: JoinAsked, state: State) -> JoinEnded:
        place = "+".join((asked.onto, *(path for path, _ in asked.members)))
        if self._happens(place, "join", self._odds.conflict):
            path = asked.members[-1][0]
            refused = (
                RefusedMember(path if asked.gated else asked.path, "conflict", "both changed src/a.py"),
            )
            kept = len(asked.members) > 1 and asked.gated
            return JoinEnded(Millis(0), asked.path, Tree(_short(place)) if kept else None, refused)
        return JoinEnded(Millis(0), asked.path, Tree(_short(place)))

    def _happens(self, place: Path | str, what: str, odd: float) -> bool:
        return odd > 0 and self._draw(place, what) < odd

    def _draw(self, place: Path | str, what: str) -> float:
        return _share(f"{self._seed}|{place}|{what}")


def _troubles(odds: Odds, step: Step) -> tuple[tuple[AnswerKind, float], ...]:
    """How an attempt of this step may go wrong, and how often it does."""
    verb = step.verb
    if isinstance(verb, Git):
        return (("failed", odds.conflict), ("error", odds.error))
    if not isinstance(verb, Agent):
        return (("failed", odds.failed), ("timeout", odds.timeout), ("error", odds.error))
    return (
        ("failed", 0.0 if verb.judge else odds.failed),
        ("timeout", odds.timeout),
        ("transient", odds.transient),
        ("malformed", odds.malformed),
        ("quota", odds.quota),
        ("unavailable", odds.unavailable),
        ("blocked", odds.blocked),
        ("error", odds.error),
    )


def _workflow(state: State) -> Workflow:
    run = state.root.verb
    assert isinstance(run, Call)
    return run.workflow


def _share(place: str) -> float:
    return int.from_bytes(blake2b(place.encode(), digest_size=6).digest()) / 2**48


def _short(text: str) -> str:
    return "join-" + blake2b(text.encode(), digest_size=8).hexdigest()
