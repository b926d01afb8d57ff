"""`python -m bench.weight sequence|fan_out`: drives a large run with its log on disk and prints the peak of its memory."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections import deque
from pathlib import Path

from bench.core import FREE, QUIET
from bench.engine import EVENTS, chain_of, opened, play
from podium.core.effects import RunAttempt
from podium.core.events import AttemptEnded
from podium.core.messages import Refusal, Start
from podium.core.model import Block, Command, Step, Workflow
from podium.core.payloads import RunFacts
from podium.core.types import Millis
from podium.engine.log import Log


def fan_out(width: int) -> Workflow:
    names = tuple(f"s{number}" for number in range(width))
    body = Block(
        "par",
        tuple(Step(name, Command(("true",)), touches=()) for name in names),
        parallel=width,
        index={name: number for number, name in enumerate(names)},
    )
    return Workflow("bench", body, breaker=QUIET, limits=FREE, fingerprint="bench", max_parallel=width)


def play_all(log: Log, workflow: Workflow) -> None:
    said = log.handle(Start(RunFacts(log.run, workflow.name)), Millis(1), cause="bench")
    assert not isinstance(said, Refusal)
    waiting = deque(said)
    while waiting:
        effect = waiting.popleft()
        assert isinstance(effect, RunAttempt)
        done = AttemptEnded(Millis(2), effect.started.path, effect.started.attempt, "ok", result={"text": ""})
        said = log.handle(done, Millis(2), cause="bench")
        assert not isinstance(said, Refusal)
        waiting.extend(said)
    assert log.state.ended is not None


def main(shape: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        workflow = chain_of(EVENTS) if shape == "sequence" else fan_out(1000)
        store, log = opened(Path(folder), workflow)
        if shape == "sequence":
            play(log, len(workflow.body.steps))
        else:
            play_all(log, workflow)
        log.close()
        store.close()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


if __name__ == "__main__":
    main(sys.argv[1])
