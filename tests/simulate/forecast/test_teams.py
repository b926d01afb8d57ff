"""No run of a team makes more calls than its forecast says, whatever its workers ask."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from podium.core.events import AttemptStarted, RunRecovered
from podium.core.model import Agent
from podium.simulate.forecast.case_analysis import Unbounded, calls
from podium.simulate.forecast.priced_bound import priced_bound
from podium.simulate.forecast.worst_case import worst_case
from tests.core.driver import drive
from tests.core.kit import agent, flow
from tests.core.team_oracles import random_team, talkative


@given(st.integers(0, 1_000_000), st.sampled_from((0.3, 0.9)))
def test_a_team_never_makes_more_calls_than_forecast(seed: int, ask: float) -> None:
    workflow = random_team(seed)
    run = drive(workflow, talkative(seed, ask=ask))
    made = sum(
        isinstance(event, AttemptStarted)
        and isinstance(run.state.instances[event.path].place.step.verb, Agent)
        for event in run.log
    )
    assert not any(isinstance(event, RunRecovered) for event in run.log)
    assert made <= worst_case(workflow, {}, calls).either[-1]
    assert made <= priced_bound(workflow, {}, calls, workflow.limits.transitions or 0).most


def test_a_team_without_a_limit_on_messages_has_no_worst_case() -> None:
    member = random_team(1).body.steps[0].verb
    assert isinstance(member, Agent)
    with pytest.raises(Unbounded, match=r"limits\.messages"):
        worst_case(flow(agent("deliver", verb=member)), {}, calls)
