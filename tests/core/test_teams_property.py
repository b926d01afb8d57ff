"""Random teams in random worlds, with crashes, duplicates and late reports: nothing is lost, doubled or endless."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.events import AttemptEnded, AttemptStarted, StepEntered
from podium.core.evolve.evolve import fold, initial
from podium.core.messages import Cancel
from podium.core.model import Workflow
from podium.core.payloads import Ask
from podium.core.queries.teams import may_ask
from podium.core.state import State
from podium.core.types import Address, Millis
from podium.simulate.random_world import NO_FAILURES
from tests.core.driver import Run, drive, drive_to_end, resume
from tests.core.oracles import view
from tests.core.team_oracles import Talkative, check_teams, random_team, talkative

DELIVER = Address("deliver")
SEEDS = st.integers(0, 1_000_000)


class _Endless(Talkative):
    """Workers that ask a new question in every attempt, whatever they are told."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, replace(NO_FAILURES, ask=1.0))

    def asks(self, started: AttemptStarted, state: State) -> tuple[Ask, ...]:
        names = may_ask(state, state.instances[started.path]) or ("nobody",)
        return (Ask(names[0], f"and then? {started.path}#{started.attempt}"),)


def play(seed: int) -> tuple[Workflow, Run]:
    """A run with crashes at random events, every report twice now and then, and reports of lost processes."""
    draw = random.Random(f"schedule{seed}")
    workflow, world = random_team(seed), talkative(seed, ask=draw.choice((0.2, 0.5, 0.8)))
    run = drive(workflow, world, twice=draw.random() < 0.3)
    for _ in range(draw.randint(0, 3)):
        cut = draw.randint(1, len(run.log))
        run = resume(workflow, run.log[:cut], world)
        for event in run.log[:cut]:
            if isinstance(event, AttemptEnded) and draw.random() < 0.3:
                run.after(Millis(draw.randint(1, 600_000)), event)  # a process that was thought dead
        drive_to_end(run, world)
    return workflow, run


@given(SEEDS)
def test_nothing_is_lost_doubled_or_endless(seed: int) -> None:
    """Every ask gets exactly one reply before its worker goes on, nobody waits for itself, notes come once."""
    workflow, run = play(seed)
    check_teams(workflow, run.log)


@pytest.mark.slow
def test_ten_thousand_schedules() -> None:
    asks = 0
    for seed in range(10_000):
        workflow, run = play(seed)
        check_teams(workflow, run.log)
        asks += sum(len(event.asks) for event in run.log if isinstance(event, AttemptEnded))
    assert asks > 5_000, "the schedules hardly ask anything"


@given(SEEDS)
def test_folding_the_log_of_a_team_gives_its_state(seed: int) -> None:
    workflow, run = play(seed)
    assert fold(workflow, run.log) == run.state._replace(root=initial(workflow).root)


@given(SEEDS)
def test_a_crash_does_not_change_what_a_team_does(seed: int) -> None:
    workflow, world = random_team(seed), talkative(seed)
    run = drive(workflow, world)
    cut = 1 + seed % len(run.log)
    again = drive_to_end(resume(workflow, run.log[:cut], world), world)
    is_free = not any(isinstance(event, AttemptStarted) and event.reserve.calls for event in run.log)
    if is_free:
        assert view(again.log) == view(run.log)


@given(SEEDS)
def test_two_that_always_ask_end_at_exactly_the_limit(seed: int) -> None:
    """Ping-pong: the limit on messages ends it, and no member runs after that."""
    messages = 1 + seed % 20
    workflow = random_team(seed, members=2, messages=messages)
    run = drive(workflow, _Endless(seed))
    check_teams(workflow, run.log)
    ending = run.state.instances[DELIVER].ending
    assert ending is not None and (ending.outcome, ending.reason) == ("failed", "limit")
    assert run.state.ledgers[DELIVER].messages == messages + 1
    delivered = [event for event in run.log if isinstance(event, StepEntered) and event.role == "member"]
    assert len(delivered) <= messages


@given(SEEDS, st.floats(0, 1))
def test_a_cancelled_team_leaves_nothing_running(seed: int, where: float) -> None:
    workflow, world = random_team(seed), talkative(seed, ask=0.8)
    end = drive(workflow, world).now
    run = drive(workflow, world, messages=[(Millis(int(where * end)), Cancel("ada"))])
    assert run.state.ended is not None and not run.state.pending
    assert all(instance.phase == "ended" for _, instance in run.state.instances.items())
