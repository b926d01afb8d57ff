"""A random world: every answer is drawn from the seed and the asking place, never from the order of questions."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from podium.core.addresses import without_numbers
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
from podium.core.payloads import Amounts, Ask, RefusedMember, Verdict
from podium.core.queries.conversations import conversation_about, conversation_of
from podium.core.queries.graph import actions_of
from podium.core.queries.teams import may_ask, team_of
from podium.core.state import State
from podium.core.types import Address, AnswerKind, MicroUsd, Millis, Tree
from podium.fast_dataclass import dataclass
from podium.simulate.loop_lists import answer_lists, answer_with
from podium.simulate.world import DelayedReport, name_of_person
from podium.workflow.contracts.examples import example_of

MINUTE = 60_000
LAST_WORD_SHARE: Final = 0.3
"""How often a person ends a conversation with an answer."""


@dataclass(frozen=True, slots=True)
class Odds:
    """How often things go wrong, as shares of 1."""

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
    """Zero by default, because an agent either always reports its price or never does."""
    fact: float = 0.5
    unchanged: float = 0.05
    ask: float = 0.3
    """How often the worker of a team asks somebody instead of finishing."""


class PastUse(NamedTuple):
    """What calls of a step used in earlier runs: least, median and most; None if unknown."""

    usd: tuple[int, int, int] | None
    tokens: tuple[int, int, int] | None
    time: tuple[int, int, int]


NO_PAST: Final[Mapping[str, PastUse]] = {}

DEFAULT_ODDS = Odds()
NO_FAILURES = Odds(*([0.0] * 18))
"""Nothing goes wrong."""


class RandomWorld:
    """Answers by the odds; `pace` seeds the durations separately, so that it changes only the order of events."""

    def __init__(
        self, seed: int, odds: Odds = DEFAULT_ODDS, *, pace: int = 0, past: Mapping[str, PastUse] = NO_PAST
    ) -> None:
        """`past` is what calls have used, by the address of their step without numbers."""
        self._past = past
        self._seed = str(seed)
        self._pace = f"pace{pace}:{seed}"
        self._odds = odds

    def base(self) -> Tree | None:
        return Tree("base")

    def attempt(self, started: AttemptStarted, state: State) -> DelayedReport:
        step = state.instances[started.path].place.step
        place = f"{started.path}#{started.attempt}"
        kind = self._kind(place, step)
        duration = self._duration(place, step, self._past.get(without_numbers(started.path)))
        if started.timeout is not None and duration > started.timeout:
            duration, kind = started.timeout, "timeout"
        return DelayedReport(duration, self._ended(started, state, kind))

    def _kind(self, place: str, step: Step) -> AnswerKind:
        share = self._draw(place, "kind")
        for kind, probability in _failure_odds(self._odds, step):
            if share < probability:
                return kind
            share -= probability
        return "ok"

    def _ended(self, started: AttemptStarted, state: State, kind: AnswerKind) -> AttemptEnded:
        step, place = state.instances[started.path].place.step, f"{started.path}#{started.attempt}"
        verb = step.verb
        agent = isinstance(verb, Agent)
        judge = isinstance(verb, Agent) and verb.judge
        asks = self.asks(started, state) if kind == "ok" and agent else ()
        kind = "asked" if asks else kind
        ok = kind == "ok"
        may_change = (agent or bool(step.touches)) and not judge and step.touches != ()
        changed = (
            kind in ("ok", "asked") and may_change and not self._happens(place, "same", self._odds.unchanged)
        )
        result: dict[str, Any] = {"text": f"answer of {step.name}"}
        if ok:
            result["output"] = self._output(step, place, state)
        if isinstance(verb, Command):
            result["exit_code"] = 0 if ok else 1
        return AttemptEnded(
            at=Millis(0),
            path=started.path,
            attempt=started.attempt,
            kind=kind,
            reason="" if ok else self._reason(kind, step),
            result=result,
            tree=Tree(place) if changed else started.start,
            change={"files": 2, "added": 9, "removed": 3, "paths": ["src/a.py", "tests/b.py"]},
            verdict=self._verdict(place, started.start) if judge and ok else None,
            # A used-up quota refuses the call, so nothing is used.
            used=self._used(started, place) if agent and kind != "quota" else Amounts(),
            cost_known=not (agent and self._happens(place, "cost", self._odds.unknown_cost)),
            digest=place if changed or not ok else "same",
            asks=asks,
            similarity_percent=int(self._draw(place, "like") * 100),
        )

    def asks(self, started: AttemptStarted, state: State) -> tuple[Ask, ...]:
        """What a worker asks its team; () if it finishes."""
        leaf, place = state.instances[started.path], f"{started.path}#{started.attempt}"
        conversation = conversation_of(state, leaf)
        if conversation is not None and conversation.is_open:
            return (Ask(conversation.member.name, f"turn {conversation.answered + 1}"),)
        names = may_ask(state, leaf) if team_of(state, leaf) else ()
        if not names or not self._happens(place, "ask", self._odds.ask):
            return ()
        count = 1 + int(self._draw(place, "asks") * 2)
        return tuple(
            Ask(
                names[int(self._draw(place, f"to{number}") * len(names))],
                f"question {int(self._draw(place, f'question{number}') * 4)}",
            )
            for number in range(count)
        )

    def _output(self, step: Step, place: str, state: State) -> Any:
        answer_list = answer_lists(_workflow(state)).get(step.name)
        width = None if answer_list is None else self._width(step, place)
        if width is None and answer_list is not None and answer_list.most is not None:
            width = 1 + int(self._draw(place, "width") * answer_list.most)
        if answer_list is None or width is None:
            return example_of(step.output, step.name, lambda at: self._draw(place, at))
        return answer_with(step.output, answer_list, step.name, width, lambda at: self._draw(place, at))

    def _width(self, step: Step, place: str) -> int | None:
        """The number of items that a loop over this answer gets; None leaves it to the contract."""
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
        return "" if kind in ("timeout", "asked") else kind

    def _verdict(self, place: str, tree: Tree | None) -> Verdict:
        share = self._draw(place, "verdict")
        score = 1 + int(self._draw(place, "score") * 10)
        if share < self._odds.abort:
            return Verdict("abort", 1, (), tree)
        if share < self._odds.abort + self._odds.reject:
            finding = {"id": place, "severity": "major", "issue": "not good enough", "status": "open"}
            return Verdict("reject", min(score, 6), (finding,), tree)
        return Verdict("approve", max(score, 7), (), tree)

    def _used(self, started: AttemptStarted, place: str) -> Amounts:
        reserve = started.reserve
        if not reserve.usd and not reserve.tokens and not reserve.calls:
            return reserve
        draw, past = self._draw(place, "used"), self._past.get(without_numbers(started.path))
        share = 0.2 + 0.8 * draw
        usd, tokens = int(reserve.usd * share), int(reserve.tokens * share)
        if past is not None and past.usd is not None:
            usd = _between(past.usd, draw)
        if past is not None and past.tokens is not None:
            tokens = _between(past.tokens, draw)
        return Amounts(MicroUsd(usd), tokens, reserve.calls)

    def _duration(self, place: str, step: Step, past: PastUse | None) -> Millis:
        if past is not None:
            return Millis(_between(past.time, _share(f"{self._pace}|{place}")))
        longest = 5 * MINUTE if isinstance(step.verb, Agent) else MINUTE // 2
        share = _share(f"{self._pace}|{place}")
        return Millis(1_000 + int(share * share * longest))

    def person(self, question: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        place = question.path if number == 0 else f"{question.path}:{number}"
        if question.expires is not None and self._happens(place, "silence", self._odds.silence):
            return None
        step = state.instances[question.path].place.step
        action = self._action(place, step)
        by = name_of_person(question, state, number)
        delay = Millis(MINUTE + int(_share(f"{self._pace}|{place}") * 60 * MINUTE))
        answer = step.output.choices[0] if step.output.choices else None
        conversation = conversation_about(state, state.instances[question.path])
        if conversation is not None:
            is_last = self._happens(place, "last", LAST_WORD_SHARE)
            answer = conversation.member.until if is_last else "go on"
        return DelayedReport(delay, Approve(question.path, action, by, "because", answer))

    def _action(self, place: str, step: Step) -> str:
        actions, share = actions_of(step), self._draw(place, "person")
        if actions[0] != "approve":
            default = {"retry": "fail", "rerun": "rerun", "proceed": "halt"}.get(actions[0], actions[0])
            return actions[0] if share < 0.5 else default
        if share < self._odds.person_aborts:
            return "abort"
        return "reject" if share < self._odds.person_aborts + self._odds.person_rejects else "approve"

    def wait(self, wait: WaitStarted, state: State) -> DelayedReport | None:
        verb = state.instances[wait.path].place.step.verb
        if getattr(verb, "timer", None) is not None or getattr(verb, "minute_of_day", None) is not None:
            return None
        if wait.due is not None and self._happens(wait.path, "silence", self._odds.silence):
            return None
        kind = "failed" if self._draw(wait.path, "wait") < self._odds.failed else "ok"
        if getattr(verb, "what", "") != "poll":
            kind = "ok"
        delay = Millis(1_000 + int(_share(f"{self._pace}|{wait.path}") * 10 * MINUTE))
        ended = WaitEnded(Millis(0), wait.path, "ok" if kind == "ok" else "failed", {"output": {}})
        return DelayedReport(delay, ended)

    def fact(self, query: FactsAsked, state: State) -> Any:
        share = self._draw(f"{query.path}:{query.tree}:{query.argument}", query.function)
        if query.function == "glob":
            return [f"file{i}" for i in range(int(share * 4))]
        return share < self._odds.fact

    def join(self, request: JoinAsked, state: State) -> JoinEnded:
        place = "+".join((request.onto, *(path for path, _ in request.members)))
        if self._happens(place, "join", self._odds.conflict):
            path = request.members[-1][0]
            refused = (
                RefusedMember(path if request.gated else request.path, "conflict", "both changed src/a.py"),
            )
            keeps_rest = len(request.members) > 1 and request.gated
            return JoinEnded(
                Millis(0), request.path, Tree(_tree_name(place)) if keeps_rest else None, refused
            )
        return JoinEnded(Millis(0), request.path, Tree(_tree_name(place)))

    def _happens(self, place: Address | str, topic: str, probability: float) -> bool:
        return probability > 0 and self._draw(place, topic) < probability

    def _draw(self, place: Address | str, topic: str) -> float:
        return _share(f"{self._seed}|{place}|{topic}")


def _failure_odds(odds: Odds, step: Step) -> tuple[tuple[AnswerKind, float], ...]:
    """The ways in which an attempt of this step may fail, with their probabilities."""
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


def _between(spread: tuple[int, int, int], share: float) -> int:
    """Half of the values lie below the median."""
    least, median, most = spread
    if share < 0.5:
        return least + int((median - least) * 2 * share)
    return median + int((most - median) * (2 * share - 1))


def _workflow(state: State) -> Workflow:
    run = state.root.verb
    assert isinstance(run, Call)
    return run.workflow


def _share(place: str) -> float:
    return int.from_bytes(blake2b(place.encode(), digest_size=6).digest()) / 2**48


def _tree_name(text: str) -> str:
    return "join-" + blake2b(text.encode(), digest_size=8).hexdigest()
