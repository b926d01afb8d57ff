"""Workers, the server and the exchange fail while a real process works: the run ends once, with every attempt booked.

Each test is one cell of the failure matrix; `make cluster-torture` repeats them at random moments.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from podium.core.hash_chain import RunId
from podium.process.procfs import read_marker, read_pids
from tests.e2e.kit import until
from tests.temporal.kit import Cluster, Server, cluster
from tests.temporal.relay import relay
from tests.views.kit import conforms

pytestmark = pytest.mark.slow

TORTURE = os.environ.get("PODIUM_TORTURE", "")
"""Empty: each cell once, at a fixed moment. Otherwise how often, at random moments, as a factor of the counts."""


def cell(count: int) -> pytest.MarkDecorator:
    """One cell of the matrix, tried this often."""
    numbers = range(round(count * float(TORTURE))) if TORTURE else (0,)
    return pytest.mark.parametrize("number", numbers)


FLOW = """\
podium: 1
name: ship
agents:
  hand: {type: command, command: [sh, work.sh], price: {input: 0, output: 0}}
steps:
  prepare: {run: {script: "echo prepared > base"}, touches: [base]}
  implement:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
    gates: [{name: good, run: [grep, -q, good, code.txt]}]
  land: {git: {land: main, message: Landed}}
"""
WORK = "cat > /dev/null\nuntil [ -e {go} ]; do sleep 0.2; done\necho good > code.txt\necho done\n"


def files(folder: Path, flow: str = FLOW) -> dict[str, str]:
    """With an agent that works until the test lets it end, however slow the machine is."""
    work = WORK.format(go=folder / "go")
    return {"w.yaml": flow, "work.sh": work, ".podium/config.yaml": "sandbox: limits\n"}


def let_agents_end(made: Cluster) -> None:
    (made.project.folder / "go").touch()


@pytest.fixture
def made(number: int, server: Server, tmp_path: Path) -> Any:
    random.seed(number)
    with cluster(server, tmp_path / "c", files(tmp_path / "c")) as started:
        yield started


def begun(made: Cluster) -> str:
    """A run whose agent is at work."""
    run = made.start_run("w.yaml")
    until_working(made, run)
    return run


def until_working(made: Cluster, run: str, path: str = "implement", times: int = 1) -> None:
    def look() -> bool:
        made.project.podium("show", run)
        starts = [
            event
            for event in made.project.events(RunId(run))
            if event["type"] in ("AttemptStarted", "AttemptLost") and event["path"] == path
        ]
        return len(starts) >= times and bool(survivors(run))

    until(look, f"attempt {times} of {path}")


def survivors(run: str) -> list[int]:
    """The processes of a run, on whichever worker."""
    return [pid for pid in read_pids() if (read_marker(pid) or "").startswith(f"{run}-")]


def check(made: Cluster, run: str, *, lost: int | None = None) -> Counter[str]:
    let_agents_end(made)
    ended = made.follow(run)
    assert ended.code == 0, f"{ended.out}\n{ended.err}\n{[worker.talk for worker in made.workers]}"
    events = made.project.events(RunId(run))
    kinds = Counter(event["type"] for event in events)
    over = ("AttemptEnded", "AttemptDoubted")
    ends = Counter((event["path"], event["attempt"]) for event in events if event["type"] in over)
    starts = Counter(
        (event["path"], event["attempt"]) for event in events if event["type"] == "AttemptStarted"
    )
    assert starts == ends
    assert max(ends.values()) == 1
    assert made.branch() == ["Landed", "first"]
    assert made.project.podium("verify", run).code == 0
    if lost is not None:
        assert kinds["AttemptLost"] == lost
    until(lambda: not survivors(run), "the end of every process of the run")
    return kinds


def moment() -> float:
    return random.random() * 2.5 if TORTURE else 0.0


def wait_for_moment(run: str) -> None:
    """At a random moment of the attempt."""
    import time

    deadline = time.monotonic() + moment()
    until(lambda: time.monotonic() >= deadline or not survivors(run), "the moment")


def wait_for(seconds: float) -> None:
    """For the length of an outage: what is tested is the time itself."""
    import time

    deadline = time.monotonic() + seconds
    until(lambda: time.monotonic() >= deadline, "the end of the outage")


def worker_of(made: Cluster, run: str) -> Any:
    """The worker that performs the attempt, by the folder of its process."""
    folders = {worker.name: str(worker.folder) for worker in made.workers}
    homes = {worker.name: str(made.project.folder / f"home-{worker.name}") for worker in made.workers}
    for pid in survivors(run):
        try:
            place = Path(f"/proc/{pid}/cwd").readlink()
        except OSError:
            continue
        for worker in made.workers:
            if str(place).startswith((folders[worker.name], homes[worker.name])):
                return worker
    return made.workers[0]


@cell(20)
def test_a_killed_worker_costs_one_attempt_and_another_one_finishes_the_run(made: Cluster) -> None:
    made.start_worker()
    made.start_worker()
    run = begun(made)
    wait_for_moment(run)
    victim = worker_of(made, run)
    victim.kill()
    let_agents_end(made)
    until(lambda: made.follow(run).code == 0, "the end of the run")
    # Its agent outlives it, until a worker starts in its folder again.
    made.start_worker(name=victim.name)
    check(made, run)


@cell(10)
def test_a_frozen_worker_that_wakes_up_changes_nothing(made: Cluster) -> None:
    made.start_worker()
    made.start_worker()
    run = begun(made)
    wait_for_moment(run)
    victim = worker_of(made, run)
    victim.freeze()
    until_working(made, run, times=2)
    victim.thaw()
    check(made, run)


@cell(10)
def test_a_worker_that_is_told_to_stop_hands_its_attempt_back(made: Cluster) -> None:
    first = made.start_worker("--json")
    run = begun(made)
    wait_for_moment(run)
    assert first.stop() == 0, first.talk
    lines = [json.loads(line) for line in first.talk.splitlines() if line.startswith("{")]
    assert [line["did"] for line in lines] == ["ready", "stopping", "ended"]
    for line in lines:
        conforms(line, "serve")
    until(lambda: not survivors(run), "the end of the processes of a worker that stopped")
    made.start_worker()
    check(made, run)


@cell(10)
def test_a_server_that_is_killed_and_restarted_costs_nothing_within_the_heartbeat(
    made: Cluster, server: Server
) -> None:
    made.start_worker()
    run = begun(made)
    wait_for_moment(run)
    server.kill()
    server.start()
    check(made, run)


@cell(5)
def test_everything_killed_is_continued_by_a_new_worker(made: Cluster, server: Server) -> None:
    victims = [made.start_worker(), made.start_worker()]
    run = begun(made)
    wait_for_moment(run)
    server.kill()
    for worker in victims:
        worker.kill()
    server.start()
    for worker in victims:
        made.start_worker(name=worker.name)
    check(made, run)


@cell(5)
def test_a_network_that_is_away_for_less_than_the_heartbeat_costs_nothing(
    made: Cluster, server: Server
) -> None:
    with relay(server.port) as network:
        made.start_worker(on=network.address)
        run = begun(made)
        wait_for_moment(run)
        network.cut()
        wait_for(1.0)
        network.mend()
        check(made, run, lost=0)


@cell(5)
def test_a_network_that_is_away_for_longer_costs_one_attempt_and_the_late_result_is_ignored(
    made: Cluster, server: Server
) -> None:
    with relay(server.port) as network:
        cut_off = made.start_worker(on=network.address)
        run = begun(made)
        wait_for_moment(run)
        network.cut()
        made.start_worker()
        until_working(made, run, times=2)
        network.mend()
        check(made, run, lost=1)
        assert cut_off.stop() == 0, cut_off.talk


@cell(5)
def test_an_exchange_that_is_away_delays_the_result_and_does_not_cost_it(made: Cluster) -> None:
    made.start_worker()
    run = begun(made)
    away = made.exchange.with_name("away.git")
    shutil.move(made.exchange, away)
    let_agents_end(made)
    until(lambda: not survivors(run), "the end of the agent")
    shutil.move(away, made.exchange)
    check(made, run, lost=0)


@cell(10)
def test_a_branch_that_moves_in_the_exchange_is_landed_on_once(made: Cluster) -> None:
    made.start_worker()
    run = begun(made)
    made.project.commit({"theirs": "1\n"}, "theirs")
    made.project.git("push", "-q", "podium", "main")
    let_agents_end(made)
    ended = made.follow(run)
    assert ended.code == 0, ended.err
    assert made.branch() == ["Landed", "theirs", "first"]


@cell(5)
def test_a_step_that_must_not_be_repeated_asks_after_the_loss_of_its_worker(
    number: int, server: Server, tmp_path: Path
) -> None:
    random.seed(number)
    flow = FLOW.replace("    touches: [code.txt]\n", "    touches: [code.txt]\n    recovery: ask\n")
    with cluster(server, tmp_path / "c", files(tmp_path / "c", flow)) as made:
        first = made.start_worker()
        run = begun(made)
        wait_for_moment(run)
        first.kill()
        made.start_worker(name="w1")
        assert made.follow(run).code == 6
        asked = made.project.podium("show", run, "--json").data()["pending"][0]["path"]
        answered = made.project.podium("approve", run, asked, "--action", "rerun")
        assert answered.code in (0, 6), answered.err
        check(made, run)


@cell(5)
def test_a_cancelled_run_ends_its_processes(made: Cluster) -> None:
    made.start_worker()
    run = begun(made)
    cancelled = made.project.podium("cancel", run)
    assert cancelled.code in (0, 130), cancelled.err
    assert made.follow(run).code == 130
    assert survivors(run) == []
