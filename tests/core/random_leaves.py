"""Random leaves, gates and retries: the lower half of the generator of workflows."""

from __future__ import annotations

import random
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from podium.core.expressions.nodes import And, Const, Name, Node, Or
from podium.core.expressions.templates import Text
from podium.core.model import (
    Agent,
    Check,
    Command,
    Gates,
    Git,
    Human,
    Panel,
    Review,
    Set,
    Step,
    Wait,
    Write,
)
from podium.core.policy import Backoff, Estimate, Oversight, PolicyRule, Retry, Stop, Upgrade
from podium.core.step_settings import Prompt
from podium.core.types import MicroUsd, Millis
from tests.core.bias import Bias
from tests.core.shapes import VARS, exists, field_of, found, is_word, less, plus_one, var

MINUTE: Final = 60_000
TOUCHES: Final = (None, (), ("src/**",), ("docs/**",), ("src/a/**", "lib/**"), ("lib/*.py",), ("docs/x.md",))


UPGRADES: Final = (
    Upgrade(1, agent="strong", estimate=Estimate(MicroUsd(90_000), 50)),
    Upgrade(2, model="best"),
)


class Leaves:
    """The random source, the names used so far, and the names that can be read at the current place."""

    def __init__(self, rng: random.Random, bias: Bias) -> None:
        self.rng = rng
        self.bias = bias
        self.readable: list[list[str]] = []
        self._count = 0

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def name(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def names(self) -> list[str]:
        return [name for scope in self.readable for name in scope]

    def leaf(self) -> Step:
        rng, bias = self.rng, self.bias
        if bias.waits and self.chance(bias.waits):
            return self._wait()
        if self.chance(bias.variables):
            return self._set()
        if self.chance(bias.people):
            return self.human(self.name("h"))
        match rng.choices(("agent", "run", "check", "wait", "git", "write"), (8, 4, 1, 1, 0.5, 0.3))[0]:
            case "agent":
                return self.agent(self.name("a"))
            case "run":
                return self._command(self.name("x"))
            case "check":
                return Step(self.name("k"), Check(self.condition()), touches=())
            case "wait":
                return self._wait()
            case "git":
                return Step(
                    self.name("g"),
                    Git(land="main"),
                    touches=(),
                    retry=self.once(),
                    repeatable=not self.chance(bias.once * 3),
                )
            case _:
                return Step(self.name("i"), Write({"a.py": "x"}), touches=("a.py",))

    def agent(self, name: str, *, member: bool = False) -> Step:
        rng, bias = self.rng, self.bias
        touches: Any = rng.choice(TOUCHES)
        if bias.named_files and self.chance(bias.named_files):
            touches = (self._named_file(),)
        verb = Agent(
            role="worker",
            prompt=Prompt("Do it"),
            fallback=("other",) if self.chance(0.2) else (),
            estimate=self.estimate(),
            member=name if member else None,
            by_hand=bias.people > 0 and self.chance(0.03),
        )
        return Step(
            name,
            verb,
            gates=self.gates() if self.chance(bias.gates) else None,
            retry=self.retry(agent=True),
            timeout=self.timeout(3) or Millis(20 * MINUTE),
            touches=touches,
            has_worker=True,
            repeatable=not self.chance(bias.once),
        )

    def _named_file(self) -> Text:
        """A file that an item, a variable or the answer of an earlier step names."""
        names = self.names()
        nodes = [Name("item"), var(self.rng.choice(VARS))]
        nodes += [field_of(self.rng.choice(names), "outcome")] if names else []
        return Text(("src/a/", self.rng.choice(nodes)))

    def estimate(self) -> Estimate:
        return Estimate(MicroUsd(self.rng.randint(0, 8) * 10_000), self.rng.randint(0, 300))

    def _command(self, name: str, *, gate: bool = False) -> Step:
        touches: tuple[str, ...] = ("gen/**",) if not gate and self.chance(0.2) else ()
        return Step(
            name,
            Command(("make", name), exit_codes=(1,) if self.chance(0.2) else ()),
            gates=self.gates() if not gate and self.chance(0.1) else None,
            retry=Retry(attempts=self.rng.randint(1, 2)),
            timeout=Millis(5 * MINUTE),
            touches=touches,
            repeatable=gate or not self.chance(self.bias.once * 2),
        )

    def _set(self) -> Step:
        name = self.rng.choice(VARS)
        return Step(self.name("v"), Set(((name, self.value()),)), touches=())

    def value(self) -> Any:
        return self.rng.choice(
            (plus_one(self.rng.choice(VARS)), var(self.rng.choice(VARS)), self.rng.randint(0, 3))
        )

    def condition(self) -> Node:
        """A random condition about variables, earlier steps or files."""
        rng, names = self.rng, self.names()
        share = rng.random()
        if share < self.bias.facts:
            if self.bias.two_facts and self.chance(self.bias.two_facts):
                return rng.choice((And, Or))((exists("README.md"), found("src/**")))
            return rng.choice((exists("README.md"), found("src/**")))
        if names and share < 0.6 - self.bias.variables:
            return is_word(
                field_of(rng.choice(names), "outcome"), rng.choice(("passed", "failed", "skipped"))
            )
        return less(var(rng.choice(VARS)), rng.randint(0, 3))

    def human(self, name: str) -> Step:
        verb = Human(Prompt("Good?"), self.oversight("human"))
        return Step(name, verb, timeout=self.timeout(40), touches=())

    def oversight(self, usual: str) -> Oversight:
        rng, bias = self.rng, self.bias
        levels = (
            (usual, usual, "human", "auto", "risk")
            if not bias.expiring
            else (usual, "human", "notify", "risk")
        )
        return Oversight(
            level=rng.choice(levels),
            by=rng.choice(((), ("person1", "person2"), ("owners",))),
            approvals=rng.choice((1, 1, 2)) if bias.expiring else 1,
            veto=Millis(rng.choice((0, 20 * MINUTE))) if bias.expiring else Millis(0),
            remind=Millis(10 * MINUTE) if self.chance(0.3) else None,
            escalate_after=Millis(15 * MINUTE) if self.chance(0.3) else None,
            escalate_to=("boss",),
        )

    def policy(self) -> tuple[PolicyRule, ...]:
        rng = self.rng
        first = PolicyRule("human", less(var("a"), 1), ("owners",), 2 if self.bias.expiring else 1)
        veto = Millis(10 * MINUTE) if self.bias.expiring else Millis(0)
        return (first, PolicyRule(rng.choice(("auto", "notify")), veto=veto))

    def timeout(self, minutes: int) -> Millis | None:
        if not self.bias.expiring or not self.chance(0.2):
            return None
        return Millis(self.rng.randint(1, minutes) * MINUTE)

    def _wait(self) -> Step:
        name = self.name("t")
        if self.bias.signals and self.chance(0.5):
            detail = MappingProxyType({"signal": self.rng.choice(("go", "stop"))})
            return Step(name, Wait("signal", detail), timeout=Millis(60 * MINUTE), touches=())
        if self.chance(0.3):
            return Step(name, Wait("poll", MappingProxyType({"poll": ["true"]})), touches=())
        if self.chance(0.2) and self.bias.totals:
            return Step(name, Wait("until_time", minute_of_day=self.rng.randrange(1440)), touches=())
        return Step(name, Wait("timer", timer=Millis(self.rng.randint(1, 30) * MINUTE)), touches=())

    def once(self) -> Retry:
        return Retry(visits=self.rng.choice((None, None, 2)))

    def retry(self, *, agent: bool) -> Retry:
        rng = self.rng
        exhausted: Any = rng.choice(("fail", "fail", "accept_best", "human" if self.bias.people else "fail"))
        attempts, transient = rng.choice((1, 2, 3)), rng.choice((0, 1, 3))
        return Retry(
            attempts=attempts,
            transient=transient,
            upgrade=UPGRADES[: attempts - 1] if agent and transient else (),
            repair=rng.choice((0, 2)),
            backoff=Backoff(Millis(1_000 * rng.randint(1, 30))),
            visits=rng.choice((None, None, 1, 2)) if self.bias.breaker else None,
            stop=Stop(rng.choice((None, None, 80)), rng.choice((None, None, 1))) if agent else Stop(),
            degrade=("Do less",) * rng.choice((0, 0, 0, 1, 2)) if agent else (),
            on_exhausted=exhausted,
            stated=self.chance(0.5),
        )

    def gates(self) -> Step:
        """Commands and checks, then reviews, then people."""
        first = [self._command(f"tests{number}", gate=True) for number in range(self.rng.randint(0, 2))]
        if self.chance(0.3):
            first.append(
                Step("tidy", Check(self.rng.choice((Const(value=True), less(var("a"), 2)))), touches=())
            )
        second = [Step("judged", self._review(()), touches=())] if self.chance(0.4) or not first else []
        third = [self.human("asked")] if self.chance(self.bias.people) else []
        stages = [tuple(self._gate(gate) for gate in stage) for stage in (first, second, third) if stage]
        return Step("gates", Gates(tuple(stages), tuple(gate for stage in stages for gate in stage)))

    def _gate(self, gate: Step) -> Step:
        on_fail: Any = self.rng.choice(("retry", "retry", "retry", "block"))
        when = less(var("b"), 1) if self.chance(0.1) else None
        return replace(gate, on_fail=on_fail, when=when)

    def review_step(self) -> Step | None:
        above = self.readable[-1]
        if not above:
            return None
        return Step(self.name("q"), self._review((self.rng.choice(above),)), touches=())

    def _review(self, of: tuple[str, ...]) -> Review:
        rng = self.rng
        count = rng.randint(1, 3)
        judges = tuple(
            Step(
                f"j{number}",
                Agent(role="judge", judge=True, member=f"j{number}", estimate=self.estimate()),
                retry=Retry(transient=1, repair=1),
                timeout=self.timeout(3) or Millis(10 * MINUTE),
                touches=(),
            )
            for number in range(1, count + 1)
        )
        rule: Any = rng.choice(("all", "any", "majority", 1, 0.5))
        sight = self.oversight("auto") if self.chance(self.bias.people) else Oversight()
        panel = Panel(tuple(f"j{number}" for number in range(1, count + 1)), "agent")
        verb = Review(judges, of, rule, rng.choice((None, None, 7)), oversight=sight)
        return replace(verb, members=judges[:1], panel=panel) if of and self.chance(0.25) else verb
