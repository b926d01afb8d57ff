"""Every verb, every outcome it can have, every way to route it: what follows (language.md 3 and 5, design.md 10).

The table is generated: CASES says how a verb comes to an outcome and which exit code that has when nobody routes
it; `outcome_rows` works out the rest. test_outcomes.py drives each row through the core, and the reference page is
written from the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final, Literal, TypeAlias

from podium.core.expr import Const, Field, Name
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
    Prompt,
    Repeat,
    Review,
    Set,
    Step,
    Verb,
    Wait,
    Workflow,
)
from podium.core.policy import Retry
from podium.core.words import GOOD, OUTCOMES, Millis, Outcome, RunStatus

MINUTE: Final = 60_000

Routing: TypeAlias = Literal["unrouted", "next", "step", "end", "fail", "else"]
ROUTINGS: Final[tuple[Routing, ...]] = ("unrouted", "next", "step", "end", "fail", "else")
"""`else` is what a strict file does with all failures: each is named, and leads to the same step."""

STATUS: Final[dict[int, RunStatus]] = {0: "passed", 1: "failed", 4: "rejected", 124: "timed_out"}


@dataclass(frozen=True, slots=True)
class How:
    """How a step comes to an outcome: the step, and what the world answers, by the end of the path."""

    verb: str
    outcome: Outcome
    step: Step
    answers: dict[str, str]
    exit: int = 1
    """When nobody routes it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: `next` is the step that control goes to, None if the run ends."""

    verb: str
    outcome: Outcome
    routing: Routing
    next: str | None
    status: RunStatus
    exit: int


def outcome_rows() -> tuple[Row, ...]:
    """The whole table, in the order of the language reference."""
    return tuple(row for how in CASES for row in _rows(how))


def _rows(how: How) -> Iterator[Row]:
    for routing in ROUTINGS:
        if routing == "else" and how.outcome in GOOD:
            continue
        following, code = expected(how, routing)
        yield Row(how.verb, how.outcome, routing, following, STATUS[code], code)


def expected(how: How, routing: Routing) -> tuple[str | None, int]:
    """Where control goes, and the exit code of a run in which all else passes."""
    match routing:
        case "unrouted":
            return ("then", 0) if how.outcome in GOOD else (None, how.exit)
        case "next":
            return "then", 0
        case "step" | "else":
            return "rescue", 0
        case "end":
            return None, 0
        case "fail":
            return None, how.exit or 1


def _step(verb: Verb, **rest: Any) -> Step:
    return Step("it", verb, touches=(), retry=Retry(), **rest)


def block_of(kind: Any, steps: tuple[Step, ...], **rest: Any) -> Block:
    index = MappingProxyType({step.name: place for place, step in enumerate(steps)})
    dependents = tuple(
        tuple(other for other, step in enumerate(steps) if place in step.needs) for place in range(len(steps))
    )
    return Block(kind, steps, index=index, dependents=dependents if kind == "dag" else (), **rest)


def _run(name: str = "it", **rest: Any) -> Step:
    return Step(name, Command(("true",)), touches=(), **rest)


def _agent(name: str = "it", touches: Any = (), **rest: Any) -> Step:
    return Step(name, Agent(role="worker", prompt=Prompt("Do it")), touches=touches, has_worker=True, **rest)


def _judge(name: str) -> Step:
    return Step(name, Agent(role="judge", judge=True, member=name), touches=())


PANEL: Final = Review((_judge("ann"), _judge("bob")))
ASKED: Final = Human(Prompt("Good?"))
TWO: Final = (_agent("one"), _agent("two"))


def _gated(gate: Step) -> Step:
    return _agent(gates=Step("gates", Gates(((gate,),), (gate,))))


def _inner(*steps: Step, kind: str = "seq", **rest: Any) -> Step:
    return _step(block_of(kind, steps, **rest), has_worker=True)


def _call(*steps: Step, values: tuple[tuple[str, Any], ...] = (), **rest: Any) -> Step:
    return _step(Call(Workflow("child", block_of("seq", steps)), values), **rest)


def _each(**rest: Any) -> Step:
    return _step(ForEach((1, 2), _agent(), **rest), has_worker=True)


def _cases() -> Iterator[How]:
    yield How("role", "passed", _agent(), {}, 0)
    yield How("role", "failed", _agent(), {"it": "failed"})
    yield How("role", "blocked", _agent(), {"it": "blocked"})
    yield How("role", "timeout", _agent(), {"it": "timeout"}, 124)
    yield How("role", "error", _agent(), {"it": "error"})
    yield How("role with a review gate", "aborted", _gated(Step("judged", PANEL)), {"ann": "abort"})
    yield How("role with a human gate", "aborted", _gated(Step("asked", ASKED)), {"asked": "abort"}, 4)
    yield How("role with a human gate", "failed", _gated(Step("asked", ASKED)), {"asked": "reject"}, 4)
    yield How("list of roles", "passed", _step(Members(TWO)), {}, 0)
    yield How("list of roles", "partial", _step(Members(TWO)), {"it/two": "failed"})
    yield How("list of roles", "failed", _step(Members(TWO)), {"it/one": "failed", "it/two": "failed"})
    yield How("run", "passed", _run(), {}, 0)
    yield How("run", "failed", _run(), {"it": "failed"})
    yield How("run", "timeout", _run(), {"it": "timeout"}, 124)
    yield How("run", "error", _run(), {"it": "error"})
    yield How("review", "passed", _step(PANEL), {}, 0)
    yield How("review", "rejected", _step(PANEL), {"bob": "reject"})
    yield How("review", "aborted", _step(PANEL), {"bob": "abort"})
    yield How("review", "timeout", _step(PANEL), {"ann": "timeout", "bob": "timeout"}, 124)
    yield How("review", "error", _step(PANEL), {"ann": "error", "bob": "error"})
    yield How("human", "passed", _step(ASKED), {}, 0)
    yield How("human", "rejected", _step(ASKED), {"it": "reject"}, 4)
    yield How("human", "aborted", _step(ASKED), {"it": "abort"}, 4)
    yield How("human", "timeout", _step(ASKED, timeout=Millis(MINUTE)), {"it": "silence"}, 124)
    yield How("check", "passed", _step(Check(Const(value=True))), {}, 0)
    yield How("check", "failed", _step(Check(Const(value=False))), {})
    yield from _waits()
    yield How("set", "passed", _step(Set((("a", 1),))), {}, 0)
    yield How("git", "passed", _step(Git(land="main")), {}, 0)
    yield How("git", "failed", _step(Git(land="main")), {"it": "failed"})
    yield How("git", "conflict", _step(Git(land="main")), {"it": "conflict"})
    yield How("git", "error", _step(Git(land="main")), {"it": "error"})
    yield from _scopes()


def _waits() -> Iterator[How]:
    signal = Wait("signal", MappingProxyType({"signal": "go"}))
    poll = Wait("poll", MappingProxyType({"poll": ("true",)}))
    yield How("wait", "passed", _step(signal), {}, 0)
    yield How("wait", "failed", _step(poll), {"it": "failed"})
    yield How("wait", "timeout", _step(signal, timeout=Millis(MINUTE)), {"it": "silence"}, 124)
    yield How("wait", "error", _step(poll), {"it": "error"})


def _scopes() -> Iterator[How]:
    slow = Step("slow", Wait("timer", timer=Millis(10 * MINUTE)), touches=())
    change = ("src/**",)
    wide = (_agent("one", change, needs=()), _agent("two", change, needs=()))
    yield How("steps", "passed", _inner(_run("one")), {}, 0)
    yield How("steps", "failed", _inner(_run("one")), {"it/one": "failed"})
    yield How("steps", "timeout", Step("it", block_of("seq", (slow,)), timeout=Millis(MINUTE)), {}, 124)
    yield How("steps with needs", "passed", _inner(*wide, kind="dag", parallel=2), {}, 0)
    yield How("steps with needs", "failed", _inner(*wide, kind="dag", parallel=2), {"it/two": "failed"})
    yield How("steps with needs", "conflict", _inner(*wide, kind="dag", parallel=2), {"it": "clash"})
    yield How("steps, parallel", "passed", _inner(*TWO, kind="par", parallel=2), {}, 0)
    yield How("steps, parallel", "partial", _inner(*TWO, kind="par", parallel=2), {"it/two": "failed"})
    both = {"it/one": "failed", "it/two": "failed"}
    yield How("steps, parallel", "failed", _inner(*TWO, kind="par", parallel=2), both)
    yield How("workflow", "passed", _call(_run("one")), {}, 0)
    yield How("workflow", "failed", _call(_run("one")), {"it/one": "failed"})
    yield How("workflow", "timeout", _call(slow, timeout=Millis(MINUTE)), {}, 124)
    yield How("workflow", "error", _call(_run("one"), values=(("x", Field(Name("vars"), "none")),)), {})
    yield How("for_each", "passed", _each(), {}, 0)
    yield How("for_each", "partial", _each(), {"it[2]": "failed"})
    yield How("for_each", "failed", _each(), {"it[1]": "failed", "it[2]": "failed"})
    done = Const(value=True)
    yield How("repeat", "passed", _step(Repeat(_run(), done, "until", 2)), {}, 0)
    yield How("repeat", "failed", _step(Repeat(_run(), Const(value=False), "until", 2)), {})


def _skipped(how: How) -> How:
    """Every step can be skipped."""
    return How(how.verb, "skipped", replace(how.step, when=Const(value=False)), {}, 0)


def _all() -> tuple[How, ...]:
    found: list[How] = []
    for how in _cases():
        if how.outcome == "passed":
            found.append(_skipped(how))
        found.append(how)
    return tuple(sorted(found, key=lambda how: (_first(found, how.verb), OUTCOMES.index(how.outcome))))


def _first(found: list[How], verb: str) -> int:
    return next(place for place, how in enumerate(found) if how.verb == verb)


CASES: Final = _all()
