"""Every verb with every outcome that language.md 3 lists for it: the step, how the world responds, the exit code.

The exit codes are those of language.md 5: "the exit code is that of the first failure that nobody routed, however
deep it stands", so a block whose command ran out of time ends with 124 and a step that a person's gate refused with 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

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
from podium.core.expressions.nodes import Call as Ask
from podium.core.expressions.nodes import Compare, Const, Field, Name, Node
from podium.core.expressions.templates import Text, Value
from podium.core.messages import Approve
from podium.core.model import (
    Agent,
    Block,
    Call,
    Check,
    Command,
    ForEach,
    Gates,
    Git,
    Human,
    Members,
    Repeat,
    Review,
    Set,
    Step,
    Verb,
    Wait,
    Workflow,
)
from podium.core.payloads import RefusedMember, Verdict
from podium.core.policy import Limits, Oversight, Retry
from podium.core.state import State
from podium.core.step_settings import Prompt
from podium.core.types import Address, AnswerKind, Millis, Outcome, Tree
from podium.simulate.world import DelayedReport

COUNT: Final = Ask("default", (Field(Field(Name("steps"), "first"), "visit"), Const(1)))
"""How often the step `first` has run; a jump back happens once, because `when` holds for one of two visits."""
ONCE: Final = Compare("<", COUNT, Const(2))
NOT_YET: Final = Compare(">=", COUNT, Const(2))
SECOND: Final = Millis(1_000)


class Scripted:
    """A world that responds to each step as the table says, by its name or the last part of its address; else it passes."""

    def __init__(self, said: Mapping[str, str]) -> None:
        self._said = said

    def _word(self, path: Address, state: State) -> tuple[str, str]:
        last = path.rpartition("/")[2]
        word = self._said.get(last) or self._said.get(state.instances[path].place.step.name, "ok")
        kind, _, reason = word.partition(":")
        return kind, reason

    def base(self) -> Tree | None:
        return Tree("base")

    def attempt(self, asked: AttemptStarted, state: State) -> DelayedReport:
        kind, reason = self._word(asked.path, state)
        step = state.instances[asked.path].place.step
        verdict = None
        if isinstance(step.verb, Agent) and step.verb.judge:
            decisions: dict[str, Verdict] = {
                "ok": Verdict("approve", 9, (), asked.start),
                "reject": Verdict("reject", 3, (), asked.start),
                "abort": Verdict("abort", 1, (), asked.start),
            }
            verdict = decisions.get(kind)
        answer: AnswerKind = "ok" if verdict is not None else kind  # type: ignore[assignment]  # a word of the table
        tree = Tree(f"{asked.path}#{asked.attempt}") if step.touches and answer == "ok" else asked.start
        ended = AttemptEnded(
            Millis(0),
            asked.path,
            asked.attempt,
            answer,
            reason,
            tree=tree,
            verdict=verdict,
            used=asked.reserve,
        )
        return DelayedReport(SECOND, ended)

    def person(self, asked: ApprovalAsked, state: State, number: int) -> DelayedReport | None:
        kind, _ = self._word(asked.path, state)
        if kind == "silent":
            return None
        return DelayedReport(SECOND, Approve(asked.path, "approve" if kind == "ok" else kind, "ann"))

    def wait(self, asked: WaitStarted, state: State) -> DelayedReport | None:
        kind, reason = self._word(asked.path, state)
        if kind == "silent":
            return None
        ended = WaitEnded(Millis(0), asked.path, kind, {"output": {}}, reason)  # type: ignore[arg-type]  # same
        return DelayedReport(SECOND, ended)

    def fact(self, asked: FactsAsked, state: State) -> Any:
        raise AssertionError("no row asks for a fact")

    def join(self, asked: JoinAsked, state: State) -> JoinEnded:
        if self._said.get("join") != "conflict":
            return JoinEnded(Millis(0), asked.path, Tree(f"joined {asked.path}"))
        path = asked.members[-1][0] if asked.gated else asked.path
        return JoinEnded(Millis(0), asked.path, None, (RefusedMember(path, "conflict", "both changed it"),))


# The steps. `x` is under test, `a` and `b` are inside it, `gate` judges it.


def command(name: str, *touches: str) -> Step:
    return Step(name, Command(argv=("true",)), touches=touches)


def agent(name: str, *touches: str, judge: bool = False) -> Step:
    return Step(name, Agent(role="writer", prompt=Prompt("Do it."), judge=judge), touches=touches)


def block(*steps: Step, kind: Any = "seq") -> Block:
    """A block; in a graph no step needs another."""
    index = {step.name: number for number, step in enumerate(steps)}
    dependents = ((),) * len(steps) if kind == "dag" else ()
    return Block(kind, steps, parallel=len(steps), index=index, dependents=dependents)


def child(*steps: Step, outputs: tuple[tuple[str, Value], ...] = ()) -> Call:
    return Call(Workflow("child", block(*steps), outputs=outputs))


def gates(gate: Step) -> Step:
    return Step("gates", Gates(((gate,),), (gate,)))


def always(value: bool) -> Node:
    return Const(value)


PANEL: Final = (agent("a", judge=True), agent("b", judge=True))
HUMAN: Final = Human(Prompt("Good?"))
CHANGES: Final = (command("a", "a/**"), command("b", "b/**"))
PAIR: Final = (command("a"), command("b"))
POLL: Final = Wait("poll", {"poll": ["ci"], "every": 60_000})
SIGNAL: Final = Wait("signal", {"signal": "go"})
UNTIL: Final = Repeat(command("x"), always(True), "until", 2)

VERBS: Final[Mapping[str, Verb]] = {
    "agent": agent("x").verb,
    "agents": Members((agent("a"), agent("b"))),
    "run": command("x").verb,
    "review": Review(PANEL),
    "human": HUMAN,
    "check": Check(always(True)),
    "wait": POLL,
    "signal": SIGNAL,
    "set": Set((("m", 1),)),
    "git": Git(land="main"),
    "steps": block(*PAIR),
    "parallel": block(*PAIR, kind="par"),
    "graph": block(*PAIR, kind="dag"),
    "workflow": child(*PAIR),
    "for_each": ForEach((1, 2), command("x"), parallel=2),
    "repeat": UNTIL,
}
"""Each verb when it passes."""


@dataclass(frozen=True)
class Row:
    """One way a verb can end. `limits` are those of the run; when they end it, no `on` applies."""

    verb: str
    label: str
    outcome: Outcome
    exit: int
    step: Step
    said: Mapping[str, str] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)

    @property
    def name(self) -> str:
        return f"{self.verb}-{self.label}"

    @property
    def hard(self) -> bool:
        return self.limits != Limits()


def row(
    verb: str,
    label: str,
    exit_code: int,
    said: str = "",
    *,
    does: Verb | None = None,
    own: Limits | None = None,
    run: Limits | None = None,
    **keys: Any,
) -> Row:
    """Make a row. The first word of the label is the outcome, `said` is "name=word name=word", `own` and `run` are limits."""
    outcome: Any = label.partition("_")[0]
    keys = {"when": ONCE, "touches": (), "limits": own or Limits(), **keys}
    step = Step("x", does or VERBS[verb], **keys)
    words = dict(pair.split("=") for pair in said.split())
    return Row(verb, label, outcome, exit_code, step, words, run or Limits())


def _good() -> list[Row]:
    """The outcomes that every verb has: passed, and skipped by `when`."""
    passed = [row(verb, "passed", 0) for verb in VERBS]
    return passed + [row(verb, "skipped", 0, when=NOT_YET) for verb in VERBS]


ASKING: Final = Review(PANEL, oversight=Oversight("human"))
NO_SUCH: Final = (("o", Field(Name("vars"), "nowhere")),)
CLASHING: Final = ForEach(
    ("a", "b"), replace(command("x"), touches=(Text((Name("item"), "/**")),)), parallel=2
)
WAITING: Final = Step("a", SIGNAL)
GATED: Final[Mapping[str, Step]] = {
    "run": gates(command("gate")),
    "review": gates(Step("panel", Review((agent("gate", judge=True),)))),
    "human": gates(Step("gate", HUMAN)),
    "check": gates(Step("gate", Check(always(False)))),
}

LEAVES: Final = [
    row("agent", "failed", 1, "x=failed:contract"),
    row("agent", "failed_by_its_own_limit", 5, "x=failed", own=Limits(calls=1), retry=Retry(2)),
    row("agent", "failed_by_the_limit_of_the_run", 5, "x=failed", run=Limits(calls=1), retry=Retry(2)),
    row("agent", "blocked", 1, "x=blocked"),
    row("agent", "timeout", 124, "x=timeout"),
    row("agent", "error", 1, "x=error:login"),
    row("agent", "error_unavailable", 1, "x=unavailable"),
    row("agent", "error_path", 3, "x=error:path"),
    row("run", "failed", 1, "x=failed"),
    row("run", "timeout", 124, "x=timeout"),
    row("run", "error", 1, "x=error:sandbox"),
    row("run", "error_path", 3, "x=error:path"),
    row("human", "rejected", 4, "x=reject"),
    row("human", "aborted", 4, "x=abort"),
    row("human", "timeout", 124, "x=silent", timeout=SECOND),
    row("check", "failed", 1, does=Check(always(False))),
    row("wait", "failed", 1, "x=failed"),
    row("wait", "timeout", 124, "x=silent", timeout=SECOND),
    row("wait", "error", 1, "x=error:sandbox"),
    row("wait", "error_path", 3, "x=error:path"),
    row("signal", "timeout", 124, "x=silent", timeout=SECOND),
    row("git", "failed", 1, "x=failed"),
    row("git", "conflict", 1, "x=failed:conflict"),
    row("git", "error", 1, "x=error:remote"),
    row("git", "error_path", 3, "x=error:path"),
]

JUDGES: Final = [
    row("review", "rejected", 1, "a=reject"),
    row("review", "rejected_by_a_person", 4, "!confirm=reject", does=ASKING),
    row("review", "aborted", 1, "a=reject b=abort"),
    row("review", "aborted_by_a_person", 4, "!confirm=abort", does=ASKING),
    row("review", "timeout", 124, "a=timeout b=timeout"),
    row("review", "error", 1, "a=error b=error"),
    row("review", "error_path", 3, "a=error:path b=error:path"),
    row("agent", "failed_by_a_command", 1, "gate=failed", gates=GATED["run"]),
    row("agent", "failed_by_a_slow_command", 124, "gate=timeout", gates=GATED["run"]),
    row("agent", "failed_by_a_check", 1, gates=GATED["check"]),
    row("agent", "failed_by_a_reviewer", 1, "gate=reject", gates=GATED["review"]),
    row("agent", "failed_by_a_person", 4, "gate=reject", gates=GATED["human"]),
    row("agent", "aborted_by_a_reviewer", 1, "gate=abort", gates=GATED["review"]),
    row("agent", "aborted_by_a_person", 4, "gate=abort", gates=GATED["human"]),
    row("run", "failed_by_a_person", 4, "gate=reject", gates=GATED["human"]),
    row("run", "aborted_by_a_person", 4, "gate=abort", gates=GATED["human"]),
    row("git", "aborted_by_a_person", 4, "gate=abort", gates=GATED["human"]),
    row("steps", "failed_by_a_command", 1, "gate=failed", gates=GATED["run"]),
    row("steps", "failed_by_a_person", 4, "gate=reject", gates=GATED["human"]),
    row("steps", "aborted_by_a_reviewer", 1, "gate=abort", gates=GATED["review"]),
    row("steps", "aborted_by_a_person", 4, "gate=abort", gates=GATED["human"]),
    row("workflow", "aborted_by_a_person", 4, "gate=abort", gates=GATED["human"]),
]

SCOPES: Final = [
    row("agents", "partial", 1, "b=failed"),
    row("agents", "partial_for_time", 124, "b=timeout"),
    row("agents", "failed", 1, "a=blocked b=timeout"),
    row("agents", "failed_for_time", 124, "a=timeout b=error:path"),
    row("agents", "failed_for_a_path", 3, "a=error:path b=failed"),
    row("steps", "failed", 1, "b=failed"),
    row("steps", "failed_for_time", 124, "a=timeout"),
    row("steps", "failed_for_a_path", 3, "a=error:path"),
    row("steps", "failed_inside_by_a_person", 4, "a=reject", does=block(Step("a", HUMAN))),
    row("steps", "timeout", 124, "a=silent", does=block(WAITING), timeout=SECOND),
    row("parallel", "partial", 1, "a=failed"),
    row("parallel", "partial_for_a_clash", 1, "join=conflict", does=block(*CHANGES, kind="par")),
    row("parallel", "failed", 1, "a=failed b=timeout"),
    row("parallel", "timeout", 124, "a=silent", does=block(WAITING, kind="par"), timeout=SECOND),
    row("graph", "failed", 1, "b=failed"),
    row("graph", "failed_for_time", 124, "b=timeout"),
    row("graph", "conflict", 1, "join=conflict", does=block(*CHANGES, kind="dag")),
    row("graph", "timeout", 124, "a=silent", does=block(WAITING, kind="dag"), timeout=SECOND),
    row("workflow", "failed", 1, "a=failed"),
    row("workflow", "failed_for_time", 124, "b=timeout"),
    row("workflow", "failed_for_a_path", 3, "a=error:path"),
    row("workflow", "failed_by_a_person", 4, "a=abort", does=child(Step("a", HUMAN))),
    row("workflow", "timeout", 124, "a=silent", does=child(WAITING), timeout=SECOND),
    row("workflow", "error", 1, does=child(*PAIR, outputs=NO_SUCH)),
    row("for_each", "partial", 1, "x[2]=failed"),
    row("for_each", "partial_for_time", 124, "x[1]=timeout"),
    row("for_each", "partial_for_a_clash", 1, "join=conflict", does=CLASHING),
    row("for_each", "failed", 1, "x=failed"),
    row("for_each", "failed_for_a_path", 3, "x=error:path"),
    row("repeat", "failed", 1, does=replace(UNTIL, test=always(False))),
    row("repeat", "failed_in_a_round", 1, "x=failed"),
    row("repeat", "failed_for_time", 124, "x=timeout"),
]

ROWS: Final = [*_good(), *LEAVES, *JUDGES, *SCOPES]
