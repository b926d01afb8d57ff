"""Many runs at once on two workers, one of which is killed: all of them pass. `make cluster-batch` starts a hundred."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.kit import until
from tests.temporal.kit import Server, Worker, cluster

pytestmark = pytest.mark.slow

RUNS = int(os.environ.get("PODIUM_BATCH", "6"))
AT_ONCE = 4
"""How many clients start runs at the same time."""
FLOW = """\
podium: 1
name: batch
agents:
  hand: {type: command, command: [sh, work.sh], price: {input: 0, output: 0}}
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
    gates: [{run: [grep, -q, good, code.txt]}]
  look: {run: [cat, code.txt]}
"""
WORK = "cat > /dev/null\nsleep 1\necho good > code.txt\necho done\n"
FILES = {"w.yaml": FLOW, "work.sh": WORK, ".podium/config.yaml": "sandbox: limits\n"}


@pytest.mark.timeout(2700)
def test_all_runs_of_a_batch_pass_although_a_worker_is_killed(server: Server, tmp_path: Path) -> None:
    with cluster(server, tmp_path / "c", FILES) as made:
        victim, _ = made.start_worker(), made.start_worker()
        with ThreadPoolExecutor(AT_ONCE) as clients:
            started = [clients.submit(made.start_run, "w.yaml") for _ in range(RUNS)]
            until(lambda: is_at_work(victim), "an attempt on the first worker", within_s=600)
            until(lambda: sum(each.done() for each in started) >= RUNS / 2, "half of the runs", within_s=1200)
            victim.kill()
            made.start_worker(name="w3")
            runs = [each.result() for each in started]
        ends = asyncio.run(results(server, runs))
    statuses = Counter(end["status"] for end in ends)
    lengths = Counter(end["events"] for end in ends)
    lines = ", ".join(f"{count} of {events} events" for events, count in sorted(lengths.items()))
    sys.stderr.write(f"{statuses['passed']} of {RUNS} runs passed; logs: {lines}\n")
    assert statuses == {"passed": RUNS}


def is_at_work(worker: Worker) -> bool:
    return any((worker.folder / "runs").glob("*/project/w.yaml"))


async def results(server: Server, runs: list[str]) -> list[Any]:
    from podium.temporal.connection import connect, parse_address

    client = await connect(parse_address(server.address))
    ends = asyncio.gather(*(client.get_workflow_handle(run).result() for run in runs))
    return list(await asyncio.wait_for(ends, 1200))
