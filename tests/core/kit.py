"""Short constructors for workflows, and a run that a test drives message by message."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from podium.core.effects import EffectKind, StartTimer
from podium.core.events import AttemptEnded, Event, FactsFound, JoinEnded, WaitEnded
from podium.core.evolve.evolve import initial
from podium.core.expressions.nodes import Const, Field, Name, Node
from podium.core.messages import Approve, Fired, Message, Refusal, Start
from podium.core.model import (
    Agent,
    Block,
    Check,
    Command,
    Gates,
    Human,
    Review,
    Set,
    Step,
    Target,
    Wait,
    Workflow,
)
from podium.core.payloads import RunFacts, Verdict
from podium.core.policy import Limits, Oversight
from podium.core.queries.claims import claim_of_leaf
from podium.core.state import Instance, Leaf, Placement, State
from podium.core.step_settings import Prompt
from podium.core.turn import Turn, turn
from podium.core.types import Address, Millis, Outcome, Tree

BASE = Tree("base")


def block(kind: Any, *steps: Step, **rest: Any) -> Block:
    index = MappingProxyType({step.name: place for place, step in enumerate(steps)})
    dependents = tuple(
        tuple(other for other, step in enumerate(steps) if place in step.needs) for place in range(len(steps))
    )
    return Block(kind, steps, index=index, dependents=dependents if kind == "dag" else (), **rest)


def flow(
    *steps: Step, kind: Any = "seq", block_keys: Mapping[str, Any] | None = None, **rest: Any
) -> Workflow:
    return Workflow("w", block(kind, *steps, **(block_keys or {})), **rest)


def agent(name: str, *, touches: Any = ("src/**",), verb: Agent | None = None, **rest: Any) -> Step:
    worker = verb or Agent(role="worker", prompt=Prompt("Do it"))
    return Step(name, worker, touches=touches, has_worker=not worker.judge, **rest)


def command(name: str, **rest: Any) -> Step:
    return Step(name, Command(("true",)), touches=(), **rest)


def judge(name: str) -> Step:
    return agent(name, touches=(), verb=Agent(role="judge", judge=True, member=name))


def review(name: str, *of: str, judges: int = 1, **rest: Any) -> Step:
    return Step(name, Review(tuple(judge(f"j{n + 1}") for n in range(judges)), of, **rest), touches=())


def human(
    name: str, *, timeout: int | None = None, answers: bool = False, level: Any = "human", **sight: Any
) -> Step:
    verb = Human(Prompt("Good?"), Oversight(level=level, **sight), answers)
    return Step(name, verb, touches=(), timeout=None if timeout is None else Millis(timeout))


def check(name: str, test: Node) -> Step:
    return Step(name, Check(test), touches=())


def sets(name: str, **values: Any) -> Step:
    return Step(name, Set(tuple(values.items())), touches=())


def signal(name: str, word: str = "go", **rest: Any) -> Step:
    return Step(name, Wait("signal", MappingProxyType({"signal": word})), touches=(), **rest)


def gates(*stages: tuple[Step, ...]) -> Step:
    return Step("gates", Gates(stages, tuple(gate for stage in stages for gate in stage)))


def on(**routes: int | str) -> Mapping[Outcome, Target]:
    """Routes: `failed=0` leads to the first step, `failed="next"` names a kind of target."""
    targets: Any = {
        word: Target("step", to) if isinstance(to, int) else Target(to)  # type: ignore[arg-type]  # a kind of target
        for word, to in routes.items()
    }
    return MappingProxyType(targets)


def name_of(text: str) -> Node:
    """`steps.a.output` as a node."""
    first, *rest = text.split(".")
    node: Node = Name(first)
    for part in rest:
        node = Field(node, part)
    return node


TRUE = Const(value=True)
FALSE = Const(value=False)


class Game:
    """A run that a test drives; its time advances by a second with each message."""

    def __init__(self, workflow: Workflow, *, facts: dict[str, Any] | None = None, **start: Any) -> None:
        self.state: State = initial(workflow)
        self.log: list[Event] = []
        self.now = Millis(0)
        self.last: Turn | None = None
        start = {"tree": BASE, **start}
        self.send(Start(RunFacts("r1", "w", "main", "base", "2026-01-01", **(facts or {})), **start))

    def send(self, message: Message, *, at: int | None = None) -> Turn | Refusal:
        self.now = Millis(self.now + 1_000 if at is None else at)
        result = turn(self.state, message, self.now)
        if isinstance(result, Refusal):
            return result
        self.state, self.last = result.state, result
        self.log.extend(result.events)
        return result

    def end(self, path: str, kind: Any = "ok", **rest: Any) -> None:
        """End the attempt in flight at this address, by default with a new tree."""
        effect: Any = self.state.pending[("attempt", Address(path))]
        started = effect.started
        if kind == "ok" and "tree" not in rest:
            rest["tree"] = (
                started.start
                if not self._claims(started.path) and "change" not in rest
                else Tree(f"{path}#{started.attempt}")
            )
        self.send(AttemptEnded(Millis(0), started.path, started.attempt, kind, **rest))

    def _claims(self, path: Address) -> bool:
        """Whether the work of this leaf is merged with that of others."""
        leaf = self.state.instances[path]
        return any(place.claim for place in self._around(path)) and claim_of_leaf(self.state, leaf) != ()  # type: ignore[arg-type]

    def _around(self, path: Address) -> Iterator[Placement]:
        place = self.state.instances[path].place
        yield place
        while place.path != place.parent:
            place = self.state.instances[place.parent].place
            yield place

    def end_with_change(self, path: str, **rest: Any) -> None:
        """End the attempt in flight successfully, with changed files."""
        effect: Any = self.state.pending[("attempt", Address(path))]
        self.end(path, tree=Tree(f"{path}#{effect.started.attempt}"), **rest)

    def give_verdict(
        self, path: str, decision: Any = "approve", score: float | None = 8, **rest: Any
    ) -> None:
        start = self.state.instances[Address(path)].place.start
        self.end(path, verdict=Verdict(decision, score, tree=start, **rest))

    def answer(self, path: str, action: str = "approve", by: str = "me", **rest: Any) -> Turn | Refusal:
        return self.send(Approve(Address(path), action, by, **rest))

    def end_wait(self, path: str, kind: Any = "ok", **rest: Any) -> None:
        self.send(WaitEnded(Millis(0), Address(path), kind, **rest))

    def report_fact(self, path: str, value: Any) -> None:
        effect: Any = self.state.pending[("fact", Address(path))]
        query = effect.query
        self.send(FactsFound(Millis(0), query.path, query.function, query.argument, query.tree, value))

    def end_join(self, path: str, tree: str | None = "joined", **rest: Any) -> None:
        self.send(JoinEnded(Millis(0), Address(path), None if tree is None else Tree(tree), **rest))

    def fire_timer(self, path: str, due: int) -> None:
        self.send(Fired(Address(path), Millis(due)), at=max(due, self.now))

    def wait_for_retry(self, path: str) -> int:
        """Let the pause before the next attempt pass, and return its length."""
        waiting = self.at(path)
        kind: EffectKind = "timer" if isinstance(waiting, Leaf) else "retry"
        effect = self.state.pending.get((kind, waiting.place.path))
        assert isinstance(effect, StartTimer), f"{path!r} does not wait for its next attempt"
        pause = effect.due - self.now
        self.fire_timer(path, effect.due)
        return pause

    def at(self, path: str) -> Instance:
        return self.state.instances[Address(path)]

    def outcome(self, path: str = "") -> tuple[str, str]:
        ending = self.at(path).ending
        assert ending is not None, f"{path!r} has not ended; pending: {self.state.pending}"
        return ending.outcome, ending.reason

    def in_flight(self) -> list[str]:
        return [path for (kind, path), _ in self.state.pending.items() if kind == "attempt"]

    def open_questions(self) -> list[str]:
        return [path for (kind, path), _ in self.state.pending.items() if kind == "person"]

    def events(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.log if isinstance(event, kind)]


def with_limits(step: Step, **limits: Any) -> Step:
    return replace(step, limits=Limits(**limits))
