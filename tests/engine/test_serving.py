"""Parked runs are carried on when they are ready, and not before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from podium.app.run.serve import RETRY_DELAY, Service
from podium.core.events import TimerFired
from podium.core.hash_chain import RunId
from podium.core.messages import Approve, Pause
from podium.core.state import State
from podium.core.types import Address, Millis
from podium.engine.lease import lease
from podium.runtime.commands import encode_command
from tests.engine.kit import TEAM, Project, drive, outcome

HOUR = 3_600_000
TIMER = "  rest: {wait: {timer: 1h}}\n  last: {run: [sh, -c, 'echo two']}\n"
ASKING = '  ask: {human: "Go on?", timeout: 3h, remind: 1h, escalate: {after: 2h, to: [bob]}}\n'
QUOTA = """\
  both:
    parallel: 2
    steps:
      left: {agent: w, prompt: Left., no_change: pass}
      right: {run: [sh, -c, "echo right"]}
"""
OUT_OF_QUOTA = "- match: {step: left, attempt: 1}\n  error: quota\n- match: {step: left}\n  text: done\n"


class World:
    """A project, its service, and a clock that both go by."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.time = Millis(1_800_000_000_000)
        self.said: list[str] = []
        self.service = Service(
            project.facade, tell=lambda told: self.said.append(told.line()), now=lambda: self.time
        )

    def begin(self, steps: str, **options: str) -> tuple[RunId, State]:
        begun = self.project.begin(self.project.flow(steps, **options))
        return begun.run, self.carry(begun.run)

    def carry(self, run: RunId) -> State:
        """What the process does that the service starts."""
        facade = self.project.facade
        prepared = facade.prepare(facade.run(run))
        facade.prepared[run] = replace(prepared, host=replace(prepared.host, now=lambda: self.time))
        state = drive(facade, run, park="clock")
        self.service.note(run)
        return state

    def ready(self) -> list[str]:
        return [why for _, why in self.service.ready()]

    def later(self, millis: int) -> list[str]:
        self.time = Millis(self.time + millis)
        return self.ready()


@pytest.fixture
def world(project: Project) -> World:
    return World(project)


@pytest.mark.req("R155", "C33")
def test_a_run_that_waits_for_a_time_is_let_go_of_and_carried_on_when_it_has_come(world: World) -> None:
    run, state = world.begin(TIMER)
    assert state.ended is None

    assert world.later(HOUR - 1000) == []
    assert world.later(2000) == ["a timer is due"]

    state = world.carry(run)
    assert state.ended is not None
    assert state.ended.status == "passed"
    assert world.ready() == []


@pytest.mark.req("R155")
def test_a_service_that_was_started_anew_knows_the_same(world: World) -> None:
    world.begin(TIMER)
    world.service = Service(
        world.project.facade, tell=lambda told: world.said.append(told.line()), now=lambda: world.time
    )

    assert world.ready() == []
    assert world.later(HOUR + 1) == ["a timer is due"]


@pytest.mark.req("R191", "R193", "R194")
def test_reminders_and_escalation_come_on_time_and_nobody_answering_is_an_outcome_of_its_own(
    world: World,
) -> None:
    run, _ = world.begin(ASKING)
    fired = []
    for _ in range(2):
        assert world.later(HOUR - 1000) == []
        assert world.later(1001) == ["a timer is due"]
        world.carry(run)
        fired.append(len([event for event in world.project.events(run) if isinstance(event, TimerFired)]))
    assert fired == [1, 2]
    assert world.ready() == []

    assert world.later(HOUR + 1) == ["a timer is due"]
    state = world.carry(run)

    assert outcome(state, "ask") == "timeout"
    assert state.ended is not None


@pytest.mark.req("X6")
def test_a_quota_window_parks_only_its_step_and_the_run_goes_on_when_it_opens(world: World) -> None:
    run, state = world.begin(QUOTA, head=TEAM, cast=OUT_OF_QUOTA)
    assert outcome(state, "both/right") == "passed"
    assert state.ended is None
    assert world.ready() == []

    assert world.later(24 * HOUR) == ["a timer is due"]

    state = world.carry(run)
    assert state.ended is not None
    assert state.ended.status == "passed"


@pytest.mark.req("R155", "R192")
def test_an_answer_by_letter_or_by_file_makes_a_run_ready(world: World) -> None:
    run, _ = world.begin(ASKING)
    store = world.project.store
    assert world.ready() == []

    [file] = (world.project.facade.paths.state_dir / "inbox").glob(f"{run}+*.yaml")
    file.write_text(file.read_text("utf-8").replace("answer:\n", "answer: approve\n"), "utf-8")
    assert world.ready() == ["its inbox has an answer"]
    assert world.ready() == []

    store.post(run, "yes", encode_command(Approve(Address("ask"), "approve", "ann")))
    assert world.ready() == ["a command is queued"]
    state = world.carry(run)
    assert outcome(state, "ask") == "passed"


def test_a_run_is_left_alone_that_is_paused_owned_or_has_just_been_made(world: World) -> None:
    run, _ = world.begin(TIMER)
    world.time = Millis(world.time + HOUR + 1)
    with lease(world.project.facade.paths.run_dir(run)):
        assert world.ready() == []
    world.project.say(run, Pause("ann"))
    assert world.ready() == []

    world.time = Millis(0)
    begun = world.project.begin(world.project.root / "flow.yaml")
    world.time = Millis(begun.host.now() + 1000)
    assert [name for name, _ in world.service.ready()] == []
    world.time = Millis(begun.host.now() + 20_000)
    assert world.service.ready() == ((begun.run, "a command is queued"),)


def test_a_run_that_cannot_be_carried_on_is_told_of_once_and_not_tried_all_the_time(world: World) -> None:
    run, _ = world.begin(TIMER)
    world.project.write("flow.yaml", "podium: 1\nname: flow\nsteps:\n  other: {run: [sh, -c, 'echo x']}\n")
    world.project.store.post(run, "yes", encode_command(Approve(Address("ask"), "approve", "ann")))
    assert world.ready() == ["a command is queued"]
    world.service.note(run)

    assert world.ready() == []
    assert world.later(RETRY_DELAY + 1) == ["a command is queued"]
    assert ["definition has changed" in line for line in world.said] == [True]
