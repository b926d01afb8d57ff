"""The model of a cluster loses what a real one loses, and waits where one place does all the work."""

from __future__ import annotations

import pytest

from podium.simulate.cluster import Cluster, Figures, Load, simulate_cluster

LOAD = Load(runs=40, within_s=10.0, attempts=3, work_s=20.0)
STEADY = Cluster(workers=20, slots=2, failures_per_day=0.0)


def test_without_failures_every_attempt_is_performed_once() -> None:
    result = simulate_cluster(STEADY, LOAD)
    assert result.lost == 0
    assert result.history_bytes == 40 * 3 * Figures().history_bytes
    assert result.most_open <= 40


@pytest.mark.parametrize(("outage_s", "has_losses"), [(50.0, False), (70.0, True)])
def test_only_an_outage_longer_than_the_heartbeat_loses_attempts(outage_s: float, has_losses: bool) -> None:
    result = simulate_cluster(STEADY._replace(outage_at_s=15.0, outage_s=outage_s), LOAD)
    assert bool(result.lost) is has_losses
    # No more than all slots can be at work.
    assert result.lost <= 40


def test_failing_workers_lose_attempts_and_every_run_still_ends() -> None:
    result = simulate_cluster(STEADY._replace(failures_per_day=2000.0, restart_s=5.0), LOAD)
    assert result.lost > 0
    assert result.runs_per_minute > 0


def test_an_exchange_that_is_too_slow_is_what_everything_waits_for() -> None:
    slow = Figures(hand_over_s=5.0)
    one = simulate_cluster(STEADY, LOAD, slow)
    four = simulate_cluster(STEADY._replace(exchanges=4), LOAD, slow)
    assert one.exchange_busy > 0.9
    assert four.took_s < one.took_s / 2


def test_the_same_seed_gives_the_same_result() -> None:
    assert simulate_cluster(STEADY, LOAD, seed=7) == simulate_cluster(STEADY, LOAD, seed=7)
