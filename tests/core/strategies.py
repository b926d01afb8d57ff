"""Random workflows and the worlds they run in, from a seed, biased towards the subject of each property.

Drawing from a seed is fast enough for thousands of workflows; a failing one is printed as an outline (outline.py).
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from hypothesis import strategies as st

from podium.core.model import (
    Block,
    Call,
    ForEach,
    Input,
    Join,
    Members,
    Panel,
    Repeat,
    Step,
    Target,
    Workflow,
)
from podium.core.policy import NO_LIMITS, Breaker, Failures, Limits, NeedsRule, PassRule
from podium.core.types import MicroUsd, Millis, Outcome
from podium.simulate.random_world import Odds
from tests.core.bias import Bias
from tests.core.outline import outline
from tests.core.random_leaves import Leaves
from tests.core.shapes import ADVISOR, VARS, field_of, number_test
from tests.core.worlds import Lenient, Wild

FAILURES: Final[tuple[Outcome, ...]] = (
    "failed", "failed", "failed", "rejected", "rejected", "timeout", "partial", "error", "aborted", "conflict", "blocked",
)  # fmt: skip
CENT: Final = 10_000


@dataclass(frozen=True, slots=True)
class Case:
    """A workflow and a world, with a readable repr for failing examples."""

    seed: int
    workflow: Workflow
    odds: Odds
    halts: bool = True

    def world(self, pace: int = 0) -> Wild:
        return (Wild if self.halts else Lenient)(self.seed, self.odds, pace=pace)

    def __repr__(self) -> str:
        return f"seed {self.seed}\n{outline(self.workflow)}\n"


def cases(bias: Bias, odds: Odds | None = None) -> st.SearchStrategy[Case]:
    """Random cases; if `odds` is None, the rate of failures is also random."""
    return st.integers(0, 2**48 - 1).map(lambda seed: case(seed, bias, odds))


def case(seed: int, bias: Bias, odds: Odds | None = None) -> Case:
    maker = Maker(random.Random(seed), bias)
    workflow = maker.workflow(bias.depth)
    return Case(seed, workflow, maker.odds() if odds is None else odds, bias.halts)


class Maker(Leaves):
    """Draws random workflows; each method is named after the kind of step it draws."""

    def odds(self) -> Odds:
        rng, bias = self.rng, self.bias
        hostile = rng.choice((0.0, 0.5, 1.0, 2.0)) * bias.trouble
        return Odds(
            failed=0.15 * hostile,
            timeout=0.03 * hostile,
            transient=0.05 * hostile,
            malformed=0.05 * hostile,
            quota=0.03 * hostile,
            unavailable=0.01 * hostile,
            blocked=0.02 * hostile,
            error=0.02 * hostile,
            reject=0.2 * hostile,
            abort=0.02 * hostile,
            person_rejects=0.15 * hostile,
            person_aborts=0.03 * hostile,
            silence=0.1 * hostile,
            conflict=0.1 * hostile,
            unknown_cost=0.1,
            unchanged=0.2,
        )

    def workflow(self, depth: int, *, top: bool = True) -> Workflow:
        bias = self.bias
        body = self.block(depth, kinds=("seq",) if not self.chance(bias.wide_top) else ("dag", "par"))
        return Workflow(
            name=self.name("w"),
            body=body,
            finally_=self._finally() if self.chance(bias.finally_) else None,
            inputs=() if top else (Input("x", "int", 1, False),),
            vars=MappingProxyType(dict.fromkeys(VARS, 0)),
            outputs=(("o", field_of(body.steps[-1].name, "outcome")),) if self.chance(0.3) else (),
            limits=self.run_limits() if top else self.step_limits(),
            breaker=self.breaker(),
            advisor=ADVISOR if self.chance(0.4) else None,
            policies=MappingProxyType({"risk": self.policy()}),
            people=MappingProxyType({"owners": ("person1", "person2", "person3")}),
            max_parallel=self.rng.randint(1, 5),
        )

    def _finally(self) -> Step:
        usual = self.bias
        if not usual.expiring:
            # Clean-up has ten minutes, so steps that take time there depend on timing.
            self.bias = replace(usual, variables=1.0)
        steps = self.block(0, kinds=("seq",))
        self.bias = usual
        return Step("finally", steps, has_worker=_has_worker(steps))

    def run_limits(self) -> Limits:
        rng, bias = self.rng, self.bias
        tight = self.chance(bias.tight)
        return Limits(
            usd=MicroUsd(rng.randint(1, 40) * CENT) if tight else None,
            tokens=rng.randint(100, 4_000) if tight and rng.random() < 0.3 else None,
            calls=rng.randint(1, 30) if tight and rng.random() < 0.3 else None,
            time=Millis(rng.randint(1, 40) * 60_000) if tight and rng.random() < 0.3 else None,
            transitions=rng.randint(*bias.transitions),
            members=3 if tight and rng.random() < 0.2 else None,
        )

    def step_limits(self) -> Limits:
        rng = self.rng
        if not self.chance(self.bias.inner_limits):
            return NO_LIMITS
        return Limits(
            usd=MicroUsd(rng.randint(1, 15) * CENT) if rng.random() < 0.7 else None,
            tokens=rng.randint(100, 2_000) if rng.random() < 0.2 else None,
            calls=rng.randint(1, 8) if rng.random() < 0.2 else None,
            transitions=rng.randint(1, 12) if rng.random() < 0.3 else None,
        )

    def breaker(self) -> Breaker:
        rng, bias = self.rng, self.bias
        if not bias.breaker:
            return Breaker(visits=None, cycle=None, repeat=None, plateau=None, reversals=None)
        plain = Breaker(
            visits=rng.choice((1, 2, 3, 5, None if bias.totals else 2)),
            cycle=rng.choice((2, 3, None)),
            repeat=rng.choice((2, None)),
            plateau=rng.choice((2, 3, None)),
            similar=rng.choice((90, None, None)),
            disagree=rng.choice((4, None, None)),
            retries=rng.choice((1, 2, None, None)),
        )
        if not bias.totals:
            return plain
        return replace(
            plain,
            failures=Failures(rng.randint(1, 4), Millis(600_000)) if self.chance(0.3) else None,
            near=80 if self.chance(0.3) else None,
            complete=self.chance(0.2),
            transitions=rng.randint(3, 20) if self.chance(0.3) else None,
            usd=MicroUsd(rng.randint(1, 20) * CENT) if self.chance(0.2) else None,
        )

    def block(self, depth: int, *, kinds: tuple[str, ...], loop: bool = False) -> Block:
        kind: Any = self.rng.choice(kinds)
        count = self.rng.randint(1, self.bias.width)
        steps: list[Step] = []
        for place in range(count):
            needs = self._needs(place) if kind == "dag" else ()
            above = {"seq": range(place), "dag": _ancestors(steps, needs), "par": ()}[kind]
            self.readable.append([steps[index].name for index in above])
            step = self.step(depth, loop=loop)
            self.readable.pop()
            steps.append(replace(step, needs=needs, needs_rule=self._needs_rule() if needs else "all"))
        routed = tuple(self._routed(kind, steps, place, loop=loop) for place in range(count))
        if kind != "seq" and not self.bias.racing_breaks:
            routed = tuple(map(without_breaks, routed))
        rule: PassRule = "all" if kind == "seq" else self.rule(count)
        if kind == "dag" and self.chance(0.8):
            rule = "all"
        return Block(
            kind=kind,
            steps=routed,
            parallel=self.rng.randint(1, 4) if kind != "seq" else 1,
            rule=rule,
            cancels_rest=kind == "par" and self._races(rule),
            join=self.join() if kind == "par" else "queue",
            output=field_of(routed[-1].name, "outcome") if self.chance(0.1) else None,
            index=MappingProxyType({step.name: place for place, step in enumerate(routed)}),
            dependents=_dependents(routed) if kind == "dag" else (),
        )

    def _needs(self, place: int) -> tuple[int, ...]:
        return tuple(index for index in range(place) if self.rng.random() < 0.45)

    def _needs_rule(self) -> NeedsRule:
        return self.rng.choice(("any", "done")) if self.chance(0.3) else "all"

    def _races(self, rule: PassRule) -> bool:
        return rule not in ("all", "done") and self.bias.racing_members and self.chance(0.5)

    def _routed(self, kind: str, steps: list[Step], place: int, *, loop: bool) -> Step:
        rng, bias, step = self.rng, self.bias, steps[place]
        on: dict[Outcome, Target] = {}
        while self.chance(bias.routes) and len(on) < 3:
            on[rng.choice(FAILURES)] = self._target(kind, steps, place, loop=loop)
        if kind == "seq" and self.chance(bias.passed_back):
            on["passed"] = Target("step", rng.randrange(len(steps)))
        elif kind == "seq" and self.chance(0.05):
            on["passed"] = Target(rng.choice(("end", "fail", "break" if loop else "end")))
        return replace(step, on=MappingProxyType(on))

    def _target(self, kind: str, steps: list[Step], place: int, *, loop: bool) -> Target:
        rng = self.rng
        if kind == "seq" and self.chance(0.7):
            return Target(
                "step", rng.randrange(place + 1) if self.chance(0.75) else rng.randrange(len(steps))
            )
        if kind == "dag" and self.chance(self.bias.dag_back):
            back = _ancestors(steps, steps[place].needs)
            if back:
                return Target("step", rng.choice(back))
        words = ("next", "fail", "end", "break") if kind == "seq" and loop else ("next", "fail", "end")
        word: Any = rng.choice(words if kind == "seq" else ("next", "fail"))
        return Target(word, message="said so" if word == "fail" and self.chance(0.3) else None)

    def rule(self, count: int) -> PassRule:
        rules: tuple[PassRule, ...] = (
            "all",
            "all",
            "any",
            "majority",
            "done",
            1,
            max(1, count - 1),
            0.5,
            0.67,
        )
        return self.rng.choice(rules)

    def join(self) -> Any:
        return self.rng.choice(("queue", "queue", 2, "discard")) if self.bias.merging else "discard"

    def step(self, depth: int, *, loop: bool) -> Step:
        step = self._verb(depth, loop=loop)
        when = self.condition() if self.chance(self.bias.when) else None
        return replace(step, when=when, limits=self.step_limits())

    def _verb(self, depth: int, *, loop: bool) -> Step:
        if depth <= 0 or not self.chance(self.bias.scopes):
            return self.leaf()
        kind = self.rng.choice(self.bias.scope_kinds)
        match kind:
            case "block":
                return self._scope(
                    self.name("b"), self.block(depth - 1, kinds=("seq", "seq", "dag", "par"), loop=loop)
                )
            case "members":
                return self._members()
            case "review":
                return self.review_step() or self.leaf()
            case "for_each":
                return self._for_each(depth - 1)
            case "repeat":
                return self._repeat(depth - 1)
            case _:
                return self._call(depth - 1)

    def _scope(self, name: str, verb: Block | Call) -> Step:
        body = verb.workflow.body if isinstance(verb, Call) else verb
        return Step(
            name,
            verb,
            gates=self.gates() if self.chance(self.bias.gates / 3) else None,
            retry=self.retry(agent=False) if self.chance(0.3) else self.once(),
            timeout=self.timeout(10),
            has_worker=_has_worker(body),
        )

    def _members(self) -> Step:
        rng = self.rng
        count = rng.randint(1, 3)
        joins: tuple[Join, ...] = (
            ("best", "discard", "queue", 2) if self.bias.merging else ("best", "discard")
        )
        join = rng.choice(joins)
        members = tuple(self.agent(f"m{number}", member=True) for number in range(1, count + 1))
        rule = self.rule(count)
        verb = Members(members, rule, join, self._races(rule))
        if self.chance(0.25):
            names = [f"p{number}" for number in range(1, count + 1)]
            verb = replace(verb, members=members[:1], panel=Panel(names, "agent"))
        return Step(self.name("m"), verb, has_worker=True)

    def _for_each(self, depth: int) -> Step:
        rng, name = self.rng, self.name("e")
        graph = self.chance(0.25)
        count = rng.randint(0, 4)
        items: list[Any] = list(range(count))
        if graph:
            keys = "abcd"
            items = [
                {"k": keys[place], "n": [keys[i] for i in range(place) if rng.random() < 0.5]}
                for place in range(count)
            ]
        body, rule = self._body(name, depth), self.rule(count)
        verb = ForEach(
            items=items,
            body=body,
            where=number_test() if not graph and self.chance(0.2) else None,
            key=field_of("k", item=True) if graph else None,
            needs=field_of("n", item=True) if graph else None,
            parallel=rng.randint(1, 3),
            rule=rule,
            join=self.join(),
            cancels_rest=not graph and self._races(rule),
        )
        if verb.parallel != 1 and not self.bias.racing_breaks:
            verb = replace(verb, body=without_breaks(body))
        return Step(name, verb, has_worker=body.has_worker)

    def _repeat(self, depth: int) -> Step:
        rng, name = self.rng, self.name("r")
        body = self._body(name, depth)
        kind: Any = rng.choice(("until", "while"))
        exhausted: Any = rng.choice(("fail", "fail", "accept_best", "human"))
        verb = Repeat(body, self.condition(), kind, rng.randint(1, 3), exhausted)
        return Step(name, verb, has_worker=body.has_worker)

    def _body(self, name: str, depth: int) -> Step:
        if depth >= 0 and self.chance(0.6):
            return self._scope(name, self.block(depth, kinds=("seq", "seq", "dag"), loop=True))
        return replace(self.leaf(), name=name)

    def _call(self, depth: int) -> Step:
        outer, self.readable = self.readable, []
        child = self.workflow(depth, top=False)
        self.readable = outer
        return self._scope(self.name("c"), Call(child, (("x", self.value()),)))


def without_breaks(step: Step) -> Step:
    """The step with every `break` replaced by `end`."""
    on = {outcome: Target("end") if target.kind == "break" else target for outcome, target in step.on.items()}
    verb = step.verb
    if isinstance(verb, Block):
        verb = replace(verb, steps=tuple(map(without_breaks, verb.steps)))
    return replace(step, on=MappingProxyType(on), verb=verb)


def _has_worker(block: Block) -> bool:
    return any(step.has_worker for step in block.steps)


def _ancestors(steps: list[Step], needs: tuple[int, ...]) -> list[int]:
    ancestors = set(needs)
    for need in needs:
        ancestors.update(_ancestors(steps, steps[need].needs))
    return sorted(ancestors)


def _dependents(steps: tuple[Step, ...]) -> tuple[tuple[int, ...], ...]:
    return tuple(
        tuple(other for other, step in enumerate(steps) if place in step.needs) for place in range(len(steps))
    )
