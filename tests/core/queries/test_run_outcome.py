"""What `finally` reads about the run: the outcome and the reason with which the run then ends."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from podium.core.addresses import FINALLY
from podium.core.events import Event, StepEntered
from podium.core.evolve.evolve import fold
from podium.core.messages import Cancel
from podium.core.model import Call, Step, Workflow
from podium.core.policy import Limits
from podium.core.queries.names import InstanceNames
from podium.core.state import State
from podium.core.types import Address, Millis
from tests.core.kit import FALSE, Game, block, check, command, flow, on, signal

CLEAN = Step(FINALLY, block("seq", command("t")))


def run_in_finally(state: State, path: str = "finally/t") -> tuple[str, str]:
    run = InstanceNames(state, state.instances[Address(path)]).lookup("run")
    return run["outcome"], run["reason"]


@pytest.mark.parametrize("kind", ["seq", "dag"])
@pytest.mark.parametrize(
    ("answer", "reason", "expected"),
    [
        ("ok", "", ("passed", "")),
        ("failed", "", ("failed", "failed")),
        ("failed", "contract", ("failed", "contract")),
        ("timeout", "", ("failed", "timeout")),
        ("blocked", "", ("failed", "blocked")),
        ("error", "path", ("failed", "path")),
    ],
)
def test_finally_reads_why_the_run_ends(
    kind: str, answer: str, reason: str, expected: tuple[str, str]
) -> None:
    game = Game(flow(command("a"), kind=kind, finally_=CLEAN))
    game.end("a", answer, reason=reason)
    assert run_in_finally(game.state) == expected

    game.end("finally/t")
    ended = game.state.ended
    assert ended is not None
    assert (ended.outcome, ended.reason) == expected


@pytest.mark.parametrize(
    ("workflow", "expected"),
    [
        (flow(check("a", FALSE), finally_=CLEAN), ("failed", "failed")),
        (flow(replace(check("a", FALSE), on=on(failed="next")), finally_=CLEAN), ("passed", "")),
        (flow(replace(check("a", FALSE), on=on(failed="end")), finally_=CLEAN), ("passed", "")),
        (
            flow(check("a", FALSE), check("b", FALSE), kind="par", finally_=CLEAN),
            ("failed", "members"),
        ),
        (
            flow(replace(check("a", FALSE), on=on(failed=0)), finally_=CLEAN, limits=Limits(transitions=2)),
            ("failed", "limit"),
        ),
        (flow(finally_=CLEAN), ("passed", "")),
    ],
    ids=["failed", "routed", "ended", "members", "transitions", "empty"],
)
def test_finally_reads_what_no_single_step_says(workflow: Workflow, expected: tuple[str, str]) -> None:
    game = Game(workflow)
    assert run_in_finally(game.state) == expected


def test_finally_reads_that_the_run_was_cancelled_or_ran_out_of_time() -> None:
    game = Game(flow(command("a"), finally_=CLEAN))
    game.send(Cancel("me"))
    game.end("a", "cancelled")
    assert run_in_finally(game.state) == ("cancelled", "")

    child = flow(signal("s"), finally_=CLEAN)
    late = Game(flow(Step("k", Call(child), timeout=Millis(60_000))))
    late.fire_timer("k", 61_000)
    assert run_in_finally(late.state, "k/finally/t") == ("timeout", "")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("ok", ("passed", "")),
        ("failed", ("failed", "")),
        ("cancelled", ("cancelled", "")),
        (None, ("passed", "")),
    ],
)
def test_a_log_that_does_not_say_how_the_body_ended_can_be_read(
    answer: str | None, expected: tuple[str, str]
) -> None:
    workflow = flow(*([] if answer is None else [command("a")]), finally_=CLEAN)
    game = Game(workflow)
    if answer == "cancelled":
        game.send(Cancel("me"))
    if answer is not None:
        game.end("a", answer)
    state = fold(workflow, [_without_ending(event) for event in game.log])
    assert run_in_finally(state) == expected


def _without_ending(event: Any) -> Event:
    is_finally = isinstance(event, StepEntered) and event.role == "finally"
    return replace(event, about="") if is_finally else event  # type: ignore[no-any-return]  # the same kind of event
