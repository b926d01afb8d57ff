"""`evolve` is strict: an event that the table or a guard does not allow raises IllegalEvent."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from podium.core.events import (
    ApprovalGiven,
    AttemptEnded,
    AttemptQueued,
    AttemptStarted,
    CancelOrdered,
    FactsAsked,
    FactsFound,
    JoinAsked,
    JoinEnded,
    JoinQueued,
    JumpOrdered,
    RunEnded,
    RunPaused,
    StepEnded,
    StepEntered,
    StepExpanded,
    StepReopened,
    TimerFired,
)
from podium.core.evolve import lifecycle
from podium.core.evolve.evolve import evolve, fold, initial
from podium.core.evolve.lifecycle import IllegalEvent
from podium.core.model import ForEach, Step
from podium.core.payloads import Amounts, RefusedMember
from podium.core.state import Leaf
from podium.core.types import ABANDONED, Address, Millis, Tree
from podium.simulate.random_world import NO_FAILURES, RandomWorld
from podium.simulate.run import simulate
from tests.core.kit import BASE, Game, agent, block, command, flow, human, sets

NOW = Millis(9_999)
A = Address("a")


def entered(path: str, index: int = 0, parent: str = "", **rest: Any) -> StepEntered:
    return StepEntered(NOW, Address(path), Address(parent), "step", index, 1, **rest)


WORKING = flow(command("a"), command("b"))
ASKING = flow(human("a", approvals=2, by=("me", "you")))


@pytest.mark.parametrize(
    "event",
    [
        entered("a"),
        entered("b", 1, parent="nowhere"),
        entered("a/x", 0, parent="a"),
        AttemptStarted(NOW, A, 2, Amounts()),
        AttemptStarted(NOW, Address("nobody"), 1, Amounts()),
        AttemptStarted(NOW, Address(""), 1, Amounts()),
        AttemptEnded(NOW, A, 7, "ok"),
        AttemptQueued(NOW, A, "counted"),
        TimerFired(NOW, A, Millis(3)),
        ApprovalGiven(NOW, A, "approve", "me"),
        StepEnded(NOW, A, "passed"),
        StepEnded(NOW, Address("nobody"), "passed"),
        StepEnded(NOW, Address(""), "passed"),
        StepExpanded(NOW, A, 1),
        StepExpanded(NOW, Address(""), 2),
        StepReopened(NOW, Address(""), 2, ()),
        JumpOrdered(NOW, A, 0, ()),
        JoinEnded(NOW, Address(""), BASE),
        FactsFound(NOW, Address(""), "exists", "x", BASE, value=True),
        RunEnded(NOW, "passed", "passed", "", 0, {}),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_a_working_step_does_not_allow_raises(event: Any) -> None:
    """P3."""
    game = Game(WORKING)
    with pytest.raises(IllegalEvent):
        evolve(game.state, event)


def test_an_abandoned_run_ends_with_open_instances() -> None:
    game = Game(WORKING)
    end = RunEnded(NOW, "cancelled", "cancelled", ABANDONED, 130, {})
    assert evolve(game.state, end).ended == end


@pytest.mark.parametrize(
    "event",
    [
        TimerFired(NOW, A, Millis(3)),
        ApprovalGiven(NOW, A, "approve", "me"),
        AttemptStarted(NOW, A, 1, Amounts()),
        StepReopened(NOW, Address(""), 2, ()),
    ],
    ids=lambda event: type(event).__name__,
)
def test_an_event_that_a_waiting_step_does_not_allow_raises(event: Any) -> None:
    """P3: a timer that was not set, a second answer by the same person."""
    game = Game(ASKING)
    game.answer("a", by="me")
    with pytest.raises(IllegalEvent):
        evolve(game.state, event)


def test_a_timer_with_another_due_time_is_refused() -> None:
    """P10: the report has the due time that the timer was set for; any other is stale."""
    game = Game(flow(command("a")))
    game.end("a", "transient")
    assert game.at("a").phase == "paused"
    with pytest.raises(IllegalEvent):
        evolve(game.state, TimerFired(NOW, A, Millis(1)))


def test_a_fact_is_requested_and_reported_once() -> None:
    game = Game(flow(sets("a", x=1), command("b")))
    asked = FactsAsked(NOW, Address("b"), "exists", "x", BASE)
    state = game.state
    with pytest.raises(IllegalEvent):
        evolve(state, asked)
    state = evolve(state, FactsAsked(NOW, Address(""), "exists", "x", BASE))
    with pytest.raises(IllegalEvent):
        evolve(state, FactsAsked(NOW, Address(""), "exists", "x", BASE))


def test_facts_about_another_tree_are_dropped() -> None:
    """X4: a fact about one tree does not hold for another."""
    state = Game(flow(command("a"))).state
    for tree in ("t1", "t2"):
        state = evolve(state, FactsAsked(NOW, Address(""), "exists", "x", Tree(tree)))
        state = evolve(state, FactsFound(NOW, Address(""), "exists", "x", Tree(tree), value=True))
    assert [fact.tree for fact in state.instances[Address("")].facts] == ["t2"]


def test_a_join_is_requested_and_reported_once() -> None:
    game = Game(flow(command("a")))
    asked = JoinAsked(NOW, Address(""), BASE, BASE, (), gated=False)
    state = evolve(game.state, asked)
    with pytest.raises(IllegalEvent):
        evolve(state, asked)
    state = evolve(state, JoinEnded(NOW, Address(""), Tree("t")))
    with pytest.raises(IllegalEvent):
        evolve(state, JoinEnded(NOW, Address(""), Tree("t")))


def test_a_member_queues_for_a_join_once() -> None:
    game = Game(flow(Step("a", ForEach((1, 2), agent("a")))))
    game.end("a[1]", "failed")
    leaf = game.at("a[1]")
    assert isinstance(leaf, Leaf)
    waiting = game.state._replace(
        instances=game.state.instances.set(
            Address("a[1]"), leaf._replace(phase="answered", join_status="queued")
        )
    )
    with pytest.raises(IllegalEvent):
        evolve(waiting, JoinQueued(NOW, Address("a[1]")))


def test_an_attempt_must_have_the_next_number() -> None:
    game = Game(flow(command("a"), command("b"), kind="par", max_parallel=1, block_keys={"parallel": 2}))
    assert game.in_flight() == ["a"]
    with pytest.raises(IllegalEvent):
        evolve(game.state, AttemptStarted(NOW, Address("b"), 2, Amounts()))


def test_only_the_first_event_starts_the_run() -> None:
    workflow = flow(command("a"))
    with pytest.raises(IllegalEvent):
        evolve(initial(workflow), RunPaused(NOW, "me"))
    game = Game(workflow)
    with pytest.raises(IllegalEvent):
        evolve(game.state, game.log[0])


def test_a_cancel_is_ordered_once() -> None:
    game = Game(WORKING)
    state = evolve(game.state, CancelOrdered(NOW, A, "unwanted"))
    with pytest.raises(IllegalEvent):
        evolve(state, CancelOrdered(NOW, A, "unwanted"))
    with pytest.raises(IllegalEvent):
        evolve(fold(WORKING, game.log), AttemptEnded(NOW, Address("b"), 1, "ok"))


def test_a_jump_back_is_ordered_once() -> None:
    game = Game(flow(command("a"), command("b")))
    game.end("a")
    state = evolve(game.state, JumpOrdered(NOW, Address(""), 0, ()))
    with pytest.raises(IllegalEvent):
        evolve(state, JumpOrdered(NOW, Address(""), 0, ()))


def test_time_never_goes_backwards() -> None:
    """P12: a report with an earlier time does not move the run's time back."""
    game = Game(WORKING)
    later = evolve(game.state, RunPaused(Millis(50_000), "me"))
    assert evolve(later, RunPaused(Millis(10), "me")).at == 50_000


def test_every_phase_that_an_event_leads_to_has_a_row() -> None:
    """The diagram in the docs is drawn from this table."""
    for (kind, phase), row in lifecycle.TABLE.items():
        assert CancelOrdered in row, (kind, phase)
        for phases in row.values():
            for to in phases:
                assert to == "ended" or (kind, to) in lifecycle.TABLE


def test_a_refused_member_keeps_the_reason() -> None:
    refused = RefusedMember(A, "conflict", "both changed x")
    game = Game(
        flow(
            Step(
                "g",
                block(
                    "dag",
                    agent("a", touches=("a/**",)),
                    agent("b", touches=("b/**",)),
                    Step("c", agent("c").verb, needs=(0, 1)),
                ),
            )
        )
    )
    game.end_with_change("g/a")
    game.end_with_change("g/b")
    game.end_join("g/c", None, refused=(refused,))
    assert game.outcome("g/c") == ("conflict", "conflict")
    assert game.outcome() == ("failed", "conflict")


def test_evolve_leaves_the_old_state_unchanged() -> None:
    """`evolve` works on a draft that changes in place; the caller's state must not change."""
    game = Game(WORKING)
    before = fold(WORKING, game.log)
    after = evolve(game.state, CancelOrdered(NOW, A, "unwanted"))
    assert after.instances[A].cancelling and not game.state.instances[A].cancelling
    assert game.state == before._replace(root=game.state.root)
    with pytest.raises(FrozenInstanceError):
        after.busy = 7  # type: ignore[misc]  # that is what is shown
    with pytest.raises(TypeError):
        after.queue.put(7, A)


def test_the_repr_of_a_large_state_is_short() -> None:
    """asyncio prints the result of a task that a signal may have ended; for a long run that took seconds."""
    steps = tuple(command(f"s{number}") for number in range(200))
    done = simulate(flow(*steps), RandomWorld(1, NO_FAILURES)).state

    assert done.ended is not None
    assert len(repr(done)) < 400
