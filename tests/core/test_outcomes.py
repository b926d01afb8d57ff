"""Every verb, outcome and route: what runs next and how the run ends.

R023 R027 R029 R143. The rows are in outcome_table.py; the rules below restate language.md 5 and design.md 10 and use
none of the core's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import pytest

from podium.core.events import Event, RunEnded, StepEnded
from podium.core.model import Block, ForEach, Step, Target, Workflow
from podium.core.policy import Limits
from podium.core.types import Outcome
from podium.simulate.run import simulate
from tests.core.outcome_table import ROWS, Row, Scripted, command

STATUS: Final = {0: "passed", 1: "failed", 3: "failed", 4: "rejected", 5: "limited", 124: "timed_out"}
"""design.md 10; a path violation during a run is a failed run with its own exit code."""
FAILURES: Final[tuple[Outcome, ...]] = (
    "partial",
    "failed",
    "rejected",
    "aborted",
    "blocked",
    "timeout",
    "conflict",
    "error",
)
FIRST: Final = command("first")
ON: Final = ("second", "third")


class Told(NamedTuple):
    """The result of a run: its top steps with their outcomes in the order they ended, its status and exit code."""

    way: tuple[str, ...]
    status: str
    exit: int


def is_good(row: Row) -> bool:
    return row.outcome in ("passed", "skipped")


def told(body: Block, row: Row, top: Iterable[str]) -> Told:
    workflow = Workflow("w", body, limits=row.limits)
    # Otherwise a person is asked in the place of a reviewer that fails.
    no_human = row.verb == "review" and row.outcome == "error"
    events = simulate(workflow, Scripted(row.said), no_human=no_human).events
    end = events[-1]
    assert isinstance(end, RunEnded), "the run stands still"
    return Told(way(events, frozenset(top)), end.status, end.exit)


def way(events: Iterable[Event], top: frozenset[str]) -> tuple[str, ...]:
    ended = [event for event in events if isinstance(event, StepEnded)]
    return tuple(f"{event.path}:{event.outcome}" for event in ended if event.path.removesuffix("~2") in top)


def expected(names: Iterable[str], code: int, **outcomes: str) -> Told:
    """The expected steps: each passed unless an outcome is given; a second visit is `name~2`."""
    steps = tuple(f"{name}:{outcomes.get(name.replace('~', '_'), 'passed')}" for name in names)
    return Told(steps, STATUS[code], code)


def routed(row: Row, target: Target) -> Step:
    return replace(row.step, on={row.outcome: target})


def again(row: Row) -> str:
    """How the second visit ends: `when` holds for only one of two visits."""
    return "passed" if row.outcome == "skipped" else "skipped"


# In a sequence: first, x, second, third.

TARGETS: Final[Mapping[str, Target]] = {
    "next": Target("next"),
    "fail": Target("fail"),
    "fail_with_a_text": Target("fail", message="no"),
    "end": Target("end"),
    "end_with_a_text": Target("end", message="enough"),
    "earlier": Target("step", 0),
    "later": Target("step", 3),
}
ROUTES: Final = ("silent", *TARGETS, "else")


def in_sequence(row: Row, route: str) -> Block:
    x = row.step
    if route in TARGETS:
        x = routed(row, TARGETS[route])
    elif route == "else":
        x = replace(x, on=dict.fromkeys(FAILURES, Target("next")))
    return sequence(x)


def sequence(x: Step) -> Block:
    steps = (FIRST, x, command("second"), command("third"))
    return Block("seq", steps, index={step.name: number for number, step in enumerate(steps)})


def after_sequence(row: Row, route: str) -> Told:
    if row.hard:
        return expected(("first", "x"), row.exit, x=row.outcome)
    if route == "silent":
        route = "next" if is_good(row) else "fail"
    match route.partition("_")[0]:
        case "next" | "else":
            return expected(("first", "x", *ON), 0, x=row.outcome)
        case "fail":
            return expected(("first", "x"), row.exit or 1, x=row.outcome)
        case "end":
            return expected(("first", "x"), 0, x=row.outcome)
        case "later":
            return expected(("first", "x", "third"), 0, x=row.outcome)
        case _:
            names = ("first", "x", "first~2", "x~2", *ON)
            return expected(names, 0, x=row.outcome, x_2=again(row))


def every(routes: Iterable[str]) -> Callable[[Callable[[Row, str], None]], Callable[[str], None]]:
    """Make one test per route that checks all rows and names those that fail."""

    def over_rows(check: Callable[[Row, str], None]) -> Callable[[str], None]:
        def table(route: str) -> None:
            faults = [fault for row in ROWS if (fault := fault_of(check, row, route))]
            assert not faults, f"{len(faults)} of {len(ROWS)} rows:\n" + "\n".join(faults)

        table.__name__, table.__doc__ = check.__name__, check.__doc__
        marked: Callable[[str], None] = pytest.mark.parametrize("route", tuple(routes))(table)
        return marked

    return over_rows


def fault_of(check: Callable[[Row, str], None], row: Row, route: str) -> str:
    try:
        check(row, route)
    except AssertionError as error:
        return f"{row.name}: {error}"
    return ""


@pytest.mark.req("C8")
@every(ROUTES)
def test_an_outcome_in_a_sequence_leads_where_the_language_says(row: Row, route: str) -> None:
    """R023 R027 R029 R143: the next step or none, the status and the exit code."""
    run = told(in_sequence(row, route), row, ("first", "x", *ON))

    assert run == after_sequence(row, route)


SCOPES: Final[Mapping[str, Literal["seq", "par", "dag"]]] = {
    "block": "seq",
    "parallel": "par",
    "graph": "dag",
}


def within(x: Step, scope: str) -> Step:
    """The step as the only step of a block or of a loop's body."""
    if scope == "loop":
        return Step("inner", ForEach((1, 2), Step("inner", Block("seq", (x,), index={"x": 0}))))
    dependents = ((),) if scope == "graph" else ()
    return Step("inner", Block(SCOPES[scope], (x,), index={"x": 0}, dependents=dependents))


@every(f"{kind}_{scope}" for scope in (*SCOPES, "loop") for kind in ("deep", "caught"))
def test_a_failure_ends_its_block_with_the_exit_code_of_the_failure(row: Row, route: str) -> None:
    """R027 R143: `on: {failed: next}` on the block catches it, unless it is a limit of the run."""
    caught, _, scope = route.partition("_")
    inner = within(row.step, scope)
    if caught == "caught":
        inner = replace(inner, on={"failed": Target("next")})
    run = told(sequence(inner), row, ("first", "inner", *ON))

    goes_on = not row.hard and (is_good(row) or caught == "caught")
    names = ("first", "inner", *ON) if goes_on else ("first", "inner")
    assert run == expected(names, 0 if goes_on else row.exit, inner="passed" if is_good(row) else "failed")


@pytest.mark.parametrize("scope", [*SCOPES, "loop"])
@pytest.mark.parametrize("caught", [False, True], ids=["silent", "caught"])
def test_a_limit_of_a_block_ends_it_and_is_routed_by_the_block(scope: str, caught: bool) -> None:
    """R027 R143: no `on` inside the scope of the limit applies."""
    row = next(row for row in ROWS if row.hard)
    inner = replace(within(routed(row, Target("next")), scope), limits=row.limits)
    if caught:
        inner = replace(inner, on={"failed": Target("next")})
    run = told(sequence(inner), replace(row, limits=Limits()), ("first", "inner", *ON))

    names = ("first", "inner", *ON) if caught else ("first", "inner")
    assert run == expected(names, 0 if caught else 5, inner="failed")


@every(("break", "end_in_a_loop"))
def test_an_outcome_in_an_iteration_ends_the_loop_or_continues_with_the_next_item(
    row: Row, route: str
) -> None:
    """R023: `break` keeps the outcome of its iteration, and the loop is judged by the iterations that ran."""
    x = routed(row, Target("break" if route == "break" else "end"))
    each = Step("each", ForEach((1, 2), Step("each", Block("seq", (x, command("second")), index={"x": 0}))))
    run = told(Block("seq", (each,), index={"each": 0}), row, ("each", "each[1]", "each[2]"))

    lost = row.hard or (route == "break" and not is_good(row))
    outcome = "failed" if lost else "passed"
    rounds = ("each[1]",) if lost or route == "break" else ("each[1]", "each[2]")
    steps = (*(f"{name}:{outcome}" for name in rounds), f"each:{outcome}")
    code = row.exit if lost else 0
    assert run == Told(steps, STATUS[code], code)


# In a graph: first; x and third after first; second after x.


def in_graph(x: Step) -> Block:
    after_first, after_x = (0,), (1,)
    steps = (
        FIRST,
        replace(x, needs=after_first),
        replace(command("second"), needs=after_x),
        replace(command("third"), needs=after_first),
    )
    index = {step.name: number for number, step in enumerate(steps)}
    return Block("dag", steps, parallel=4, index=index, dependents=((1, 3), (2,), (), ()))


def newest(way: Iterable[str]) -> dict[str, str]:
    """The outcome of the last visit of each step."""
    return {path.partition("~")[0]: outcome for path, _, outcome in (step.partition(":") for step in way)}


@every(("silent", "next", "fail", "earlier"))
def test_an_outcome_in_a_graph_stops_only_the_steps_that_need_it(row: Row, route: str) -> None:
    """R027: independent branches finish; `next` accepts the outcome; a jump back runs the dependents again."""
    x = row.step if route == "silent" else routed(row, TARGETS[route])
    run = told(in_graph(x), row, ("first", "x", *ON))

    stops = row.hard or route == "fail" or (route == "silent" and not is_good(row))
    code = (row.exit or 1) if stops else 0
    back = route == "earlier" and not row.hard
    outcomes = {"first": "passed", "x": again(row) if back else row.outcome, "third": "passed"}
    outcomes["second"] = "blocked" if stops else "passed"
    assert (newest(run.way), run.status, run.exit) == (outcomes, STATUS[code], code)


@pytest.mark.req("C41")
@every(("silent", "next", "fail"))
def test_an_outcome_in_a_parallel_block_never_stops_its_siblings(row: Row, route: str) -> None:
    """R027: after all have ended, the block is judged by those that passed or were accepted."""
    x = row.step if route == "silent" else routed(row, TARGETS[route])
    body = Block("par", (x, command("second")), parallel=2, index={"x": 0, "second": 1})
    run = told(body, row, ("x", "second"))

    lost = row.hard or route == "fail" or (route == "silent" and not is_good(row))
    code = (row.exit or 1) if lost else 0
    assert (newest(run.way), run.status, run.exit) == (
        {"x": row.outcome, "second": "passed"},
        STATUS[code],
        code,
    )
